//===- OnlyUser.h - The op that a value is computed for ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_ONLYUSER_H
#define BLOCKSCALE_ANALYSIS_ONLYUSER_H

#include "mlir/IR/Value.h"

namespace blockscale {

/// The op that uses `value`, besides ops that ask for its sizes; null where
/// there is none, or several.
mlir::Operation *getOnlyUser(mlir::Value value);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_ONLYUSER_H

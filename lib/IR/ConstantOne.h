//===- ConstantOne.h - The constant that means no scaling -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_CONSTANTONE_H
#define BLOCKSCALE_LIB_IR_CONSTANTONE_H

#include "mlir/IR/Value.h"

namespace blockscale {

/// Whether `value` is a constant whose every element is exactly 1.0. Null is
/// not.
bool isConstantOne(mlir::Value value);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_CONSTANTONE_H

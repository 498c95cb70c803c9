//===- GlobalRules.h - Where global operands come from ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_GLOBALRULES_H
#define BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_GLOBALRULES_H

#include "mlir/IR/Operation.h"

namespace blockscale {

/// Checks what the global operands of an op of the dialect are, which their
/// types do not tell, emitting an error:
/// - a global scale is no amax, and an amax no global scale;
/// - a global scale, or the amax of a tensor, that was made for the range of
///   4over6 is used with it, and another one is not.
llvm::LogicalResult verifyGlobalOrigins(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_GLOBALRULES_H

//===- ReifiedSizes.h - Sizes of tensors as values --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_REIFIEDSIZES_H
#define BLOCKSCALE_LIB_IR_REIFIEDSIZES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace blockscale {

/// Sizes of `value` as the result of its defining op where they can be reified,
/// so that `tensor.dim` of an encoded tensor is not asked for.
inline llvm::SmallVector<mlir::OpFoldResult>
getReifiedSizes(mlir::OpBuilder &builder, mlir::Value value) {
  return mlir::tensor::getMixedSizes(builder, value.getLoc(), value);
}

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_REIFIEDSIZES_H

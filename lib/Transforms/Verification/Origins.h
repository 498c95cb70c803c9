//===- Origins.h - What made a value ----------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_ORIGINS_H
#define BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_ORIGINS_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace blockscale {

/// What `value` was before casts, which change no element.
inline mlir::Value skipCasts(mlir::Value value) {
  while (auto cast = value.getDefiningOp<mlir::tensor::CastOp>())
    value = cast.getSource();
  return value;
}

/// The op of this type that made `value`, if one did, before casts. `value` may
/// be null.
template <typename OpTy>
OpTy getOrigin(mlir::Value value) {
  return value ? skipCasts(value).getDefiningOp<OpTy>() : OpTy();
}

/// The op that takes the amax that `value` is, of this rank or over all ranks.
inline AmaxOp getAmaxOrigin(mlir::Value value) {
  while (auto overRanks = getOrigin<AmaxOverRanksOp>(value))
    value = overRanks.getAmax();
  return getOrigin<AmaxOp>(value);
}

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_VERIFICATION_ORIGINS_H

//===- KnownDivisor.h - What surely divides an index ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_STORAGE_KNOWNDIVISOR_H
#define BLOCKSCALE_LIB_TRANSFORMS_STORAGE_KNOWNDIVISOR_H

#include "mlir/IR/OpDefinition.h"

namespace blockscale {

/// A divisor of `index` in every execution; 0 for the constant 0, which
/// everything divides. Sees constants, arith, affine.apply, affine.min and
/// induction variables of scf.for and scf.forall.
int64_t getKnownDivisor(mlir::OpFoldResult index);

/// Whether `unit` surely divides `index`.
inline bool isKnownMultiple(mlir::OpFoldResult index, int64_t unit) {
  return getKnownDivisor(index) % unit == 0;
}

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_STORAGE_KNOWNDIVISOR_H

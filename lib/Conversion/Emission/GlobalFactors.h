//===- GlobalFactors.h - The global factors of a kernel ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_GLOBALFACTORS_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_GLOBALFACTORS_H

#include "Lanes.h"
#include "blockscale/Numerics/GlobalScale.h"

namespace blockscale::emit {

/// The factors that follow from a global scale, as scalars.
using GlobalFactors = numerics::GlobalFactorsOf<Lanes>;

/// Computes the factors of numerics::getGlobalFactors. `value` is null for an
/// absent global scale.
inline GlobalFactors emitGlobalFactors(mlir::ImplicitLocOpBuilder &b,
                                       numerics::Recipe recipe,
                                       numerics::GlobalScale::Kind kind,
                                       mlir::Value value) {
  if (!value)
    value = mlir::arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f));
  return numerics::getGlobalFactors(recipe, kind, Lanes(b, value));
}

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_GLOBALFACTORS_H

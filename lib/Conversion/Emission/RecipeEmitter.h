//===- RecipeEmitter.h - Code that scales blocks ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of Numerics/GlobalScale.h and Numerics/BlockScale.h as arith
// ops, operation by operation: their order is the recipe.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_RECIPEEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_RECIPEEMITTER_H

#include "Lanes.h"
#include "blockscale/Numerics/GlobalScale.h"

namespace blockscale::emit {

/// numerics::GlobalFactors, scalars.
struct GlobalFactors {
  Lanes encode;
  Lanes decode;
  Lanes amax;
};

/// numerics::getGlobalFactors. `value` is null for an absent global scale.
GlobalFactors emitGlobalFactors(mlir::ImplicitLocOpBuilder &b,
                                numerics::Recipe recipe,
                                numerics::GlobalScale::Kind kind,
                                mlir::Value value);

/// numerics::getDecodeScale.
Lanes emitDecodeScaleOfAmax(numerics::Recipe recipe, Lanes amax);

/// numerics::getScaleByte, as i32.
Lanes emitScaleByte(numerics::Recipe recipe, numerics::ElementFormat format,
                    Lanes amax, const GlobalFactors &global);

/// numerics::getE4M3ScaleByteOfGivenAmax, as i32.
Lanes emitScaleByteOfGivenAmax(numerics::Recipe recipe, Lanes amax,
                               const GlobalFactors &global);

/// The factor of numerics::getElementScaling.
Lanes emitElementFactor(numerics::Recipe recipe, Lanes scaleByte,
                        const GlobalFactors &global);

/// numerics::scaleElement without its rule for -0: elements (f32), each under
/// its own factor.
Lanes emitScaleElements(numerics::Recipe recipe, Lanes x, Lanes factor);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_RECIPEEMITTER_H

//===- FourOverSixEmitter.h - Code that chooses scales ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of Numerics/FourOverSix.h as arith ops. Who walks over blocks
// adds the errors of a block's elements under both scales, from its first
// element on, and keeps the better scale.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_FOUROVERSIXEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_FOUROVERSIXEMITTER_H

#include "RecipeEmitter.h"

namespace blockscale::emit {

/// One of the two scales of each block: its byte, as i32, and what it does.
struct ScaleCandidate {
  Lanes byte;
  Lanes scale;
  Lanes factor;
};

struct ScaleCandidates {
  ScaleCandidate six;
  ScaleCandidate four;
};

/// numerics::getFourOverSixScales of blocks with the given amaxes.
ScaleCandidates emitScaleCandidates(numerics::Recipe recipe, Lanes amax,
                                    const GlobalFactors &global);

/// The scale for each of `times` neighbours of a block.
ScaleCandidate repeatCandidate(const ScaleCandidate &candidate, int64_t times);

/// numerics::getFourOverSixError of elements (f32), each under its own scale.
Lanes emitElementError(numerics::Recipe recipe, Lanes x,
                       const ScaleCandidate &candidate,
                       const GlobalFactors &global);

/// The bytes of the scales with the smaller errors, the 6 on a tie.
Lanes emitChooseScale(const ScaleCandidates &candidates, Lanes sixError,
                      Lanes fourError);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_FOUROVERSIXEMITTER_H

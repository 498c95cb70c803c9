//===- FourOverSixEmitter.cpp - Code that chooses scales ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FourOverSixEmitter.h"
#include "CodecEmitter.h"
#include "blockscale/Numerics/FourOverSix.h"

using namespace mlir;
using namespace blockscale::numerics;
using arith::CmpFPredicate;

namespace blockscale::emit {

using numerics::Recipe;

static ScaleCandidate getCandidate(Recipe recipe, Lanes scale,
                                   const GlobalFactors &global) {
  Lanes limited = select(compare(CmpFPredicate::OGT, scale, kE4M3Max),
                         scale.like(kE4M3Max), scale);
  Lanes byte = emitEncode(ElementFormat::E4M3, limited) & 0xFF;
  return {byte, emitDecode(ElementFormat::E4M3, byte),
          emitElementFactor(recipe, byte, global)};
}

ScaleCandidates emitScaleCandidates(Recipe recipe, Lanes amax,
                                    const GlobalFactors &global) {
  Lanes base = (amax / kE2M1Max) * broadcast(global.encode, amax);
  return {getCandidate(recipe, base, global),
          getCandidate(recipe, base * kFourOverSixExpansion, global)};
}

ScaleCandidate repeatCandidate(const ScaleCandidate &candidate, int64_t times) {
  return {repeatLanes(candidate.byte, times),
          repeatLanes(candidate.scale, times),
          repeatLanes(candidate.factor, times)};
}

Lanes emitElementError(Recipe recipe, Lanes x, const ScaleCandidate &candidate,
                       const GlobalFactors &global) {
  Lanes code = emitEncode(ElementFormat::E2M1,
                          emitScaleElements(recipe, x, candidate.factor),
                          NegativeZero::Drop) &
               0xF;
  Lanes value = emitDecode(ElementFormat::E2M1, code) * candidate.scale;
  Lanes difference =
      (value * broadcast(global.amax, value)) / kFourOverSixRange - x;
  return recipe == Recipe::Te4over6Mae
             ? toF32(toBits(difference) & kFloatMagnitudeMask)
             : difference * difference;
}

Lanes emitChooseScale(const ScaleCandidates &candidates, Lanes sixError,
                      Lanes fourError) {
  Lanes isFour = compare(CmpFPredicate::OLT, fourError, sixError);
  return select(isFour, candidates.four.byte, candidates.six.byte);
}

} // namespace blockscale::emit

//===- ScaleSweep.h - The best of all scales for a block --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A scale sweep does not derive an NVFP4 block's scale from its amax. It tries
// every positive E4M3 value v and keeps the one with the smallest loss
// (ModelOpt NVFP4MSECalibrator). With G the tensor's amax,
//
//   c      v / 448, for the E4M3 bytes 0x01 .. 0x7E in turn: 126 candidates
//   scale  (c * G) / 6, or 1 where that is 0
//   d_i    |w_i| - e2m1(|w_i| / scale) * scale
//   loss   sum of d_i * d_i
//
// The winner is the first candidate with the smallest loss, the first of all
// where no loss is below infinity (NaN never is). Its block amax is G * c.
//
// Every operation is rounded to f32. Sums of 16 add the upper half to the lower
// one, element i + 8 to i, then i + 4 to i, i + 2 to i and 1 to 0.
//
// A Hessian H of the block weighs the errors, with w's sign given back to d:
//
//   h_j    sum over i of d_i * H[i][j], from i = 0, starting at +0
//   loss   sum of h_j * d_j
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_SCALESWEEP_H
#define BLOCKSCALE_NUMERICS_SCALESWEEP_H

#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/Recipe.h"

namespace blockscale::numerics {

/// The recipe that quantizes blocks under the amaxes that are found.
inline constexpr Recipe kSweepRecipe = Recipe::Modelopt;

inline constexpr int kSweepCandidates = 126;
inline constexpr int kSweepBlock = 16;

/// The amax of a block that candidate `index` stands for, relative to the
/// tensor's.
constexpr float getSweepCandidate(int index) {
  return decode(ElementFormat::E4M3, static_cast<uint8_t>(index + 1)) /
         kE4M3Max;
}

/// What a candidate divides elements by that stands for this amax.
template <typename Number>
constexpr Number getSweepScaleOfAmax(Number amax) {
  return oneWhereZero(Number(amax / kE2M1Max));
}
constexpr float getSweepScale(int index, float globalAmax) {
  return getSweepScaleOfAmax(getSweepCandidate(index) * globalAmax);
}

/// The scales of all candidates; they depend on the tensor alone.
struct SweepScales {
  float scale[kSweepCandidates] = {};
};

constexpr SweepScales getSweepScales(float globalAmax) {
  SweepScales scales;
  for (int k = 0; k < kSweepCandidates; ++k)
    scales.scale[k] = getSweepScale(k, globalAmax);
  return scales;
}

/// The value of e2m1(x), for x not negative; 6 of NaN. Adding and subtracting
/// 2^22 steps rounds to a multiple of a half the power of two at or below x,
/// ties to even; below 2 that step is 0.5.
template <typename Number>
constexpr Number roundToE2M1(Number x) {
  Number magnitude = minOrSecond(x, like(x, kE2M1Max));
  // Powers of two are ordered as their bits.
  Bits<Number> power = maxUnsigned(toBits(magnitude) & kFloatInfinityBits,
                                   toBits(like(x, 1.0f)));
  Number shift = fromBits(power) * 0x1p22f;
  return (magnitude + shift) - shift;
}

/// |w| less what it becomes under a scale.
template <typename Number>
constexpr Number getSweepError(Number magnitude, Number scale) {
  return magnitude -
         roundedProduct(roundToE2M1(Number(magnitude / scale)), scale);
}

/// The sum of 16 terms, upper halves added to lower ones. Destroys the terms.
constexpr float sumOfHalves(float (&terms)[kSweepBlock]) {
  for (int half = kSweepBlock / 2; half > 0; half /= 2)
    for (int i = 0; i < half; ++i)
      terms[i] += terms[i + half];
  return terms[0];
}

/// The loss of a block of 16 magnitudes under a scale.
constexpr float getSweepLoss(const float *magnitudes, float scale) {
  float terms[kSweepBlock] = {};
  for (int i = 0; i < kSweepBlock; ++i) {
    float error = getSweepError(magnitudes[i], scale);
    terms[i] = roundedProduct(error, error);
  }
  return sumOfHalves(terms);
}

/// What no loss under this scale or a larger one is below, for scales whose
/// half is exact. An element w of at most s / 2 becomes 0 or s / 2. As s grows,
/// its error is s / 2 - w and grows, until w / s is rounded to 1/4 or less:
/// from then on it is w, which is no less. Roundings of all this, of squares
/// and of sums keep the order, and the other terms are not negative.
constexpr float getSweepLossFrom(const float *magnitudes, float scale) {
  float terms[kSweepBlock] = {};
  for (int i = 0; i < kSweepBlock; ++i) {
    if (!(magnitudes[i] <= scale * 0.5f))
      continue;
    float error = getSweepError(magnitudes[i], scale);
    terms[i] = roundedProduct(error, error);
  }
  return sumOfHalves(terms);
}

/// The loss of a block of 16 elements under a scale, weighed by the row-major
/// 16x16 Hessian of the block.
constexpr float getSweepLoss(const float *w, float scale,
                             const float *hessian) {
  float errors[kSweepBlock] = {};
  for (int i = 0; i < kSweepBlock; ++i) {
    float error = getSweepError(magnitudeOf(w[i]), scale);
    errors[i] = w[i] >= 0.0f ? error : -error;
  }
  float terms[kSweepBlock] = {};
  for (int i = 0; i < kSweepBlock; ++i)
    for (int j = 0; j < kSweepBlock; ++j)
      terms[j] += roundedProduct(errors[i], hessian[i * kSweepBlock + j]);
  for (int j = 0; j < kSweepBlock; ++j)
    terms[j] = roundedProduct(terms[j], errors[j]);
  return sumOfHalves(terms);
}

/// Keeps the first of the smallest losses.
class SweepMinimum {
public:
  constexpr void add(int candidate, float loss) {
    if (!(loss < smallest))
      return;
    smallest = loss;
    index = candidate;
  }
  constexpr int getIndex() const { return index; }

private:
  float smallest = fromBits(kFloatInfinityBits);
  int index = 0;
};

/// The best candidate for a block of 16 elements.
constexpr int findBestScale(const float *w, const SweepScales &scales) {
  float magnitudes[kSweepBlock] = {};
  for (int i = 0; i < kSweepBlock; ++i)
    magnitudes[i] = magnitudeOf(w[i]);
  SweepMinimum minimum;
  for (int k = 0; k < kSweepCandidates; ++k)
    minimum.add(k, getSweepLoss(magnitudes, scales.scale[k]));
  return minimum.getIndex();
}

/// The best candidate under a Hessian.
constexpr int findBestScale(const float *w, const SweepScales &scales,
                            const float *hessian) {
  SweepMinimum minimum;
  for (int k = 0; k < kSweepCandidates; ++k)
    minimum.add(k, getSweepLoss(w, scales.scale[k], hessian));
  return minimum.getIndex();
}

/// The block amax of a candidate: what scale_sweep gives and quantize takes.
constexpr float getSweepAmax(int index, float globalAmax) {
  return globalAmax * getSweepCandidate(index);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_SCALESWEEP_H

//===- Hadamard.h - The random Hadamard transform ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The random Hadamard transform makes 16 bf16 values y of 16 bf16 values v,
// with the signs d of a mask (bit i set: d_i = -1):
//
//   y_j = 1/4 * sum_i d_i v_i (-1)^popcount(i & j)
//
// Each y_j is rounded to bf16 once (TransformerEngine NVFP4QuantizerRef;
// torchao get_rht_matrix). With the same mask on both operands of a product
// along the transformed dimension the transform cancels.
//
// The order of the f32 sums is part of the contract. d_i v_i / 4 + 0 is exact,
// and no -0, so that no y_j is, as no sum of a matrix product is; then four
// rounds of sums and differences of values that are 1, 2, 4 and 8 apart:
//
//   (a_i, a_i+h)  ->  (a_i + a_i+h, a_i - a_i+h)        where i & h is 0
//
// A NaN makes all 16 results NaN, and so do two infinities wherever their signs
// meet as opposites; elsewhere infinities give infinities.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_HADAMARD_H
#define BLOCKSCALE_NUMERICS_HADAMARD_H

#include "blockscale/Numerics/Codec.h"

namespace blockscale::numerics {

inline constexpr int kHadamardSize = 16;

/// TransformerEngine's signs: + + + - + - - - - - - + - + - -.
inline constexpr uint16_t kHadamardSignMask = 0xD7E8;

/// The scale of the transform: 1 / sqrt(16).
inline constexpr float kHadamardScale = 0.25f;

/// The factor of value i: its sign and the scale.
constexpr float getHadamardFactor(uint16_t signMask, int i) {
  return (signMask >> i) & 1 ? -kHadamardScale : kHadamardScale;
}

/// The rounds of sums and differences of values that are `span` and more apart.
/// `at(i)` is a reference to value i.
template <typename At>
constexpr void transformHadamardRounds(At at, int span) {
  for (; span < kHadamardSize; span *= 2) {
    for (int i = 0; i < kHadamardSize; ++i) {
      if ((i & span) != 0)
        continue;
      auto left = at(i), right = at(i + span);
      at(i) = left + right;
      at(i + span) = left - right;
    }
  }
}

/// Transforms at(0), at(1), .. in place, without the last rounding. Adding 0 to
/// the terms leaves no -0 among them, nor then among their sums and
/// differences.
template <typename At>
constexpr void transformHadamardValues(At at, uint16_t signMask) {
  for (int i = 0; i < kHadamardSize; ++i) {
    auto term = at(i) * getHadamardFactor(signMask, i);
    at(i) = term + like(term, 0.0f);
  }
  transformHadamardRounds(at, /*span=*/1);
}

/// Transforms x[0], x[stride], .. in place, without the last rounding.
constexpr void transformHadamard(float *x, uint16_t signMask,
                                 int64_t stride = 1) {
  transformHadamardValues([=](int i) -> float & { return x[i * stride]; },
                          signMask);
}

/// Transforms a group of bf16 codes in place.
constexpr void transformHadamardBF16(uint16_t *codes, uint16_t signMask,
                                     int64_t stride = 1) {
  float x[kHadamardSize] = {};
  for (int i = 0; i < kHadamardSize; ++i)
    x[i] = decodeBF16(codes[i * stride]);
  transformHadamard(x, signMask);
  for (int i = 0; i < kHadamardSize; ++i)
    codes[i * stride] = encodeBF16(x[i]);
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_HADAMARD_H

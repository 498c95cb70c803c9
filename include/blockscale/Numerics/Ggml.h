//===- Ggml.h - The rounding of ggml's 4-bit formats ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// ggml quantizes to MXFP4 and NVFP4 in a way of its own (ggml-quants.c and
// ggml-impl.h of llama.cpp). It has no global scale, rounds scales of NVFP4
// half up, and elements to the nearest value with ties toward zero. What C
// leaves undefined there is defined here: the scale of an amax that is too
// small for E8M0 is its smallest, and that of infinity its largest.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_GGML_H
#define BLOCKSCALE_NUMERICS_GGML_H

#include "blockscale/Numerics/Codec.h"

#include <cmath>

namespace blockscale::numerics {

/// The E8M0 byte of a block with this amax, in which NaN does not count:
/// floor(log2(amax)) - 2 + 127; 0 for 0. The logarithm is that of the C
/// library, rounded to f32, which makes it a whole number for what is just
/// below a power of two. Elsewhere its floor is the exponent.
inline uint8_t getGgmlE8M0ScaleByte(float amax) {
  // Its logarithm is 2^-14 below a whole number, several last places of the
  // largest logarithm.
  constexpr uint32_t nearNextPower = kFloatMantissaMask & ~0x1FFu;
  if (amax > kFloatMax)
    return kE8M0MaxFinite;
  uint32_t bits = toBits(amax);
  int exponent = static_cast<int>(bits >> kFloatMantissaBits) - kFloatBias;
  if ((bits & kFloatMantissaMask) >= nearNextPower)
    exponent = static_cast<int>(std::floor(std::log2(amax)));
  int byte =
      exponent - getFormatInfo(ElementFormat::E2M1).maxExponent + kE8M0Bias;
  return byte > 0 ? static_cast<uint8_t>(byte) : uint8_t{0};
}

/// A number as E4M3, half up, without a sign: 0 for what is not positive, and
/// 448 for what is at least 256.
constexpr uint8_t encodeGgmlE4M3(float x) {
  if (!(x > 0.0f))
    return 0;
  constexpr CodeFields fields = getFields(ElementFormat::E4M3);
  constexpr uint8_t largest = getFormatInfo(ElementFormat::E4M3).maxFiniteCode;
  constexpr uint32_t smallestNormal = 1u << fields.mantissaBits;
  if (x < fields.getMinNormal()) {
    uint32_t code = truncateToI32(x / fields.getSpacing() + 0.5f);
    // What rounds up to the smallest normal number stays below it.
    return static_cast<uint8_t>(minUnsigned(code, smallestNormal - 1));
  }
  if (x >= 256.0f)
    return largest;
  uint32_t half = 1u << (fields.getShift() - 1);
  uint32_t code = (toBits(x) + half - fields.getRebias()) >> fields.getShift();
  return code < (15u << fields.mantissaBits) ? static_cast<uint8_t>(code)
                                             : largest;
}

/// The E4M3 byte of a block with this amax.
constexpr uint8_t getGgmlE4M3ScaleByte(float amax) {
  return encodeGgmlE4M3(amax / kE2M1Max);
}

/// The bounds between neighbouring magnitudes of E2M1. A bound itself goes to
/// the smaller one.
inline constexpr float kE2M1Bounds[] = {0.25f, 0.75f, 1.25f, 1.75f,
                                        2.5f,  3.5f,  5.0f};

/// What ggml's search finds for |x| of at most this many times the scale: the
/// nearest value, since differences that it compares are exact, or far apart.
inline constexpr float kGgmlNearestLimit = 1024.0f;

/// The E2M1 code nearest to x / scale, ties toward zero, without -0; 0 for NaN.
/// |x| is at most kGgmlNearestLimit * scale.
constexpr uint32_t encodeGgmlE2M1(float x, float scale) {
  float magnitude = magnitudeOf(x);
  uint32_t code = 0;
  // NaN is above nothing.
  for (float bound : kE2M1Bounds)
    code += magnitude > bound * scale ? 1 : 0;
  return code + (x < -kE2M1Bounds[0] * scale ? 8 : 0);
}

/// The code that ggml's search finds for any x: the first that has the least
/// difference, rounded to f32.
constexpr uint32_t searchGgmlE2M1(float x, float scale) {
  uint32_t best = 0;
  float least = magnitudeOf(-x);
  for (uint32_t code = 1; code < 16; ++code) {
    // The product is exact.
    float difference =
        magnitudeOf(decodeBits(ElementFormat::E2M1, code) * scale - x);
    if (difference < least) {
      best = code;
      least = difference;
    }
  }
  return best;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_GGML_H

//===- FloatFormats.h - f16, bf16, tf32, f32 and f64 ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The floating-point formats of 16 bits and more, one type each.
//
// Each format is a type with its constants, so that operations are templates
// over them; values are bit patterns in the low bits of 64.
//
// NaN. An instruction that computes gives one NaN, whatever came in: 0x7FFF for
// f16 and bf16, 0x7FFFFFFF for f32. PTX calls them the canonical NaNs of `min`,
// `max` and `.relu`; elsewhere it leaves the payload of these formats
// unspecified. f64 keeps sign and payload of its last NaN operand (`div`:
// first), made quiet; where none came in, the result is 0xFFF8000000000000. An
// H100 does so too.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATFORMATS_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATFORMATS_H

#include "Emulator/Arithmetic/Rounding.h"

#include <type_traits>

namespace blockscale::emulator {

inline float asFloat(uint64_t bits) {
  return llvm::bit_cast<float>(static_cast<uint32_t>(bits));
}
inline uint64_t asBits(float value) { return llvm::bit_cast<uint32_t>(value); }
inline double asDouble(uint64_t bits) { return llvm::bit_cast<double>(bits); }
inline uint64_t asBits(double value) { return llvm::bit_cast<uint64_t>(value); }

struct F64 {
  static constexpr FloatFormat kFormat{
      11, 52, 1023, 0x7FEFFFFFFFFFFFFF, 0x7FF0000000000000, 0xFFF8000000000000};
  static constexpr double kLeastNormal = 0x1p-1022;
  static double decode(uint64_t bits) { return asDouble(bits); }
  static uint64_t encode(double value, Rounding = Rounding::NearestEven,
                         bool = false) {
    return asBits(value);
  }
};

struct F32 {
  static constexpr FloatFormat kFormat{8,          23,         127,
                                       0x7F7FFFFF, 0x7F800000, 0x7FFFFFFF};
  static constexpr double kLeastNormal = 0x1p-126;
  static double decode(uint64_t bits) { return asFloat(bits); }
  static uint64_t encode(double value,
                         Rounding rounding = Rounding::NearestEven,
                         bool satfinite = false) {
    if (rounding != Rounding::NearestEven || satfinite)
      return roundToFormat(kFormat, value, rounding, satfinite);
    auto rounded = static_cast<float>(value);
    return rounded != rounded ? kFormat.nan : asBits(rounded);
  }
};

struct F16 {
  static constexpr FloatFormat kFormat{5, 10, 15, 0x7BFF, 0x7C00, 0x7FFF};
  static constexpr double kLeastNormal = 0x1p-14;
  static double decode(uint64_t bits) {
    // The fields in their places in f32, whose bias is 112 more; a product with
    // 2^112 corrects it, for subnormals too. Infinity and NaN keep theirs.
    uint64_t magnitude = (bits & 0x7FFF) << 13;
    uint64_t sign = (bits & 0x8000) << 16;
    if (magnitude >= 0x7C00 << 13)
      return asFloat(sign | (magnitude + (uint64_t{0xFF - 0x1F} << 23)));
    return static_cast<double>(asFloat(sign | magnitude)) * 0x1p112;
  }
  static uint64_t encode(double value,
                         Rounding rounding = Rounding::NearestEven,
                         bool satfinite = false) {
    return roundToFormat(kFormat, value, rounding, satfinite);
  }
};

struct BF16 {
  static constexpr FloatFormat kFormat{8, 7, 127, 0x7F7F, 0x7F80, 0x7FFF};
  static constexpr double kLeastNormal = 0x1p-126;
  static double decode(uint64_t bits) { return asFloat(bits << 16); }
  static uint64_t encode(double value,
                         Rounding rounding = Rounding::NearestEven,
                         bool satfinite = false) {
    return roundToFormat(kFormat, value, rounding, satfinite);
  }
};

/// The 19 significant bits of tf32, without the 13 low ones of its register.
inline constexpr FloatFormat kTF32Format{8, 10, 127, 0x3FBFF, 0x3FC00, 0x3FFFF};

//===----------------------------------------------------------------------===//
// Classes of values
//===----------------------------------------------------------------------===//

template <typename F>
inline bool isNaN(uint64_t bits) {
  return (bits & F::kFormat.magnitude()) > F::kFormat.infinity;
}
template <typename F>
inline bool isInfinite(uint64_t bits) {
  return (bits & F::kFormat.magnitude()) == F::kFormat.infinity;
}
template <typename F>
inline bool isZero(uint64_t bits) {
  return (bits & F::kFormat.magnitude()) == 0;
}
template <typename F>
inline bool isNegative(uint64_t bits) {
  return bits & F::kFormat.sign();
}
template <typename F>
inline bool isSubnormal(uint64_t bits) {
  uint64_t magnitude = bits & F::kFormat.magnitude();
  return magnitude != 0 && magnitude <= F::kFormat.mantissa();
}

/// The NaN that an operation gives for a NaN operand.
template <typename F>
inline uint64_t getNaN(uint64_t bits) {
  return std::is_same_v<F, F64> ? bits | uint64_t{1} << 51 : F::kFormat.nan;
}

/// `.ftz`: a subnormal becomes the zero of its sign.
template <typename F>
inline uint64_t flushSubnormal(uint64_t bits) {
  return isSubnormal<F>(bits) ? bits & F::kFormat.sign() : bits;
}

/// `.ftz` of an exact result: zero where the result, rounded to the precision
/// of F without a least exponent, is below the least normal number.
template <typename F>
inline double flushTiny(double value, Rounding rounding) {
  constexpr double kLeast = F::kLeastNormal;
  double magnitude = value < 0 ? -value : value;
  if (!(magnitude < kLeast))
    return value;
  // Twice as much is a normal number, or tiny by far.
  uint64_t twice = F::encode(2 * value, rounding) & F::kFormat.magnitude();
  bool reaches = magnitude >= kLeast / 2 && F::decode(twice) >= 2 * kLeast;
  return reaches ? value : asDouble(asBits(value) & F64::kFormat.sign());
}

/// `.sat`: clamped to [+0, 1]; NaN becomes +0.
template <typename F>
inline uint64_t saturateToUnit(uint64_t bits) {
  constexpr uint64_t kOne = static_cast<uint64_t>(F::kFormat.bias)
                            << F::kFormat.mantissaBits;
  if (isNaN<F>(bits) || isNegative<F>(bits))
    return 0;
  return bits > kOne ? kOne : bits;
}

/// `.relu`: what is negative, -0 too, becomes +0; NaN the canonical one.
template <typename F>
inline uint64_t clampNegative(uint64_t bits) {
  if (isNaN<F>(bits))
    return F::kFormat.nan;
  return isNegative<F>(bits) ? 0 : bits;
}

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_FLOATFORMATS_H

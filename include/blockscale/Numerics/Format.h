//===- Format.h - The table of narrow formats -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_FORMAT_H
#define BLOCKSCALE_NUMERICS_FORMAT_H

#include <cstdint>
#include <string_view>

namespace blockscale::numerics {

/// Element types of block-scaled data (OCP Microscaling Formats 1.0).
enum class ElementFormat : uint8_t { E2M1, E2M3, E3M2, E4M3, E5M2, INT8 };

/// Types of a block scale: E4M3 in NVFP4, E8M0 (a power of two) in MX.
enum class ScaleFormat : uint8_t { E4M3, E8M0 };

/// The types of what is quantized.
enum class InputFormat : uint8_t { F32, BF16, F16 };

/// A sign-magnitude format, whose codes are right-aligned in a byte: sign,
/// exponent, mantissa. Without bits of an exponent it is a fixed-point format,
/// whose codes are two's complement numbers of 2^-mantissaBits.
struct FormatInfo {
  std::string_view name;
  int bits;
  int exponentBits;
  int mantissaBits;
  int bias;
  /// Exponent of the largest power of two: `emax` of OCP, `pow` of the E8M0
  /// rules.
  int maxExponent;
  /// Bits an element takes in memory: E2M1 is packed two to a byte, other
  /// codes have a byte each.
  int storageBits;
  bool hasInfinity;
  bool hasNan;
  uint8_t maxFiniteCode;
  /// What a NaN encodes as, sign dropped: a NaN where the format has one, else
  /// the largest code (PTX `cvt.satfinite`).
  uint8_t nanCode;
  float maxFinite;
};

inline constexpr FormatInfo kFormatTable[] = {
    // name, bits, exponent, mantissa, bias, emax, storage, infinity, NaN,
    //   largest code, NaN code, largest value
    {"e2m1", 4, 2, 1, 1, 2, 4, false, false, 0x07, 0x07, 6.0f},
    {"e2m3", 6, 2, 3, 1, 2, 8, false, false, 0x1F, 0x1F, 7.5f},
    {"e3m2", 6, 3, 2, 3, 4, 8, false, false, 0x1F, 0x1F, 28.0f},
    {"e4m3", 8, 4, 3, 7, 8, 8, false, true, 0x7E, 0x7F, 448.0f},
    {"e5m2", 8, 5, 2, 15, 15, 8, true, true, 0x7B, 0x7F, 57344.0f},
    {"int8", 8, 0, 6, 0, 0, 8, false, false, 0x7F, 0x7F, 1.984375f},
};

inline constexpr ElementFormat kElementFormats[] = {
    ElementFormat::E2M1, ElementFormat::E2M3, ElementFormat::E3M2,
    ElementFormat::E4M3, ElementFormat::E5M2, ElementFormat::INT8};

constexpr const FormatInfo &getFormatInfo(ElementFormat format) {
  return kFormatTable[static_cast<unsigned>(format)];
}

constexpr bool isFixedPoint(ElementFormat format) {
  return getFormatInfo(format).exponentBits == 0;
}

/// Whether two codes share a byte.
constexpr bool isPacked(ElementFormat format) {
  return getFormatInfo(format).storageBits == 4;
}

/// Number of codes of the format: 16, 64 or 256.
constexpr int getCodeCount(ElementFormat format) {
  return 1 << getFormatInfo(format).bits;
}

/// 1 / largest value, rounded to f32: the constant of the RCEIL scale rule,
/// which multiplies and does not divide.
constexpr float getInverseMaxFinite(ElementFormat format) {
  return 1.0f / getFormatInfo(format).maxFinite;
}

//===----------------------------------------------------------------------===//
// Constants of the recipes
//===----------------------------------------------------------------------===//

/// Largest E2M1 magnitude and its reciprocal, rounded to f32.
inline constexpr float kE2M1Max = 6.0f;
inline constexpr float kInverseE2M1Max = 1.0f / 6.0f;

/// Largest, smallest normal and smallest positive E4M3 value.
inline constexpr float kE4M3Max = 448.0f;
inline constexpr float kE4M3MinNormal = 0.015625f;       // 2^-6
inline constexpr float kE4M3MinSubnormal = 0.001953125f; // 2^-9

/// E8M0: 2^(byte - 127), and 255 for NaN. There is no zero.
inline constexpr int kE8M0Bias = 127;
inline constexpr uint8_t kE8M0MaxFinite = 254;
inline constexpr uint8_t kE8M0Nan = 255;

inline constexpr uint8_t kE4M3Nan = 0x7F;

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_FORMAT_H

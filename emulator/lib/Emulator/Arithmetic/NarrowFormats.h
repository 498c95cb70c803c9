//===- NarrowFormats.h - Formats of eight bits and less ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The floating-point formats of eight bits and less.
//
// e4m3, e5m2, e3m2, e2m3, e2m1 (OCP 8-bit and Microscaling specifications, with
// what PTX adds in `cvt`) and the scale format ue8m0. Codes lie in the low bits
// of a byte.
//
// Every conversion to the first five is `.satfinite`: magnitudes beyond the
// greatest finite value become that value of their sign, infinity too. NaN
// becomes 0x7F where the format has NaNs (e4m3, e5m2), and the positive
// greatest value where it has none.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_NARROWFORMATS_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_NARROWFORMATS_H

#include "Emulator/Arithmetic/FloatFormats.h"

#include <limits>

namespace blockscale::emulator {

inline constexpr FloatFormat kE4M3{4, 3, 7, 0x7E, 0x7E, 0x7F};
inline constexpr FloatFormat kE5M2{5, 2, 15, 0x7B, 0x7C, 0x7F};
inline constexpr FloatFormat kE3M2{3, 2, 3, 0x1F, 0x1F, 0x1F};
inline constexpr FloatFormat kE2M3{2, 3, 1, 0x1F, 0x1F, 0x1F};
inline constexpr FloatFormat kE2M1{2, 1, 1, 0x7, 0x7, 0x7};

inline constexpr uint8_t kUE8M0NaN = 0xFF;
inline constexpr uint8_t kUE8M0Max = 0xFE;
inline constexpr int kUE8M0Bias = 127;

/// Whether a code is NaN.
inline bool isNarrowNaN(const FloatFormat &format, uint64_t code) {
  uint64_t magnitude = code & format.magnitude();
  return magnitude > format.infinity;
}

/// The value of a code, exact. Bits above the format are ignored.
inline double decodeNarrow(const FloatFormat &format, uint64_t code) {
  uint64_t magnitude = code & format.magnitude();
  uint64_t sign = code & format.sign() ? F64::kFormat.sign() : 0;
  if (magnitude > format.maxFinite)
    return magnitude == format.infinity
               ? asDouble(F64::kFormat.infinity | sign)
               : std::numeric_limits<double>::quiet_NaN();
  uint64_t mantissa = magnitude & format.mantissa();
  int field = static_cast<int>(magnitude >> format.mantissaBits);
  int offset = F64::kFormat.bias - format.bias;
  if (field != 0)
    return asDouble(sign | static_cast<uint64_t>(field + offset) << 52 |
                    mantissa << (52 - format.mantissaBits));
  // An integer times the least subnormal, a power of two.
  auto least =
      static_cast<uint64_t>(1 + offset - static_cast<int>(format.mantissaBits));
  double value = static_cast<double>(mantissa) * asDouble(least << 52);
  return asDouble(asBits(value) | sign);
}

/// The code of a value, `.satfinite`.
inline uint8_t encodeNarrow(const FloatFormat &format, double value,
                            Rounding rounding = Rounding::NearestEven,
                            RandomBits random = {}) {
  return static_cast<uint8_t>(
      roundToFormat(format, value, rounding, /*satfinite=*/true, random));
}

/// The value of a scale; NaN for 0xFF.
inline double decodeUE8M0(uint8_t code) {
  if (code == kUE8M0NaN)
    return std::numeric_limits<double>::quiet_NaN();
  return asDouble(static_cast<uint64_t>(code - kUE8M0Bias + 1023) << 52);
}

/// The scale next to the magnitude of a value, `.rz` or `.rp` (the only
/// roundings `cvt` has). The format has no sign, so a value's is dropped; what
/// is below 2^-127, zero too, becomes 0x00. NaN becomes 0xFF, and with no
/// `.satfinite` so does what rounds to beyond 2^127.
uint8_t encodeUE8M0(double value, Rounding rounding, bool satfinite);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_NARROWFORMATS_H

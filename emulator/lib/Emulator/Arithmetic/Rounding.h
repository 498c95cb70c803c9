//===- Rounding.h - Rounding of exact values to a format --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rounding of an exact value to a binary format.
//
// One engine rounds for every binary format: a sign, an integer significand and
// an exponent in, the code of the nearest value in the wanted direction out.
// PTX ISA, "Rounding Modifiers" and the floating-point notes of `cvt`.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_ROUNDING_H
#define BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_ROUNDING_H

#include "llvm/ADT/bit.h"

#include <cstdint>

namespace blockscale::emulator {

enum class Rounding : uint8_t {
  NearestEven, ///< .rn
  Zero,        ///< .rz
  Down,        ///< .rm, to minus infinity
  Up,          ///< .rp, to plus infinity
  NearestAway, ///< .rna, ties away from zero
  Stochastic,  ///< .rs, away from zero where random bits carry
};

/// A binary format of sign, exponent and mantissa fields.
struct FloatFormat {
  unsigned exponentBits;
  unsigned mantissaBits;
  int bias;
  /// The code of the greatest finite magnitude.
  uint64_t maxFinite;
  /// The code of infinity, or of the greatest finite magnitude without one.
  uint64_t infinity;
  /// The code that an instruction gives for a NaN, sign included.
  uint64_t nan;

  constexpr unsigned bits() const { return 1 + exponentBits + mantissaBits; }
  constexpr uint64_t sign() const {
    return uint64_t{1} << (exponentBits + mantissaBits);
  }
  constexpr uint64_t magnitude() const { return sign() - 1; }
  constexpr uint64_t mantissa() const {
    return (uint64_t{1} << mantissaBits) - 1;
  }
};

/// Random bits of `.rs`: `width` bits (at most 16), added at the top of the
/// discarded part of the significand.
struct RandomBits {
  uint32_t bits = 0;
  unsigned width = 16;
};

/// A finite value (-1)^negative * significand * 2^exponent. Where it stands for
/// one with more bits than fit, its lowest bit is the or of all those beyond
/// ("round to odd"): every rounding to two bits less is then right.
struct ExactValue {
  bool negative = false;
  uint64_t significand = 0;
  int exponent = 0;
};

inline ExactValue getExactValue(double value) {
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  uint64_t mantissa = bits & ((uint64_t{1} << 52) - 1);
  int biased = static_cast<int>(bits >> 52 & 0x7FF);
  bool negative = bits >> 63;
  if (biased == 0)
    return {negative, mantissa, -1074};
  return {negative, mantissa | uint64_t{1} << 52, biased - 1075};
}

/// Whether a magnitude goes up by one unit, given what is discarded of it: a
/// part `rest` of 2 * `half`.
inline bool roundsAway(Rounding rounding, bool negative, bool odd,
                       uint64_t rest, uint64_t half) {
  switch (rounding) {
  case Rounding::NearestEven:
    return rest > half || (rest == half && odd);
  case Rounding::NearestAway:
    return rest >= half;
  case Rounding::Down:
    return negative && rest != 0;
  case Rounding::Up:
    return !negative && rest != 0;
  case Rounding::Zero:
  case Rounding::Stochastic:
    return false;
  }
  return false;
}

/// significand >> shift, rounded. `shift` is positive.
inline uint64_t shiftRounded(const ExactValue &value, unsigned shift,
                             Rounding rounding, RandomBits random) {
  uint64_t significand = value.significand;
  if (rounding == Rounding::Stochastic) {
    // 64 bits of significand and 16 random ones need at most 81 to carry.
    if (shift > 80)
      return 0;
    auto sum = static_cast<unsigned __int128>(significand);
    if (shift >= random.width)
      sum += static_cast<unsigned __int128>(random.bits)
             << (shift - random.width);
    else
      sum += random.bits >> (random.width - shift);
    return static_cast<uint64_t>(sum >> shift);
  }
  if (shift > 64)
    return roundsAway(rounding, value.negative, false, significand != 0, 2);
  if (shift == 64)
    return roundsAway(rounding, value.negative, false, significand,
                      uint64_t{1} << 63);
  uint64_t kept = significand >> shift;
  uint64_t rest = significand & ((uint64_t{1} << shift) - 1);
  return kept + roundsAway(rounding, value.negative, kept & 1, rest,
                           uint64_t{1} << (shift - 1));
}

/// The magnitude code of a value. The exponent range has no upper end here:
/// codes beyond `maxFinite` are for `resolveOverflow`.
inline uint64_t roundMagnitude(const FloatFormat &format,
                               const ExactValue &value, Rounding rounding,
                               RandomBits random = {}) {
  if (value.significand == 0)
    return 0;
  int minExponent = 1 - format.bias;
  int top = value.exponent + 63 - llvm::countl_zero(value.significand);
  int binade = top > minExponent ? top : minExponent;
  int shift = binade - static_cast<int>(format.mantissaBits) - value.exponent;
  uint64_t kept = shift <= 0 ? value.significand << -shift
                             : shiftRounded(value, static_cast<unsigned>(shift),
                                            rounding, random);
  // A carry out of the mantissa is one into the exponent field.
  return (static_cast<uint64_t>(binade - minExponent) << format.mantissaBits) +
         kept;
}

/// What a magnitude beyond the finite ones becomes.
inline uint64_t resolveOverflow(const FloatFormat &format, uint64_t magnitude,
                                bool negative, Rounding rounding,
                                bool satfinite) {
  if (magnitude <= format.maxFinite)
    return magnitude;
  bool towardsZero = rounding == Rounding::Zero ||
                     (rounding == Rounding::Down && !negative) ||
                     (rounding == Rounding::Up && negative);
  return satfinite || towardsZero ? format.maxFinite : format.infinity;
}

/// The code of a finite value.
inline uint64_t roundToFormat(const FloatFormat &format,
                              const ExactValue &value, Rounding rounding,
                              bool satfinite = false, RandomBits random = {}) {
  uint64_t magnitude =
      resolveOverflow(format, roundMagnitude(format, value, rounding, random),
                      value.negative, rounding, satfinite);
  return magnitude | (value.negative ? format.sign() : 0);
}

/// The code of a double but NaN, to nearest even. No branch but the last: most
/// conversions come here. Formats with more than 51 bits are too wide for it.
inline uint64_t roundNearest(const FloatFormat &format, double value,
                             bool satfinite) {
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  uint64_t sign = bits >> 63 ? format.sign() : 0;
  int exponent = static_cast<int>(bits >> 52 & 0x7FF) - 1023;
  // Subnormal doubles read as normal: both are far below half of any format's
  // least magnitude, as is what the shift of 63 stands for.
  uint64_t significand = (bits & ((uint64_t{1} << 52) - 1)) | uint64_t{1} << 52;
  int minExponent = 1 - format.bias;
  int binade = exponent > minExponent ? exponent : minExponent;
  int distance = binade - exponent + 52 - static_cast<int>(format.mantissaBits);
  unsigned shift = distance < 63 ? static_cast<unsigned>(distance) : 63;
  uint64_t half = uint64_t{1} << (shift - 1);
  uint64_t odd = significand >> shift & 1;
  uint64_t kept = (significand + half - 1 + odd) >> shift;
  uint64_t magnitude =
      (static_cast<uint64_t>(binade - minExponent) << format.mantissaBits) +
      kept;
  if (magnitude > format.maxFinite)
    magnitude = satfinite ? format.maxFinite : format.infinity;
  return magnitude | sign;
}

/// The code of any double; `.satfinite` makes infinity the greatest finite.
inline uint64_t roundToFormat(const FloatFormat &format, double value,
                              Rounding rounding, bool satfinite = false,
                              RandomBits random = {}) {
  if (value != value)
    return format.nan;
  if (rounding == Rounding::NearestEven)
    return roundNearest(format, value, satfinite);
  uint64_t bits = llvm::bit_cast<uint64_t>(value);
  if ((bits >> 52 & 0x7FF) == 0x7FF)
    return (satfinite ? format.maxFinite : format.infinity) |
           (bits >> 63 ? format.sign() : 0);
  return roundToFormat(format, getExactValue(value), rounding, satfinite,
                       random);
}

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ARITHMETIC_ROUNDING_H

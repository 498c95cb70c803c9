//===- Convert.cpp - Conversions between formats --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/Convert.h"

#include "Emulator/Arithmetic/ConvertPacked.h"
#include "Emulator/Arithmetic/FloatFormats.h"

#include <cmath>
#include <limits>
#include <type_traits>

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

/// Sign or zero extension to 64 bits.
template <typename T>
static uint64_t extend(T value) {
  if constexpr (std::is_signed_v<T>)
    return static_cast<uint64_t>(static_cast<int64_t>(value));
  return static_cast<uint64_t>(value);
}

template <typename To, typename From>
static uint64_t integerToInteger(const uint64_t *sources,
                                 const ConvertModifiers &modifiers) {
  auto value = static_cast<From>(sources[0]);
  if (modifiers.sat) {
    // A sign and 64 bits hold the values of all types.
    using Limits = std::numeric_limits<To>;
    bool negative = value < From{0};
    uint64_t wide = extend(value);
    if (negative && (std::is_unsigned_v<To> ||
                     static_cast<int64_t>(wide) <
                         static_cast<int64_t>(extend(Limits::min()))))
      return extend(Limits::min());
    if (!negative && wide > extend(Limits::max()))
      return extend(Limits::max());
  }
  return extend(static_cast<To>(value));
}

template <typename To, typename From>
static uint64_t integerToFloat(const uint64_t *sources,
                               const ConvertModifiers &modifiers) {
  auto value = static_cast<From>(sources[0]);
  if constexpr (std::is_same_v<To, F32>)
    if (modifiers.rounding == Rounding::NearestEven && !modifiers.sat)
      return asBits(static_cast<float>(value));
  bool negative = value < From{0};
  uint64_t wide = extend(value);
  uint64_t result = roundToFormat(
      To::kFormat, ExactValue{negative, negative ? -wide : wide, 0},
      modifiers.rounding);
  return modifiers.sat ? saturateToUnit<To>(result) : result;
}

//===----------------------------------------------------------------------===//
// Floating-point numbers
//===----------------------------------------------------------------------===//

static double roundToIntegral(double value, Rounding rounding) {
  double magnitude = std::fabs(value);
  // Beyond, every number is integral; infinity too.
  if (!(magnitude < 0x1p52))
    return value;
  auto result = static_cast<double>(static_cast<int64_t>(value));
  switch (rounding) {
  case Rounding::Zero:
    break;
  case Rounding::Down:
    result -= result > value;
    break;
  case Rounding::Up:
    result += result < value;
    break;
  case Rounding::NearestEven:
  case Rounding::NearestAway:
  case Rounding::Stochastic:
    // The unit of 2^52 is one.
    result = (magnitude + 0x1p52) - 0x1p52;
    break;
  }
  return std::copysign(result, value);
}

/// The source's value; `.ftz` is about f32 alone.
template <typename From>
static double decodeSource(uint64_t bits, const ConvertModifiers &modifiers) {
  if (std::is_same_v<From, F32> && modifiers.ftz)
    bits = flushSubnormal<From>(bits);
  return From::decode(bits);
}

/// Out of range clamps. NaN gives zero, and the top bit alone where a 64-bit
/// type takes part.
template <typename To, typename From>
static uint64_t floatToInteger(const uint64_t *sources,
                               const ConvertModifiers &modifiers) {
  using Limits = std::numeric_limits<To>;
  uint64_t bits = sources[0];
  if (isNaN<From>(bits)) {
    bool hasWide = std::is_same_v<From, F64> || sizeof(To) == 8;
    uint64_t top = uint64_t{1} << (8 * sizeof(To) - 1);
    return hasWide ? extend(static_cast<To>(top)) : 0;
  }
  double value =
      roundToIntegral(decodeSource<From>(bits, modifiers), modifiers.rounding);
  constexpr auto kLeast = static_cast<double>(Limits::min());
  // One more than the greatest value: a power of two.
  const double kEnd = std::ldexp(1.0, Limits::digits);
  if (value < kLeast)
    return extend(Limits::min());
  if (value >= kEnd)
    return extend(Limits::max());
  return extend(static_cast<To>(value));
}

/// The NaN that a conversion gives. Where f64 takes part, sign and payload stay
/// at the top of the mantissa, made quiet; from bf16 to f32 they just stay.
/// Else it is the format's own. PTX leaves it unspecified; an H100 does this.
template <typename To, typename From>
static uint64_t convertNaN(uint64_t nan) {
  constexpr FloatFormat kTo = To::kFormat, kFrom = From::kFormat;
  if (std::is_same_v<To, F32> && std::is_same_v<From, BF16>)
    return nan << 16;
  if (!std::is_same_v<To, F64> && !std::is_same_v<From, F64>)
    return kTo.nan;
  constexpr int kShift =
      static_cast<int>(kTo.mantissaBits) - static_cast<int>(kFrom.mantissaBits);
  uint64_t payload = nan & kFrom.mantissa();
  payload = kShift >= 0 ? payload << (kShift & 63) : payload >> (-kShift & 63);
  uint64_t quiet = uint64_t{1} << (kTo.mantissaBits - 1);
  return (nan & kFrom.sign() ? kTo.sign() : 0) | kTo.infinity | quiet | payload;
}

template <typename To, typename From>
static uint64_t floatToFloat(const uint64_t *sources,
                             const ConvertModifiers &modifiers) {
  uint64_t bits = sources[0], result = 0;
  if (isNaN<From>(bits)) {
    result = convertNaN<To, From>(bits);
  } else {
    double value = decodeSource<From>(bits, modifiers);
    if (modifiers.integral)
      value = roundToIntegral(value, modifiers.rounding);
    if constexpr (std::is_same_v<To, F32>)
      if (modifiers.ftz)
        value = flushTiny<To>(value, modifiers.rounding);
    result = To::encode(value, modifiers.rounding, modifiers.satfinite);
  }
  if (modifiers.sat)
    result = saturateToUnit<To>(result);
  if (modifiers.relu)
    result = clampNegative<To>(result);
  return result;
}

/// `cvt.tf32.f32`: the low 13 bits of the register are zero.
static uint64_t floatToTF32(const uint64_t *sources,
                            const ConvertModifiers &modifiers) {
  uint64_t result = roundToFormat(kTF32Format, F32::decode(sources[0]),
                                  modifiers.rounding, modifiers.satfinite)
                    << 13;
  return modifiers.relu && isNegative<F32>(result) ? 0 : result;
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

template <typename T>
struct Integer {
  using Value = T;
};
template <typename T>
struct Floating {
  using Value = T;
};

/// `visitor` of the scalar type's tag; null for other types.
template <typename Visitor>
static ConvertFunction visitScalar(Type type, Visitor visitor) {
  switch (type) {
  case Type::U8:
    return visitor(Integer<uint8_t>());
  case Type::U16:
    return visitor(Integer<uint16_t>());
  case Type::U32:
    return visitor(Integer<uint32_t>());
  case Type::U64:
    return visitor(Integer<uint64_t>());
  case Type::S8:
    return visitor(Integer<int8_t>());
  case Type::S16:
    return visitor(Integer<int16_t>());
  case Type::S32:
    return visitor(Integer<int32_t>());
  case Type::S64:
    return visitor(Integer<int64_t>());
  case Type::F16:
    return visitor(Floating<F16>());
  case Type::BF16:
    return visitor(Floating<BF16>());
  case Type::F32:
    return visitor(Floating<F32>());
  case Type::F64:
    return visitor(Floating<F64>());
  default:
    return nullptr;
  }
}

template <typename T, typename U>
static ConvertFunction getScalar(Integer<T>, Integer<U>) {
  return integerToInteger<T, U>;
}
template <typename T, typename U>
static ConvertFunction getScalar(Floating<T>, Integer<U>) {
  return integerToFloat<T, U>;
}
template <typename T, typename U>
static ConvertFunction getScalar(Integer<T>, Floating<U>) {
  return floatToInteger<T, U>;
}
template <typename T, typename U>
static ConvertFunction getScalar(Floating<T>, Floating<U>) {
  return floatToFloat<T, U>;
}

ConvertFunction findConvert(Type to, Type from, unsigned sources) {
  if (ConvertFunction packed = findPackedConvert(to, from, sources))
    return packed;
  if (sources != 1)
    return nullptr;
  if (to == Type::TF32)
    return from == Type::F32 ? floatToTF32 : nullptr;
  return visitScalar(to, [&](auto toTag) {
    return visitScalar(from,
                       [&](auto fromTag) { return getScalar(toTag, fromTag); });
  });
}

uint64_t packSaturated(uint64_t a, uint64_t b, uint64_t c, unsigned bits,
                       bool isSigned) {
  int64_t least = isSigned ? -(int64_t{1} << (bits - 1)) : 0;
  int64_t greatest = (int64_t{1} << (isSigned ? bits - 1 : bits)) - 1;
  uint64_t mask = (uint64_t{1} << bits) - 1;
  auto clamp = [&](uint64_t source) {
    int64_t value = static_cast<int32_t>(source);
    return static_cast<uint64_t>(value < least      ? least
                                 : value > greatest ? greatest
                                                    : value) &
           mask;
  };
  uint64_t packed = clamp(a) << bits | clamp(b);
  return static_cast<uint32_t>(c << 2 * bits | packed);
}

} // namespace blockscale::emulator

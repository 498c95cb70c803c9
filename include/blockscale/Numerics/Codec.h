//===- Codec.h - f32 to narrow codes and back -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Encoding rounds to nearest, ties to the even code, and keeps the sign of
// zero, as PTX `cvt.rn.satfinite` does. The functions named after bits are the
// formulas, over any type of number (Bits.h); those without are of bytes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_CODEC_H
#define BLOCKSCALE_NUMERICS_CODEC_H

#include "blockscale/Numerics/Bits.h"
#include "blockscale/Numerics/Format.h"

namespace blockscale::numerics {

/// What values beyond the largest finite one, infinity included, become.
enum class Overflow : uint8_t {
  /// The largest finite code (PTX `satfinite`).
  Saturate,
  /// Infinity or NaN where the format has them (E5M2: infinity, E4M3: NaN), as
  /// casts of ml_dtypes do; E2M1, E2M3 and E3M2 have neither and saturate.
  Propagate
};

/// What an element that was scaled to -0 encodes as.
enum class NegativeZero : uint8_t { Keep, Drop };

//===----------------------------------------------------------------------===//
// Magnitudes
//===----------------------------------------------------------------------===//

/// A sign-magnitude format narrower than f32, by its fields.
struct CodeFields {
  int mantissaBits;
  int bias;

  constexpr int getShift() const { return kFloatMantissaBits - mantissaBits; }
  /// Difference of the exponent biases, at the place of the f32 exponent.
  constexpr uint32_t getRebias() const {
    return static_cast<uint32_t>(kFloatBias - bias) << kFloatMantissaBits;
  }
  /// The smallest normal value.
  constexpr float getMinNormal() const { return powerOfTwo(1 - bias); }
  /// The distance of subnormal values.
  constexpr float getSpacing() const {
    return powerOfTwo(1 - bias - mantissaBits);
  }
  /// The bits of the magnitude that `encodeMagnitude` gives `code` for.
  constexpr uint32_t getMagnitudeBits(uint32_t code) const {
    return (code << getShift()) + getRebias();
  }
};

inline constexpr CodeFields kF16Fields = {10, 15};

constexpr CodeFields getFields(ElementFormat format) {
  const FormatInfo &info = getFormatInfo(format);
  return {info.mantissaBits, info.bias};
}

/// The code nearest to a magnitude, in the low 23 bits.
///
/// The power of two of a magnitude, but at least the smallest normal value, is
/// 2^mantissaBits times the spacing of codes around it. Adding this power
/// moved up by `shift` rounds to a multiple of the spacing, which the low bits
/// of the sum count. They start with the number of the codes below, so that
/// they end as the code.
template <typename Number>
constexpr Bits<Number> encodeMagnitude(const CodeFields &fields,
                                       Number magnitude) {
  int shift = fields.getShift();
  Number smallest = like(magnitude, fields.getMinNormal());
  Bits<Number> power =
      toBits(select(isLess(smallest, magnitude), magnitude, smallest)) &
      kFloatInfinityBits;
  uint32_t move = static_cast<uint32_t>(shift) << kFloatMantissaBits;
  uint32_t below = toBits(fields.getMinNormal()) >> shift;
  return toBits(magnitude +
                fromBits((power + (power >> shift)) + (move - below)));
}

/// The E2M1 code nearest to a magnitude, in the low bits. E2M1's codes count
/// steps of 1/2 to 2, then of 1 to 4, then of 2; ties to even hold in each
/// range because the offsets are even. So the code is
///
///   min(rint(2 a), rint(a) + 2, rint(a / 2) + 4, 7)
///
/// and adding 2^22, whose last place is 1/2, leaves rint(2 a) in the low bits.
/// NaN loses to 7.
template <typename Number>
constexpr Bits<Number> encodeE2M1Magnitude(Number a) {
  constexpr float kAnchor = 4194304.0f; // 2^22
  Number halves = a + kAnchor;
  Number ones = addExactProduct(a, like(a, 0.5f), like(a, kAnchor + 1.0f));
  Number twos = addExactProduct(a, like(a, 0.25f), like(a, kAnchor + 2.0f));
  Number smallest = minOrSecond(minOrSecond(halves, ones), twos);
  return toBits(minOrSecond(smallest, like(a, kAnchor + 3.5f))) -
         toBits(kAnchor);
}

/// A magnitude, but at most the largest one of the format, which NaN becomes.
template <typename Number>
constexpr Number limitMagnitude(ElementFormat format, Number magnitude) {
  return minOrSecond(magnitude,
                     like(magnitude, getFormatInfo(format).maxFinite));
}

/// The f32 bits of the finite magnitude of a code.
template <typename Word>
constexpr Word decodeMagnitude(const CodeFields &fields, Word code) {
  Word normal = (code << fields.getShift()) + fields.getRebias();
  Word subnormal = toBits(convertToF32(code) * fields.getSpacing());
  return select(isBelow(code, 1u << fields.mantissaBits), subnormal, normal);
}

/// f32 bits of the magnitude that a code stands for, in a format whose code
/// `infinity` is infinity and whose codes above are NaN.
template <typename Word>
constexpr Word decodeIEEEMagnitude(const CodeFields &fields, Word code,
                                   uint32_t infinity) {
  Word special = select(isEqual(code, infinity), like(code, kFloatInfinityBits),
                        like(code, kFloatNanBits));
  return select(isBelow(code, infinity), decodeMagnitude(fields, code),
                special);
}

//===----------------------------------------------------------------------===//
// Fixed point
//===----------------------------------------------------------------------===//

/// A number whose last place is the spacing of the codes, so that a sum with it
/// rounds to a multiple of that and has the code in its low bits.
constexpr float getFixedPointAnchor(const FormatInfo &info) {
  return 1.5f * powerOfTwo(kFloatMantissaBits - info.mantissaBits);
}

/// The code nearest to x, ties to even, saturated; that of NaN is the largest.
template <typename Number>
constexpr Bits<Number> encodeFixedPoint(const FormatInfo &info, Number x) {
  Number lowest = like(x, -info.maxFinite - powerOfTwo(-info.mantissaBits));
  Number limited = minOrSecond(x, like(x, info.maxFinite));
  limited = select(isLess(limited, lowest), lowest, limited);
  return toBits(limited + getFixedPointAnchor(info)) & ((1u << info.bits) - 1u);
}

/// The value of a code.
template <typename Word>
constexpr Number<Word> decodeFixedPoint(const FormatInfo &info, Word code) {
  uint32_t half = 1u << (info.bits - 1);
  float anchor = getFixedPointAnchor(info);
  // The code plus `half` counts from the lowest code on.
  Word fromLowest = (code + half) & (2 * half - 1);
  return fromBits(fromLowest + (toBits(anchor) - half)) - anchor;
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

/// The sign bit of x, moved to `position`; 0 for NaN and, where dropped, -0.
template <typename Number>
constexpr Bits<Number> getSign(Number x, int position,
                               NegativeZero negativeZero) {
  Bits<Number> set = like(toBits(x), 1u << position);
  Bits<Number> clear = like(toBits(x), 0u);
  if (negativeZero == NegativeZero::Drop)
    return select(isLess(x, like(x, 0.0f)), set, clear);
  // As signed integers, the bits of -0 .. -infinity are the smallest numbers,
  // below those of negative NaNs.
  return select(
      isLessSigned(toBits(x),
                   like(toBits(x), kFloatSignMask | (kFloatInfinityBits + 1))),
      set, clear);
}

/// The code nearest to `x`, in the low 16 bits; those above are zero in E2M1
/// and undefined in other formats. NaN gives `nanCode`, sign dropped.
template <typename Number>
constexpr Bits<Number>
encodeBits(ElementFormat format, Number x,
           NegativeZero negativeZero = NegativeZero::Keep,
           Overflow overflow = Overflow::Saturate) {
  const FormatInfo &info = getFormatInfo(format);
  if (isFixedPoint(format))
    return encodeFixedPoint(info, x);
  Bits<Number> sign = getSign(x, info.bits - 1, negativeZero);
  Number magnitude = magnitudeOf(x);
  // A sum rather than a union: it merges with what else is added to codes.
  if (format == ElementFormat::E2M1)
    return encodeE2M1Magnitude(magnitude) + sign;
  CodeFields fields = getFields(format);
  bool hasSpecial = info.hasInfinity || info.hasNan;
  float largest =
      overflow == Overflow::Propagate && hasSpecial
          ? fromBits(fields.getMagnitudeBits(info.maxFiniteCode + 1))
          : info.maxFinite;
  Number limit = select(
      isNan(x), fromBits(like(sign, fields.getMagnitudeBits(info.nanCode))),
      like(x, largest));
  return encodeMagnitude(fields, minOrSecond(magnitude, limit)) | sign;
}

constexpr uint8_t encode(ElementFormat format, float x,
                         Overflow overflow = Overflow::Saturate) {
  uint32_t mask = (1u << getFormatInfo(format).bits) - 1;
  return static_cast<uint8_t>(
      encodeBits(format, x, NegativeZero::Keep, overflow) & mask);
}

/// The value of a code without bits above the format's.
template <typename Word>
constexpr Number<Word> decodeBits(ElementFormat format, Word code) {
  const FormatInfo &info = getFormatInfo(format);
  if (isFixedPoint(format))
    return decodeFixedPoint(info, code);
  CodeFields fields = getFields(format);
  uint32_t signMask = 1u << (info.bits - 1);
  Word sign = (code & signMask) << (32 - info.bits);
  Word magnitude = code & (signMask - 1);
  if (info.hasInfinity)
    return fromBits(
        decodeIEEEMagnitude(fields, magnitude, info.maxFiniteCode + 1u) | sign);
  Word bits = decodeMagnitude(fields, magnitude);
  if (info.hasNan)
    bits = select(isBelow(magnitude, info.maxFiniteCode + 1u), bits,
                  like(bits, kFloatNanBits));
  return fromBits(bits | sign);
}

/// The value of a code, as decodeBits gives it, by one multiplication. It is
/// fast where subnormal f32 cost nothing, as on GPUs: the fields of the code in
/// the place of f32's give its value divided by the ratio of the biases, a
/// subnormal f32 where the code is subnormal. The product is exact.
template <typename Word>
constexpr Number<Word> decodeByProduct(ElementFormat format, Word code) {
  const FormatInfo &info = getFormatInfo(format);
  if (isFixedPoint(format))
    return decodeFixedPoint(info, code);
  uint32_t signMask = 1u << (info.bits - 1);
  Word sign = (code & signMask) << (32 - info.bits);
  Word magnitude = code & (signMask - 1);
  Word fields = magnitude << getFields(format).getShift();
  Number<Word> value =
      fromBits(fields | sign) * powerOfTwo(kFloatBias - info.bias);
  if (!info.hasInfinity && !info.hasNan)
    return value;
  Word bits = toBits(value);
  if (info.hasInfinity)
    bits = select(isEqual(magnitude, info.maxFiniteCode + 1u),
                  sign | kFloatInfinityBits, bits);
  uint32_t firstNan = info.maxFiniteCode + (info.hasInfinity ? 2u : 1u);
  bits = select(isBelow(magnitude, firstNan), bits, like(bits, kFloatNanBits));
  return fromBits(bits);
}

/// The power of two that decodeMagnified multiplies values by.
constexpr float getMagnification(ElementFormat format) {
  return isFixedPoint(format) ? 1.0f
                              : powerOfTwo(getFormatInfo(format).bias + 1);
}

/// The value of the code that begins at bit `first` of a word, multiplied by
/// getMagnification, in few operations and without subnormal f32.
///
/// With the bits of the code's magnitude in the place of f32's, and a fixed bit
/// above its exponent e, the word is y = 2^(e + 1) (1 + m / 2^p). A normal
/// value is y magnified. A subnormal one, where y is at least 2 and less than
/// 4, is 2 y - 4, which is less than y only there.
template <typename Word>
constexpr Number<Word> decodeMagnified(ElementFormat format, Word word,
                                       int first) {
  const FormatInfo &info = getFormatInfo(format);
  if (isFixedPoint(format))
    return decodeFixedPoint(info, word >> first);
  constexpr uint32_t kAboveExponent = 0x40000000u; // the f32 2
  auto moveLeft = [&](int bits) {
    return bits < 0 ? word >> -bits : word << bits;
  };
  int shift = getFields(format).getShift();
  uint32_t mask = ((1u << (info.bits - 1)) - 1) << shift;
  Word bits = (moveLeft(shift - first) & mask) | kAboveExponent;
  Number<Word> y = fromBits(bits);
  Number<Word> subnormal = addExactProduct(y, like(y, 2.0f), like(y, -4.0f));
  // Bits of numbers without sign are ordered as the numbers are.
  Word magnitude = minUnsigned(toBits(subnormal), bits);
  auto getBits = [&](uint32_t code) {
    return (code << shift) | kAboveExponent;
  };
  if (info.hasInfinity)
    magnitude = select(isEqual(bits, getBits(info.maxFiniteCode + 1u)),
                       like(bits, kFloatInfinityBits), magnitude);
  uint32_t firstNan = info.maxFiniteCode + (info.hasInfinity ? 2u : 1u);
  if (info.hasNan)
    magnitude = select(isBelow(bits, getBits(firstNan)), magnitude,
                       like(bits, kFloatNanBits));
  return fromBits(magnitude |
                  (moveLeft(32 - info.bits - first) & kFloatSignMask));
}

/// The value of a code; bits above the format's are ignored.
constexpr float decode(ElementFormat format, uint8_t code) {
  uint32_t mask = (1u << getFormatInfo(format).bits) - 1;
  return decodeBits(format, code & mask);
}

/// Whether the code is NaN. E2M1, E2M3 and E3M2 have none.
constexpr bool isNanCode(ElementFormat format, uint8_t code) {
  return isNan(decode(format, code));
}

//===----------------------------------------------------------------------===//
// E8M0
//===----------------------------------------------------------------------===//

/// Bits of 2^-127, a subnormal, which byte 0 stands for.
inline constexpr uint32_t kE8M0SmallestBits = 0x00400000u;

/// 2^(byte - 127); 255 is NaN.
template <typename Word>
constexpr Number<Word> decodeE8M0Bits(Word byte) {
  Word bits = byte << kFloatMantissaBits;
  bits = select(isEqual(byte, 0u), like(bits, kE8M0SmallestBits), bits);
  bits = select(isEqual(byte, uint32_t{kE8M0Nan}), like(bits, kFloatNanBits),
                bits);
  return fromBits(bits);
}
constexpr float decodeE8M0(uint8_t byte) {
  return decodeE8M0Bits(uint32_t{byte});
}

/// The largest power of two not above |x| (PTX `cvt.rz.ue8m0x2.f32`); all
/// below 2^-126 gives byte 0. Infinity is 255 or, saturated, 254.
constexpr uint8_t encodeE8M0RoundDown(float x, Overflow overflow) {
  uint32_t magnitude = magnitudeBits(x);
  if (magnitude == kFloatInfinityBits && overflow == Overflow::Saturate)
    return kE8M0MaxFinite;
  return static_cast<uint8_t>(magnitude >> kFloatMantissaBits);
}

/// The smallest power of two not below |x| (PTX `cvt.rp.ue8m0x2.f32`). Above
/// 2^127, infinity included, it is 255 or, saturated, 254.
///
/// The sum carries into the exponent where the magnitude is above its power of
/// two. Below 2^-126 that power is 2^-127, half of the mantissa's range.
template <typename Number>
constexpr Bits<Number> encodeE8M0RoundUp(Number x, Overflow overflow) {
  Bits<Number> magnitude = toBits(x) & kFloatMagnitudeMask;
  Bits<Number> up = select(isBelow(magnitude, kFloatMantissaMask + 1),
                           like(magnitude, kFloatMantissaMask >> 1),
                           like(magnitude, kFloatMantissaMask));
  Bits<Number> byte = (magnitude + up) >> kFloatMantissaBits;
  // The sum of NaN is 255 or 256.
  Bits<Number> limit = like(byte, uint32_t{kE8M0Nan});
  if (overflow == Overflow::Saturate)
    limit = select(isBelow(magnitude, kFloatInfinityBits + 1),
                   like(byte, uint32_t{kE8M0MaxFinite}), limit);
  return minUnsigned(byte, limit);
}

/// 1 / 2^(byte - 127), exactly; byte 254 gives a subnormal, 255 NaN.
template <typename Word>
constexpr Number<Word> decodeE8M0ReciprocalBits(Word byte) {
  Word bits = (like(byte, 254u) - byte) << kFloatMantissaBits;
  bits = select(isEqual(byte, 254u), like(bits, kE8M0SmallestBits), bits);
  bits = select(isEqual(byte, uint32_t{kE8M0Nan}), like(bits, kFloatNanBits),
                bits);
  return fromBits(bits);
}
constexpr float decodeE8M0Reciprocal(uint8_t byte) {
  return decodeE8M0ReciprocalBits(uint32_t{byte});
}

//===----------------------------------------------------------------------===//
// Scales and bf16
//===----------------------------------------------------------------------===//

/// The value of a scale byte.
template <typename Word>
constexpr Number<Word> decodeScaleBits(ScaleFormat format, Word byte) {
  return format == ScaleFormat::E8M0 ? decodeE8M0Bits(byte)
                                     : decodeBits(ElementFormat::E4M3, byte);
}
/// The value of a scale byte, with decodeByProduct for E4M3.
template <typename Word>
constexpr Number<Word> decodeScaleByProduct(ScaleFormat format, Word byte) {
  return format == ScaleFormat::E8M0
             ? decodeE8M0Bits(byte)
             : decodeByProduct(ElementFormat::E4M3, byte);
}
constexpr float decodeScale(ScaleFormat format, uint8_t byte) {
  return decodeScaleBits(format, uint32_t{byte});
}

constexpr bool isNanScale(ScaleFormat format, uint8_t byte) {
  return isNan(decodeScale(format, byte));
}

/// Whether a scale byte is a negative number. Scales are not: only E4M3 has a
/// sign bit, and on NaN it means nothing.
constexpr bool isNegativeScale(ScaleFormat format, uint8_t byte) {
  return format == ScaleFormat::E4M3 && (byte & 0x80) &&
         !isNanScale(format, byte);
}

constexpr float decodeBF16(uint16_t code) {
  return fromBits(static_cast<uint32_t>(code) << 16);
}

/// Nearest bf16, ties to even, in the low 16 bits. NaN gives 0x7FC0, sign
/// dropped.
template <typename Number>
constexpr Bits<Number> encodeBF16Bits(Number x) {
  Bits<Number> bits =
      select(isNan(x), like(toBits(x), kFloatNanBits), toBits(x));
  return (bits + 0x7FFFu + ((bits >> 16) & 1u)) >> 16;
}
constexpr uint16_t encodeBF16(float x) {
  return static_cast<uint16_t>(encodeBF16Bits(x));
}

/// Nearest f16, ties to even, in the low 16 bits; overflow gives infinity, NaN
/// 0x7E00.
template <typename Number>
constexpr Bits<Number> encodeF16Bits(Number x) {
  constexpr uint32_t kInfinity = 0x7C00, kNan = 0x7E00;
  Bits<Number> sign = getSign(x, 15, NegativeZero::Keep);
  Bits<Number> magnitude = toBits(x) & kFloatMagnitudeMask;
  Bits<Number> limited = minUnsigned(
      magnitude, like(magnitude, kF16Fields.getMagnitudeBits(kInfinity)));
  Bits<Number> encoded = select(
      isNan(x), like(magnitude, kF16Fields.getMagnitudeBits(kNan)), limited);
  return encodeMagnitude(kF16Fields, fromBits(encoded)) | sign;
}

template <typename Word>
constexpr Number<Word> decodeF16Bits(Word code) {
  Word sign = (code & 0x8000u) << 16;
  return fromBits(
      decodeIEEEMagnitude(kF16Fields, Word(code & 0x7FFFu), 0x7C00) | sign);
}

/// The value of an IEEE binary16, which f32 has exactly.
constexpr float decodeF16(uint16_t code) {
  return decodeF16Bits(uint32_t{code});
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_CODEC_H

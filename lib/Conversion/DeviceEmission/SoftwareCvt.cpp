//===- SoftwareCvt.cpp - Conversions without cvt --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftwareCvt.h"
#include "DeviceCodec.h"
#include "Emission/Lanes.h"
#include "blockscale/Numerics/Rounding.h"
#include "blockscale/Numerics/StochasticRounding.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;
using numerics::ElementFormat;
using numerics::FormatInfo;

/// Shift that takes the lowest exponent bit of an f32 to the lowest exponent
/// bit of the format.
static int getShift(const FormatInfo &info) {
  return numerics::kFloatMantissaBits - info.mantissaBits;
}

/// The factor that turns a power of two into the number whose last place is the
/// spacing of the format's codes above the power, and whose low bits are such
/// that `emitCode` ends with the code.
static float getAnchor(const FormatInfo &info) {
  int shift = getShift(info);
  int minExponent = 1 - info.bias;
  uint32_t codes = 1u << info.bits;
  uint32_t below =
      static_cast<uint32_t>(numerics::kFloatBias + shift + minExponent)
      << info.mantissaBits;
  uint32_t lowBits = (0u - below) % codes;
  return numerics::powerOfTwo(shift) +
         static_cast<float>(lowBits) * numerics::powerOfTwo(-info.mantissaBits);
}

/// The code of |x| in the low bits; the bit above the magnitude is set for NaN
/// alone, whose magnitude bits are all set but the lowest, in formats that have
/// it. Bits further up are undefined.
///
/// With p the power of two of |x|, but at least the smallest normal value, the
/// sum |x| + p * anchor rounds to a multiple of the spacing of codes, ties to
/// even. Its low bits count the spacings in |x|; moving its exponent down to
/// the format's adds the codes below p.
static Lanes emitCode(KernelBuilder &b, const FormatInfo &info, Value x) {
  Lanes magnitude = b.abs(x);
  // NaN stays and becomes 0x7FFFFFFF in the sum, or becomes the limit.
  Lanes limit = b.f32(info.maxFinite);
  Value limited =
      info.hasNan ? arith::MinimumFOp::create(b, magnitude, limit).getResult()
                  : b.minNum(magnitude, limit);
  Lanes power = b.maxNum(limited, b.f32(numerics::powerOfTwo(1 - info.bias)));
  power = b.toFloat(b.toBits(power) & numerics::kFloatInfinityBits);
  // The product is exact, so that the two may be fused.
  auto contract = arith::FastMathFlags::contract;
  Value product =
      arith::MulFOp::create(b, power, b.f32(getAnchor(info)), contract);
  Lanes sum = b.toBits(arith::AddFOp::create(b, product, limited, contract));
  Lanes exponent = sum >> getShift(info);
  return sum + exponent;
}

/// `pattern` in each field of `bits` bits of a word.
static uint32_t repeat(uint32_t pattern, int bits) {
  uint32_t word = 0;
  for (int at = 0; at < 32; at += bits)
    word |= pattern << at;
  return word;
}

/// Codes of consecutive elements in the low bits of an i32, zeros above. Each
/// is in a field of the bits that memory has for it.
static Lanes emitCodes(KernelBuilder &b, ElementFormat format,
                       ValueRange elements) {
  const FormatInfo &info = numerics::getFormatInfo(format);
  int bits = info.storageBits;
  Lanes width = b.i32(bits);
  Lanes codes = b.i32(0), signs = b.i32(0);
  // Codes come from low bits and are shifted in from the top, signs come from
  // the top and are shifted in from below.
  for (Value x : elements)
    codes = {b, LLVM::FshrOp::create(b, emitCode(b, info, x), codes, width)};
  for (Value x : llvm::reverse(elements))
    signs = {b, LLVM::FshlOp::create(b, signs, b.toBits(x), width)};
  int unused = 32 - static_cast<int>(elements.size()) * bits;
  if (unused != 0)
    codes = codes >> unused;

  if (info.hasNan) {
    Lanes nan = codes >> (info.bits - 1);
    nan = nan & repeat(1, bits);
    codes = codes | nan;
  }
  uint32_t signMask = repeat(1u << (info.bits - 1), bits);
  if (bits != info.bits) {
    // Above a code are undefined bits; a sign is on top of its field.
    codes = codes & repeat((1u << info.bits) - 1, bits);
    signs = signs >> (bits - info.bits);
  }
  signs = signs & signMask;
  if (info.hasNan) {
    // It has no sign.
    Lanes others = codes ^ codes.like(~0u);
    signs = signs & others;
  }
  codes = codes & ~signMask;
  return codes | signs;
}

/// Eight E2M1 codes in a word, given for each element, the last one first, the
/// code of its magnitude plus `base`.
static Lanes
packE2M1Word(KernelBuilder &b, ValueRange elements, uint32_t base,
             function_ref<Lanes(int64_t number, Value element)> getSum) {
  int bits = numerics::getFormatInfo(ElementFormat::E2M1).bits;
  Lanes codes = b.i32(0), signs = b.i32(0);
  for (size_t i = elements.size(); i-- > 0;) {
    Value x = elements[i];
    Lanes sum = getSum(static_cast<int64_t>(i), x);
    codes = codes * (1u << bits);
    codes = codes + sum;
    signs = {b, LLVM::FshlOp::create(b, signs, b.toBits(x), b.i32(bits))};
  }
  // What the sums have besides codes is a constant, which is taken off.
  codes = codes - base * repeat(1, bits);
  signs = signs & repeat(1u << (bits - 1), bits);
  return codes | signs;
}

/// Eight E2M1 codes in a word, computed as by `addE2M1Code` (numerics).
static Lanes emitE2M1Codes(KernelBuilder &b, ValueRange elements) {
  const FormatInfo &info = numerics::getFormatInfo(ElementFormat::E2M1);
  auto contract = arith::FastMathFlags::contract;
  auto add = [&](Value x, float offset) {
    return b.toBits(arith::AddFOp::create(b, x, b.f32(offset), contract));
  };
  return packE2M1Word(b, elements, numerics::kE2M1Base, [&](int64_t, Value x) {
    Value magnitude = b.abs(x);
    // The product is exact, so that it may be fused with the sum.
    Value half = arith::MulFOp::create(b, magnitude, b.f32(0.5f), contract);
    Lanes code = minUnsigned(add(magnitude, 0x1p23f - 2), add(half, 0x1p23f));
    return minUnsigned(code, b.i32(numerics::kE2M1Base + info.nanCode));
  });
}

/// Codes of a fixed-point format in a word.
static Lanes emitFixedPointCodes(KernelBuilder &b, ElementFormat format,
                                 ValueRange elements) {
  Lanes codes = b.i32(0);
  int bits = numerics::getFormatInfo(format).storageBits;
  for (auto [i, x] : llvm::enumerate(elements))
    codes = codes | numerics::encodeBits(format, Lanes(b, x))
                        << (static_cast<int>(i) * bits);
  return codes;
}

Lanes SoftwareCvtEmitter::encodeWord(KernelBuilder &b, ElementFormat format,
                                     ValueRange elements) {
  if (format == ElementFormat::E2M1)
    return emitE2M1Codes(b, elements);
  return numerics::isFixedPoint(format)
             ? emitFixedPointCodes(b, format, elements)
             : emitCodes(b, format, elements);
}

Lanes SoftwareCvtEmitter::encodeStochasticWord(KernelBuilder &b,
                                               ValueRange elements,
                                               ValueRange randomWords) {
  return packE2M1Word(
      b, elements, numerics::kStochasticBase, [&](int64_t number, Value x) {
        return emitStochasticSum(b, Lanes(b, x), randomWords, number) >>
               numerics::kStochasticCodeBit;
      });
}

Lanes SoftwareCvtEmitter::encodeE4M3Pair(KernelBuilder &b, Lanes low,
                                         Lanes high) {
  return truncate(emitCodes(b, ElementFormat::E4M3, {low, high}), 16);
}

/// A bf16 is the high half of its f32.
std::pair<Lanes, Lanes> SoftwareCvtEmitter::widenBF16Pair(KernelBuilder &b,
                                                          Lanes word) {
  Lanes low = word << 16;
  Lanes high = word & 0xFFFF0000u;
  return {b.toFloat(low), b.toFloat(high)};
}

std::pair<Lanes, Lanes> SoftwareCvtEmitter::decodeE4M3Pair(KernelBuilder &b,
                                                           Lanes codes) {
  Lanes low = b.zext32(codes);
  return {numerics::decodeByProduct(ElementFormat::E4M3, low),
          numerics::decodeByProduct(ElementFormat::E4M3, low >> 8)};
}

/// Two values and their codes of E4M3, computed as by `roundToE4M3` (numerics).
CvtEmitter::RoundedPair
SoftwareCvtEmitter::roundE4M3Pair(KernelBuilder &b, Lanes low, Lanes high) {
  const FormatInfo &info = numerics::getFormatInfo(ElementFormat::E4M3);
  int shift = getShift(info);
  float power = numerics::powerOfTwo(shift);
  auto round = [&](Lanes number) {
    Lanes x = minKeepNan(number, info.maxFinite);
    Lanes moved = b.fma(x, b.f32(-power), x);
    return b.fma(x, b.f32(power), moved);
  };
  // The bits of NaN are all set, whose code is the largest.
  auto getCode = [&](Lanes rounded) {
    Lanes code = b.toBits(rounded) >> shift;
    uint32_t rebias = (numerics::kFloatBias - info.bias) << info.mantissaBits;
    code = code - rebias;
    return minUnsigned(code, b.i32(info.nanCode));
  };
  Lanes first = round(low), second = round(high);
  Lanes codes = getCode(second) << 8;
  codes = codes | getCode(first);
  codes = truncate(codes, 16);
  return {codes, first, second};
}

Lanes SoftwareCvtEmitter::reduceMagnitudes(KernelBuilder &b, ValueRange pairs) {
  auto magnitudes = llvm::map_to_vector(
      pairs, [&](Value pair) -> Value { return b.abs(pair); });
  return {b, reduceInTree(magnitudes, [&](Value lhs, Value rhs) -> Value {
            return arith::MaximumFOp::create(b, lhs, rhs);
          })};
}

Lanes SoftwareCvtEmitter::encodeE8M0RoundUpPair(KernelBuilder &b, Lanes low,
                                                Lanes high,
                                                numerics::Overflow overflow) {
  Lanes lowByte = numerics::encodeE8M0RoundUp(low, overflow);
  Lanes highByte = numerics::encodeE8M0RoundUp(high, overflow);
  return truncate(lowByte | highByte << 8, 16);
}

} // namespace blockscale

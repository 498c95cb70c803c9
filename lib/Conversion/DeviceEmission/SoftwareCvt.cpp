//===- SoftwareCvt.cpp - Conversions without cvt --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SoftwareCvt.h"
#include "Emission/Lanes.h"
#include "blockscale/Numerics/Philox.h"
#include "blockscale/Numerics/Rounding.h"
#include "blockscale/Numerics/StochasticRounding.h"

using namespace mlir;

namespace blockscale {

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
static Value emitCode(KernelBuilder &b, const FormatInfo &info, Value x) {
  Value magnitude = b.abs(x);
  // NaN stays and becomes 0x7FFFFFFF in the sum, or becomes the limit.
  Value limit = b.f32(info.maxFinite);
  Value limited =
      info.hasNan ? arith::MinimumFOp::create(b, magnitude, limit).getResult()
                  : b.minNum(magnitude, limit);
  Value power = b.maxNum(limited, b.f32(numerics::powerOfTwo(1 - info.bias)));
  power = b.toFloat(arith::AndIOp::create(b, b.toBits(power),
                                          b.i32(numerics::kFloatInfinityBits)));
  // The product is exact, so that the two may be fused.
  auto contract = arith::FastMathFlags::contract;
  Value product =
      arith::MulFOp::create(b, power, b.f32(getAnchor(info)), contract);
  Value sum = b.toBits(arith::AddFOp::create(b, product, limited, contract));
  Value exponent = arith::ShRUIOp::create(b, sum, b.i32(getShift(info)));
  return arith::AddIOp::create(b, sum, exponent);
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
static Value emitCodes(KernelBuilder &b, ElementFormat format,
                       ValueRange elements) {
  const FormatInfo &info = numerics::getFormatInfo(format);
  int bits = info.storageBits;
  Value width = b.i32(bits);
  Value codes = b.i32(0), signs = b.i32(0);
  // Codes come from low bits and are shifted in from the top, signs come from
  // the top and are shifted in from below.
  for (Value x : elements)
    codes = LLVM::FshrOp::create(b, emitCode(b, info, x), codes, width);
  for (Value x : llvm::reverse(elements))
    signs = LLVM::FshlOp::create(b, signs, b.toBits(x), width);
  int unused = 32 - static_cast<int>(elements.size()) * bits;
  if (unused != 0)
    codes = arith::ShRUIOp::create(b, codes, b.i32(unused));

  if (info.hasNan) {
    Value nan = arith::ShRUIOp::create(b, codes, b.i32(info.bits - 1));
    nan = arith::AndIOp::create(b, nan, b.i32(repeat(1, bits)));
    codes = arith::OrIOp::create(b, codes, nan);
  }
  uint32_t signMask = repeat(1u << (info.bits - 1), bits);
  if (bits != info.bits) {
    // Above a code are undefined bits; a sign is on top of its field.
    codes = arith::AndIOp::create(b, codes,
                                  b.i32(repeat((1u << info.bits) - 1, bits)));
    signs = arith::ShRUIOp::create(b, signs, b.i32(bits - info.bits));
  }
  signs = arith::AndIOp::create(b, signs, b.i32(signMask));
  if (info.hasNan) {
    // It has no sign.
    Value others = arith::XOrIOp::create(b, codes, b.i32(~0u));
    signs = arith::AndIOp::create(b, signs, others);
  }
  codes = arith::AndIOp::create(b, codes, b.i32(~signMask));
  return arith::OrIOp::create(b, codes, signs);
}

/// Eight E2M1 codes in a word, computed as by `addE2M1Code` (numerics).
static Value emitE2M1Codes(KernelBuilder &b, ValueRange elements) {
  const FormatInfo &info = numerics::getFormatInfo(ElementFormat::E2M1);
  auto contract = arith::FastMathFlags::contract;
  auto add = [&](Value x, float offset) -> Value {
    return b.toBits(arith::AddFOp::create(b, x, b.f32(offset), contract));
  };
  Value codes = b.i32(0), signs = b.i32(0);
  for (Value x : llvm::reverse(elements)) {
    Value magnitude = b.abs(x);
    // The product is exact, so that it may be fused with the sum.
    Value half = arith::MulFOp::create(b, magnitude, b.f32(0.5f), contract);
    Value code = arith::MinUIOp::create(b, add(magnitude, 0x1p23f - 2),
                                        add(half, 0x1p23f));
    code = arith::MinUIOp::create(b, code,
                                  b.i32(numerics::kE2M1Base + info.nanCode));
    codes = arith::MulIOp::create(b, codes, b.i32(1u << info.bits));
    codes = arith::AddIOp::create(b, codes, code);
    signs = LLVM::FshlOp::create(b, signs, b.toBits(x), b.i32(info.bits));
  }
  // The bits besides codes sum up to a constant, which is taken off.
  uint32_t surplus = numerics::kE2M1Base * repeat(1, info.bits);
  codes = arith::SubIOp::create(b, codes, b.i32(surplus));
  signs = arith::AndIOp::create(b, signs, b.i32(repeat(8, info.bits)));
  return arith::OrIOp::create(b, codes, signs);
}

/// Codes of a fixed-point format in a word.
static Value emitFixedPointCodes(KernelBuilder &b, ElementFormat format,
                                 ValueRange elements) {
  emit::Lanes codes(b, b.i32(0));
  int bits = numerics::getFormatInfo(format).storageBits;
  for (auto [i, x] : llvm::enumerate(elements))
    codes = codes | numerics::encodeBits(format, emit::Lanes(b, x))
                        << static_cast<int>(i) * bits;
  return codes;
}

Value SoftwareCvtEmitter::encodeWord(KernelBuilder &b, ElementFormat format,
                                     ValueRange elements) {
  if (format == ElementFormat::E2M1)
    return emitE2M1Codes(b, elements);
  return numerics::isFixedPoint(format)
             ? emitFixedPointCodes(b, format, elements)
             : emitCodes(b, format, elements);
}

Value SoftwareCvtEmitter::encodeStochasticWord(KernelBuilder &b,
                                               ValueRange elements,
                                               ValueRange randomWords) {
  using numerics::kRandomWordElements;
  emit::Lanes codes(b, b.i32(0));
  for (auto [i, element] : llvm::enumerate(elements)) {
    emit::Lanes word(b, randomWords[i / kRandomWordElements]);
    int byte = numerics::getRandomByteNumber(i % kRandomWordElements);
    emit::Lanes code = numerics::encodeE2M1StochasticBits(
        emit::Lanes(b, element), (word >> 8 * byte) & 0xFF);
    codes = codes | code << 4 * i;
  }
  return codes;
}

Value SoftwareCvtEmitter::encodeE4M3Pair(KernelBuilder &b, Value low,
                                         Value high) {
  Value codes = emitCodes(b, ElementFormat::E4M3, {low, high});
  return arith::TruncIOp::create(b, b.getI16Type(), codes);
}

/// A bf16 is the high half of its f32.
std::pair<Value, Value> SoftwareCvtEmitter::widenBF16Pair(KernelBuilder &b,
                                                          Value word) {
  Value low = arith::ShLIOp::create(b, word, b.i32(16));
  Value high = arith::AndIOp::create(b, word, b.i32(0xFFFF0000u));
  return {b.toFloat(low), b.toFloat(high)};
}

std::pair<Value, Value> SoftwareCvtEmitter::decodeE4M3Pair(KernelBuilder &b,
                                                           Value codes) {
  emit::Lanes low(b, b.zext32(codes));
  return {numerics::decodeByProduct(ElementFormat::E4M3, low),
          numerics::decodeByProduct(ElementFormat::E4M3, low >> 8)};
}

/// Two values and their codes of E4M3, computed as by `roundToE4M3` (numerics).
CvtEmitter::RoundedPair
SoftwareCvtEmitter::roundE4M3Pair(KernelBuilder &b, Value low, Value high) {
  const FormatInfo &info = numerics::getFormatInfo(ElementFormat::E4M3);
  int shift = getShift(info);
  float power = numerics::powerOfTwo(shift);
  auto round = [&](Value x) -> Value {
    x = arith::MinimumFOp::create(b, x, b.f32(info.maxFinite));
    Value moved = b.fma(x, b.f32(-power), x);
    return b.fma(x, b.f32(power), moved);
  };
  // The bits of NaN are all set, whose code is the largest.
  auto getCode = [&](Value rounded) -> Value {
    Value code = arith::ShRUIOp::create(b, b.toBits(rounded), b.i32(shift));
    uint32_t rebias = (numerics::kFloatBias - info.bias) << info.mantissaBits;
    code = arith::SubIOp::create(b, code, b.i32(rebias));
    return arith::MinUIOp::create(b, code, b.i32(info.nanCode));
  };
  Value first = round(low), second = round(high);
  Value codes = arith::ShLIOp::create(b, getCode(second), b.i32(8));
  codes = arith::OrIOp::create(b, codes, getCode(first));
  codes = arith::TruncIOp::create(b, b.getI16Type(), codes);
  return {codes, first, second};
}

Value SoftwareCvtEmitter::reduceMagnitudes(KernelBuilder &b, ValueRange pairs) {
  auto magnitudes =
      llvm::map_to_vector(pairs, [&](Value pair) { return b.abs(pair); });
  return reduceInTree(magnitudes, [&](Value lhs, Value rhs) -> Value {
    return arith::MaximumFOp::create(b, lhs, rhs);
  });
}

Value SoftwareCvtEmitter::encodeE8M0RoundUpPair(KernelBuilder &b, Value low,
                                                Value high,
                                                numerics::Overflow overflow) {
  emit::Lanes lowByte =
      numerics::encodeE8M0RoundUp(emit::Lanes(b, low), overflow);
  emit::Lanes highByte =
      numerics::encodeE8M0RoundUp(emit::Lanes(b, high), overflow);
  return truncate(lowByte | highByte << 8, 16);
}

} // namespace blockscale

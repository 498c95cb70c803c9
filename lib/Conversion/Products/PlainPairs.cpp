//===- PlainPairs.cpp - Codes as pairs of bf16 or f16 ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainPairs.h"

#include "blockscale/Numerics/Dequantize.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

#include <cmath>

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using numerics::CodeFields;
using numerics::ElementFormat;
using numerics::FormatInfo;
using numerics::getFormatInfo;

static constexpr uint32_t kSign = 0x8000;
/// Bits of the exponent and the mantissa of a plain type, and of a byte's code.
static constexpr int kMagnitudeBits = 15;
static constexpr int kByteMagnitudeBits = 7;
static constexpr CodeFields kBF16Fields = {7, numerics::kFloatBias};

/// The largest number of E4M3 is 1.75 times a power of two, and NaN looks like
/// 1.875 times that. This times the former is below two, and times the latter
/// above.
static constexpr double kE4M3Overflow = 1.125;

SmallVector<CodePair> getCodePairs(ElementFormat format, Lanes word) {
  const FormatInfo &info = getFormatInfo(format);
  SmallVector<CodePair> pairs;
  if (info.storageBits < 8) {
    Lanes even = word << info.storageBits;
    for (int i = 0; i < kWordBytes; ++i)
      pairs.push_back({even, i, word, i});
    return pairs;
  }
  Lanes codes = info.bits < 8 ? word << (8 - info.bits) : word;
  for (int i = 0; i < kWordBytes; i += 2)
    pairs.push_back({codes, i, codes, i + 1});
  return pairs;
}

PlainPairs::PlainPairs(KernelBuilder &b, Type plain)
    : b(b), type(VectorType::get({2}, plain)),
      plain(plain.isBF16() ? kBF16Fields : numerics::kF16Fields) {}

Value PlainPairs::emitConstant(double value) {
  auto element = cast<FloatType>(type.getElementType());
  llvm::APFloat each(value);
  bool losesInfo = false;
  each.convert(element.getFloatSemantics(), llvm::APFloat::rmNearestTiesToEven,
               &losesInfo);
  auto bits = static_cast<uint32_t>(each.bitcastToAPInt().getZExtValue());
  return b.bitcast(type, b.i32(twice(bits)));
}

/// sm_80 has no multiplication of bf16, but one with a sum: that with -0 is the
/// product, whatever its sign.
Value PlainPairs::multiply(Value x, Value y) {
  if (!type.getElementType().isBF16())
    return arith::MulFOp::create(b, x, y);
  return b.fma(x, y, emitConstant(-0.0));
}

Value PlainPairs::round(Value low, Value high) {
  StringRef name = type.getElementType().isBF16() ? "llvm.nvvm.ff2bf16x2.rn"
                                                  : "llvm.nvvm.ff2f16x2.rn";
  return LLVM::CallIntrinsicOp::create(b, type, b.getStringAttr(name),
                                       ValueRange{high, low})
      .getResult(0);
}

std::pair<Lanes, Lanes> PlainPairs::widen(Value pair) {
  if (type.getElementType().isBF16()) {
    // The upper half of an f32.
    Lanes bits = b.toBits(pair);
    return {b.toFloat(bits << 16), b.toFloat(bits & 0xFFFF0000)};
  }
  auto extend = [&](int64_t i) {
    return Lanes(b,
                 LLVM::FPExtOp::create(b, b.getF32Type(), b.extract(pair, i)));
  };
  return {extend(0), extend(1)};
}

Lanes PlainPairs::getBlockFactor(Lanes scale, Value global) {
  return numerics::getBlockFactor(numerics::kProductRecipe, scale,
                                  Lanes(b, global));
}

Value PlainPairs::dequantize(Value pair, Lanes factor) {
  auto multiply = [&](Lanes element) {
    return numerics::dequantizeValue(numerics::kProductRecipe, element, factor,
                                     element.like(1.0f));
  };
  auto [low, high] = widen(pair);
  return round(multiply(low), multiply(high));
}

PlainPairs::SplitPair PlainPairs::splitFactors(Lanes low, Lanes high) {
  Lanes main(b, round(low, high));
  Lanes part(b, round(low * numerics::kSplitPart, high * numerics::kSplitPart));
  return numerics::splitFactor(
      main, part, [&](Lanes x, Lanes y, Lanes z) { return b.fma(x, y, z); });
}

Value PlainPairs::multiplySplit(Value pair, const SplitPair &factor) {
  return numerics::multiplySplit(
      Lanes(b, pair), factor,
      [&](Lanes x, Lanes y, Lanes z) { return b.fma(x, y, z); });
}

int PlainPairs::getBiasDistance(ElementFormat format) const {
  return plain.bias - getFormatInfo(format).bias;
}

Lanes PlainPairs::spread(const CodePair &codes) {
  // PTX ISA, "prmt": the lower three bits of a place are the number of a byte
  // of both words, and the fourth one stands for the sign of that byte.
  auto place = [](int64_t byte) { return byte | (byte | 8) << 4; };
  Lanes selector(
      b, b.i32(place(codes.lowByte) | place(codes.highByte + kWordBytes) << 8));
  if (codes.moreBytes)
    selector = selector + codes.moreBytes * 0x1111;
  return {b,
          b.callIntrinsic("llvm.nvvm.prmt", {codes.low, codes.high, selector})};
}

/// The fields of codes in those of the plain type. One of the many signs is at
/// its place, too.
///
///   spread        SSSSSSSS Seeeemmm     (E4M3)
///   bf16          S0000eee emmm0000     (moved by four)
Lanes PlainPairs::moveFields(ElementFormat format, const CodePair &codes) {
  const FormatInfo &info = getFormatInfo(format);
  // Mantissas begin below the sign and the exponent.
  int shift = plain.mantissaBits - (kByteMagnitudeBits - info.exponentBits);
  uint32_t magnitude = (1u << (info.exponentBits + info.mantissaBits)) - 1;
  uint32_t mask = kSign | magnitude << (plain.mantissaBits - info.mantissaBits);
  return (spread(codes) << shift) & twice(mask);
}

Value PlainPairs::decodeFields(ElementFormat format, const CodePair &codes) {
  return b.bitcast(type, moveFields(format, codes));
}

/// A code of m bits behind the point is a number of units of 2^-m. The plain
/// type's mantissa has p bits, so that the last place of 2^p is 1. The lower
/// seven bits of a code there make it larger by 2^p, and the eighth one counts
/// -128. So 2^p or 2^p + 128 is subtracted, in units. The bits of both differ
/// in the eighth one alone: in f16 it is one of the mantissa, and in bf16 it
/// doubles 2^7.
Value PlainPairs::decodeFixedPoint(const CodePair &codes) {
  constexpr uint32_t lower = 0x7F, eighth = 0x80;
  int units = getFormatInfo(ElementFormat::INT8).mantissaBits;
  auto getPower = [&](int exponent) {
    return static_cast<uint32_t>(plain.bias + exponent) << plain.mantissaBits;
  };
  Lanes both = spread(codes);
  Lanes above = (both & twice(lower)) | twice(getPower(plain.mantissaBits));
  Lanes begin = (both & twice(eighth)) |
                twice(kSign | getPower(plain.mantissaBits - units));
  return b.fma(b.bitcast(type, above), emitConstant(std::ldexp(1.0, -units)),
               b.bitcast(type, begin));
}

Value PlainPairs::decode(ElementFormat format, const CodePair &codes,
                         int exponent) {
  if (numerics::isFixedPoint(format))
    return decodeFixedPoint(codes);
  const FormatInfo &info = getFormatInfo(format);
  Lanes bits = moveFields(format, codes);
  if (info.hasInfinity) {
    // Where all bits of a code's exponent are set, a sum carries into the bit
    // above them, and those of the plain type that are left are set, too.
    int end = plain.mantissaBits + info.exponentBits;
    Lanes carry = (bits + twice(1u << plain.mantissaBits)) & twice(1u << end);
    bits = bits | carry * ((1 << (kMagnitudeBits - end)) - 1);
  }
  Value value = b.bitcast(type, bits);
  // The plain type has powers of two up to its bias.
  for (int left = getBiasDistance(format) + exponent; left > 0;) {
    int factor = left > plain.bias ? left / 2 : left;
    value = multiply(value, emitConstant(std::ldexp(1.0, factor)));
    left -= factor;
  }
  if (!info.hasNan || info.hasInfinity)
    return value;
  // NaN has become the next number after the largest one. Times this, only NaN
  // is no number of the plain type any more. Infinity times zero is NaN; of
  // numbers, the sum with zero is the value.
  double overflow =
      std::ldexp(kE4M3Overflow, plain.bias - info.maxExponent - exponent);
  Value large = multiply(value, emitConstant(overflow));
  return b.fma(large, emitConstant(0), value);
}

/// Two bytes, each as 16 bits of a word.
static Lanes widenBytes(Lanes bytes) {
  Lanes wide = extend(bytes, 32);
  return (wide | (wide << 8)) & 0x00FF00FF;
}

Value PlainPairs::emitWholeFactors(numerics::ElementFormat format,
                                   Lanes scales) {
  // Exponents of bf16 have the bias of E8M0, and are above seven bits.
  Lanes exponents = widenBytes(scales) + twice(getBiasDistance(format));
  return b.bitcast(type, exponents << 7);
}

Value PlainPairs::hasLargeScale(numerics::ElementFormat format,
                                ArrayRef<Lanes> scales) {
  // The largest byte whose factor is finite: exponent 254. What is above it
  // carries into the highest bit of its half.
  int largest = 254 - getBiasDistance(format);
  Lanes carries = scales.front().like(0);
  for (auto [i, bytes] : llvm::enumerate(scales)) {
    Lanes each = widenBytes(bytes) + twice(0x7FFF - largest);
    carries = i ? carries | each : each;
  }
  return hasHighestBit(carries);
}

Value PlainPairs::hasScaleOutside(Lanes scales, int least, int most) {
  // What is above, and what is not below, carries into the highest bit of its
  // half.
  Lanes bytes = widenBytes(scales);
  Lanes above = bytes + twice(0x7FFF - most);
  Lanes below = (bytes + twice(0x8000 - least)) ^ twice(0x8000);
  return hasHighestBit(above | below);
}

Value PlainPairs::hasHighestBit(Lanes halves) {
  Value isSet = compare(arith::CmpIPredicate::ne, halves & twice(0x8000), 0);
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), b.i32(kAllLanes), isSet,
                                  NVVM::VoteSyncKind::any);
}

} // namespace blockscale::products

//===- DeviceCodec.cpp - Codes of narrow formats in kernels ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceCodec.h"
#include "blockscale/Numerics/Philox.h"
#include "blockscale/Numerics/StochasticRounding.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static constexpr int64_t kVectorBytes = 16;
/// The exponents of two bf16.
static constexpr uint32_t kPairExponents = 0x7F807F80;

SmallVector<Lanes> emitLoadCodes(KernelBuilder &b, Value address, int64_t count,
                                 int64_t bits) {
  int64_t bytes = count * bits / 8;
  SmallVector<Lanes> words, codes;
  if (bytes >= 4) {
    words = emitLoadWords(b, address, bytes, kVectorBytes);
  } else {
    Lanes loaded = b.load(b.getIntegerType(bytes * 8), address, bytes);
    words.push_back(extend(loaded, 32));
  }
  for (int64_t at = 0; at < count * bits; at += bits)
    codes.push_back((words[at / 32] >> (at % 32)) & ((1u << bits) - 1));
  return codes;
}

void emitStoreRounded(KernelBuilder &b, ArrayRef<Lanes> values, Type type,
                      Value address) {
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8;
  size_t count = std::min<int64_t>(values.size(), kVectorBytes / elementBytes);
  for (size_t i = 0; i < values.size(); i += count) {
    SmallVector<Value> part;
    for (Lanes value : values.slice(i, count))
      part.push_back(type.isF32() ? Value(value)
                                  : arith::TruncFOp::create(b, type, value));
    Value place = b.offset(address, b.getI8Type(), b.i64(i * elementBytes));
    b.store(b.pack(part), place, count * elementBytes);
  }
}

/// With p the power of two of x, but at least the smallest normal number of the
/// format, the last place of x + p * anchor is the spacing of the numbers that
/// x is rounded to. Products with powers of two are exact, so that a
/// multiply-add rounds a sum.
Lanes emitRoundTo(KernelBuilder &b, numerics::ElementFormat format, Lanes x) {
  const numerics::FormatInfo &info = numerics::getFormatInfo(format);
  bool isPair = x.getElementType().isBF16();
  int kept = cast<FloatType>(x.getElementType()).getFPMantissaWidth() - 1;
  float anchor = 1.5f * numerics::powerOfTwo(kept - info.mantissaBits);
  Lanes power = isPair ? b.bitcast(x.getType(), b.toBits(x) & kPairExponents)
                       : toF32(toBits(x) & numerics::kFloatInfinityBits);
  power = b.maxNum(power, power.like(numerics::powerOfTwo(1 - info.bias)));
  Lanes moved = b.fma(power, x.like(anchor), x);
  return b.fma(power, x.like(-anchor), moved);
}

Lanes emitStochasticSum(KernelBuilder &b, Lanes x, ValueRange randomWords,
                        int64_t number) {
  using numerics::kRandomWordElements;
  Lanes word(b, randomWords[number / kRandomWordElements]);
  int byte = numerics::getRandomByteNumber(
      static_cast<int>(number % kRandomWordElements));
  Lanes magnitude = b.minNum(b.abs(x), b.f32(numerics::kE2M1Max));
  Lanes half = b.f32(0.5f);
  Lanes moved = b.callIntrinsic("llvm.nvvm.fma.rz.f", {magnitude, half, half});
  return numerics::getStochasticSum(magnitude, moved,
                                    (word >> (8 * byte)) & 0xFF);
}

/// Below 1 the bits are those of half of 1 more.
Lanes emitStochasticMagnitude(KernelBuilder &b, Lanes sum) {
  Lanes rounded = b.toFloat(sum & ~((1u << numerics::kStochasticCodeBit) - 1));
  return b.minNum(rounded, b.fma(rounded, b.f32(2.0f), b.f32(-1.0f)));
}

} // namespace blockscale

//===- BlockDecoding.cpp - Values of codes in registers -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockDecoding.h"
#include "DeviceCodec.h"
#include "Emission/GlobalFactors.h"
#include "Emission/KernelOperands.h"
#include "blockscale/Numerics/Dequantize.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static constexpr int64_t kWordBits = 32;
/// The signs of two bf16.
static constexpr uint32_t kPairSigns = 0x80008000;

BlockDecoding::BlockDecoding(DequantizeOp op)
    : recipe(op.getArithmetic()), format(emit::getElementFormat(op.getData())),
      scaleFormat(emit::getScaleFormat(op.getScale())),
      global(op.getGlobalOperand().kind), blockElements(op.getBlockSize()),
      type(getElementTypeOrSelf(op.getResult())) {}

std::string BlockDecoding::getName() const {
  std::string name;
  llvm::raw_string_ostream(name) << "_decoded_" << type;
  return name;
}

/// The words that values of `type`, an even number of them, have in memory.
static SmallVector<Value> packRounded(KernelBuilder &b, ArrayRef<Lanes> values,
                                      Type type) {
  size_t count = kWordBits / type.getIntOrFloatBitWidth();
  SmallVector<Value> words;
  for (size_t i = 0; i < values.size(); i += count) {
    if (type.isF32()) {
      words.push_back(toBits(values[i]));
      continue;
    }
    SmallVector<Value> rounded;
    for (Lanes value : values.slice(i, count))
      rounded.push_back(arith::TruncFOp::create(b, type, value));
    Value word =
        b.bitcast(VectorType::get({1}, b.getI32Type()), b.pack(rounded));
    words.push_back(b.extract(word, 0));
  }
  return words;
}

Lanes BlockDecoding::getGlobalFactor(KernelBuilder &b,
                                     Value globalValue) const {
  return emit::emitGlobalFactors(b, recipe, global, globalValue).decode;
}

Lanes BlockDecoding::emitFactor(KernelBuilder &b, ArrayRef<Lanes> pairs,
                                int64_t block, Value globalValue) const {
  Lanes pair = extend(pairs[block / 2], kWordBits);
  Lanes byte = block % 2 == 0 ? pair & 0xFF : pair >> 8;
  return numerics::getBlockFactor(
      recipe, numerics::decodeScaleByProduct(scaleFormat, byte),
      getGlobalFactor(b, globalValue));
}

SmallVector<Value>
BlockDecoding::emitValues(KernelBuilder &b, ValueRange words,
                          function_ref<Lanes(int64_t)> getFactor,
                          Value globalValue) const {
  Lanes globalFactor = getGlobalFactor(b, globalValue);
  int64_t bits = numerics::getFormatInfo(format).storageBits;
  int64_t count = static_cast<int64_t>(words.size()) * kWordBits / bits;
  SmallVector<Lanes> values;
  for (int64_t i = 0; i < count; ++i) {
    int64_t bit = i * bits;
    Lanes word(b, words[bit / kWordBits]);
    Lanes code = (word >> (bit % kWordBits)) & ((1u << bits) - 1);
    values.push_back(numerics::dequantizeValue(
        recipe, numerics::decodeByProduct(format, code), getFactor(i),
        globalFactor));
  }
  return packRounded(b, values, type);
}

/// The magnitude of the number of the format that a scaled element (f32) is
/// rounded to. Where a NaN has no code it is the largest number; elsewhere the
/// factor is NaN, too.
Lanes BlockDecoding::emitMagnitude(KernelBuilder &b, Lanes scaled) const {
  float largest = numerics::getFormatInfo(format).maxFinite;
  return emitRoundTo(b, format, b.minNum(b.abs(scaled), b.f32(largest)));
}

/// NaN has no sign, as results of arithmetic.
SmallVector<Value>
BlockDecoding::emitRounded(KernelBuilder &b, ValueRange scaled,
                           function_ref<Lanes(int64_t)> getFactor,
                           Value globalValue, ValueRange randomWords) const {
  Lanes globalFactor = getGlobalFactor(b, globalValue);
  SmallVector<Lanes> values;
  for (auto [i, value] : llvm::enumerate(scaled)) {
    Lanes element(b, value);
    auto number = static_cast<int64_t>(i);
    Lanes magnitude =
        randomWords.empty()
            ? emitMagnitude(b, element)
            : emitStochasticMagnitude(
                  b, emitStochasticSum(b, element, randomWords, number));
    Lanes sign = b.toBits(element) & numerics::kFloatSignMask;
    values.push_back(
        numerics::dequantizeValue(recipe, b.toFloat(b.toBits(magnitude) | sign),
                                  getFactor(number), globalFactor));
  }
  return packRounded(b, values, type);
}

/// Scales of E8M0, and those of E4M3 without a global scale, are bf16 whose
/// products with numbers of their formats have 6 bits at most. Under a scale of
/// 0 a scaled element may be NaN, which has no sign.
bool BlockDecoding::roundsPairs(Type x) const {
  bool isExact = scalesPairs() || (global == GlobalKind::Absent &&
                                   numerics::getScaleFloor(recipe) > 0);
  return roundsElements() && x.isBF16() && type.isBF16() && isExact &&
         numerics::keepsNegativeZero(recipe);
}

/// The values of a pair of bf16 from what its elements were rounded to, whose
/// signs may be missing. A product that is below the normal numbers of bf16 is
/// rounded as it is from f32.
Lanes BlockDecoding::emitPair(KernelBuilder &b, Lanes word, Lanes rounded,
                              Lanes decode) const {
  Lanes bits = b.toBits(rounded) | (word & kPairSigns);
  return b.toBits(b.bitcast(decode.getType(), bits) * decode);
}

/// A product with a power of two that is too small for bf16 is far below what
/// formats round to 0, so that its own rounding is not seen.
Lanes BlockDecoding::emitRoundedPair(KernelBuilder &b, Lanes word, Lanes scale,
                                     Lanes decode) const {
  Lanes scaled = b.bitcast(scale.getType(), word) * scale;
  if (!numerics::leavesNoOverflow(recipe)) {
    float largest = numerics::getFormatInfo(format).maxFinite;
    scaled =
        b.maxNum(b.minNum(scaled, scaled.like(largest)), scaled.like(-largest));
  }
  return emitPair(b, word, emitRoundTo(b, format, scaled), decode);
}

Lanes BlockDecoding::emitRoundedPair(KernelBuilder &b, Lanes word,
                                     ValueRange scaled, Lanes decode) const {
  Lanes both = b.pack({emitMagnitude(b, Lanes(b, scaled[0])),
                       emitMagnitude(b, Lanes(b, scaled[1]))});
  return emitPair(
      b, word, {b, arith::TruncFOp::create(b, decode.getType(), both)}, decode);
}

SmallVector<Value> BlockDecoding::emit(KernelBuilder &b, ValueRange words,
                                       ArrayRef<Lanes> pairs) const {
  int64_t bits = numerics::getFormatInfo(format).storageBits;
  int64_t count = static_cast<int64_t>(words.size()) * kWordBits / bits;
  SmallVector<Lanes> factors;
  for (int64_t block = 0; block < count / blockElements; ++block)
    factors.push_back(emitFactor(b, pairs, block));
  return emitValues(b, words,
                    [&](int64_t i) { return factors[i / blockElements]; });
}

} // namespace blockscale

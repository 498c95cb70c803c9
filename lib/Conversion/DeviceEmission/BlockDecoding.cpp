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

Lanes BlockDecoding::getGlobalFactor(KernelBuilder &b) const {
  return emit::emitGlobalFactors(b, recipe, global, /*value=*/Value()).decode;
}

Lanes BlockDecoding::emitFactor(KernelBuilder &b, ArrayRef<Lanes> pairs,
                                int64_t block) const {
  Lanes pair = extend(pairs[block / 2], kWordBits);
  Lanes byte = block % 2 == 0 ? pair & 0xFF : pair >> 8;
  return numerics::getBlockFactor(
      recipe, numerics::decodeScaleByProduct(scaleFormat, byte),
      getGlobalFactor(b));
}

SmallVector<Value>
BlockDecoding::emitValues(KernelBuilder &b, ValueRange words,
                          function_ref<Lanes(int64_t)> getFactor) const {
  int64_t bits = numerics::getFormatInfo(format).storageBits;
  int64_t count = static_cast<int64_t>(words.size()) * kWordBits / bits;
  SmallVector<Lanes> values;
  for (int64_t i = 0; i < count; ++i) {
    int64_t bit = i * bits;
    Lanes word(b, words[bit / kWordBits]);
    Lanes code = (word >> (bit % kWordBits)) & ((1u << bits) - 1);
    values.push_back(numerics::dequantizeValue(
        recipe, numerics::decodeByProduct(format, code), getFactor(i),
        getGlobalFactor(b)));
  }
  return packRounded(b, values, type);
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

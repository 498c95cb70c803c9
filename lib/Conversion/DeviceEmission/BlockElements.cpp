//===- BlockElements.cpp - One block in registers -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BlockElements.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static int64_t countElements(Value vector) {
  return cast<VectorType>(vector.getType()).getNumElements();
}

static VectorType getVector(Value like, Type element, int64_t factor = 1) {
  return VectorType::get({countElements(like) * factor}, element);
}

/// A word of which `bytes` bytes are loaded in accesses of 2 or 4; those above
/// are 0.
static Lanes loadWord(KernelBuilder &b, Value address, int64_t bytes,
                      int64_t loadBytes) {
  if (bytes <= 0)
    return b.i32(0);
  if (loadBytes >= kWordBytes)
    return b.load(b.getI32Type(), address, kWordBytes);
  Type half = b.getI16Type();
  Lanes word = b.zext32(b.load(half, address, loadBytes));
  if (bytes < kWordBytes)
    return word;
  Lanes high = b.load(half, b.offset(address, half, b.i64(1)), loadBytes);
  return word | b.zext32(high) << 16;
}

BlockElements BlockElements::load(KernelBuilder &b, Value pointer, Type type,
                                  int64_t count, int64_t present,
                                  int64_t loadBytes) {
  BlockElements block;
  block.type = type;
  int64_t elementBytes = type.getIntOrFloatBitWidth() / 8;
  int64_t bytes = count * elementBytes;
  constexpr int64_t vectorBytes = 16;
  if (present != count || loadBytes < vectorBytes) {
    SmallVector<Value> words;
    for (int64_t at = 0; at < bytes; at += kWordBytes)
      words.push_back(loadWord(b, b.offset(pointer, b.getI8Type(), b.i64(at)),
                               present * elementBytes - at, loadBytes));
    for (ArrayRef<Value> rest = words; !rest.empty();
         rest = rest.drop_front(vectorBytes / kWordBytes))
      block.words.push_back(b.pack(rest.take_front(vectorBytes / kWordBytes)));
    return block;
  }
  auto accessType = VectorType::get({loadBytes / kWordBytes}, b.getI32Type());
  for (int64_t at = 0; at < bytes; at += loadBytes) {
    Value address = b.offset(pointer, b.getI8Type(), b.i64(at));
    block.words.push_back(b.load(accessType, address, loadBytes));
  }
  return block;
}

BlockElements BlockElements::fromWords(ArrayRef<Value> words, Type type) {
  BlockElements block;
  block.type = type;
  block.words.assign(words.begin(), words.end());
  return block;
}

Lanes BlockElements::computeAmax(KernelBuilder &b, CvtEmitter &cvt) const {
  auto max = [&](Value lhs, Value rhs) -> Value {
    return arith::MaximumFOp::create(b, lhs, rhs);
  };
  if (type.isF32()) {
    SmallVector<Value> magnitudes;
    for (Value vector : words) {
      Value x = b.bitcast(getVector(vector, b.getF32Type()), vector);
      for (int64_t i = 0; i < countElements(vector); ++i)
        magnitudes.push_back(b.abs(b.extract(x, i)));
    }
    return {b, reduceInTree(magnitudes, max)};
  }
  SmallVector<Value> pairs;
  auto pairType = VectorType::get({2}, type);
  for (Value vector : words)
    for (int64_t i = 0; i < countElements(vector); ++i)
      pairs.push_back(b.bitcast(pairType, b.extract(vector, i)));
  Lanes pair = cvt.reduceMagnitudes(b, pairs);
  Value turned = LLVM::ShuffleVectorOp::create(b, pair, pair, {1, 0});
  pair = cvt.reduceMagnitudes(b, {pair, turned});
  if (type.isF16())
    return cvt.widenPair(b, b.toBits(b.abs(pair)), type).first;
  Lanes bits = b.toBits(pair);
  return b.toFloat(bits & 0x7FFF0000u);
}

using EvenAndOdd = std::pair<Lanes, Lanes>;

/// The f32 of the even and of the odd elements of words of two bf16. A bf16 is
/// the high half of its f32: even elements are shifted up, odd ones masked.
static EvenAndOdd splitBF16(KernelBuilder &b, Value words) {
  VectorType floats = getVector(words, b.getF32Type());
  int64_t size = countElements(words);
  Lanes even = words << b.i32Splat(16, size);
  Lanes odd = words & b.i32Splat(0xFFFF0000u, size);
  return {b.bitcast(floats, even), b.bitcast(floats, odd)};
}

/// The f32 of the even and of the odd elements of words of two f16.
static EvenAndOdd splitF16(KernelBuilder &b, Value words) {
  Value halves =
      b.bitcast(getVector(words, b.getF16Type(), /*factor=*/2), words);
  SmallVector<Value> even, odd;
  for (int64_t i = 0; i < countElements(halves); ++i) {
    Value half = b.extract(halves, i);
    (i % 2 == 0 ? even : odd)
        .push_back(arith::ExtFOp::create(b, b.getF32Type(), half));
  }
  return {b.pack(even), b.pack(odd)};
}

SmallVector<Value>
BlockElements::mapToF32(KernelBuilder &b,
                        function_ref<Lanes(Lanes)> map) const {
  SmallVector<Value> elements;
  for (Value vector : words) {
    VectorType floats = getVector(vector, b.getF32Type());
    int64_t size = countElements(vector);
    if (type.isF32()) {
      Value mapped = map(b.bitcast(floats, vector));
      for (int64_t i = 0; i < size; ++i)
        elements.push_back(b.extract(mapped, i));
      continue;
    }
    auto [even, odd] =
        type.isBF16() ? splitBF16(b, vector) : splitF16(b, vector);
    even = map(even);
    odd = map(odd);
    for (int64_t i = 0; i < size; ++i) {
      elements.push_back(b.extract(even, i));
      elements.push_back(b.extract(odd, i));
    }
  }
  return elements;
}

} // namespace blockscale

//===- RandomWords.cpp - Random bits of a row's elements ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomWords.h"
#include "blockscale/Numerics/Philox.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;
using blockscale::cpu::Lanes;
using blockscale::numerics::kRandomGroup;

namespace blockscale {

static SmallVector<Lanes, 2> getHalves(Lanes number) {
  return {truncate(number, 32), truncate(number >> 32, 32)};
}

RandomWords::RandomWords(KernelBuilder &b, Value rng, Value row,
                         int64_t rowElements, Value first)
    : b(b) {
  auto load = [&](int64_t i) {
    Value address = b.offset(rng, b.getI64Type(), b.i64(i));
    return Lanes(b, b.load(b.getI64Type(), address, sizeof(int64_t)));
  };
  seed = getHalves(load(0));
  offset = getHalves(load(1));
  Value before = arith::MulIOp::create(
      b, row, b.i64(llvm::divideCeil(rowElements, kRandomGroup)));
  firstGroup = arith::AddIOp::create(b, before, first);
}

SmallVector<Value> RandomWords::draw(int64_t begin, int64_t count) {
  SmallVector<Value> words;
  for (int64_t at = begin; at < begin + count; at += kRandomGroup) {
    Lanes group = Lanes(b, firstGroup) + at / kRandomGroup;
    SmallVector<Lanes, 2> counter = getHalves(group);
    cpu::PhiloxLanes drawn = cpu::emitPhilox(
        {counter[0], counter[1], offset[0], offset[1]}, seed[0], seed[1]);
    words.append(drawn.begin(), drawn.end());
  }
  return words;
}

} // namespace blockscale

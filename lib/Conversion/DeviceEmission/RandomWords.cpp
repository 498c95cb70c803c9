//===- RandomWords.cpp - Random bits of groups of elements ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RandomWords.h"

using namespace mlir;
using blockscale::emit::Lanes;

namespace blockscale {

static SmallVector<Lanes, 2> getHalves(Lanes number) {
  return {truncate(number, 32), truncate(number >> 32, 32)};
}

static Lanes loadNumber(KernelBuilder &b, Value rng, int64_t i) {
  Value address = b.offset(rng, b.getI64Type(), b.i64(i));
  return b.load(b.getI64Type(), address, sizeof(int64_t));
}

RandomWords::RandomWords(KernelBuilder &b, Value rng)
    : seed(getHalves(loadNumber(b, rng, 0))),
      offset(getHalves(loadNumber(b, rng, 1))) {}

std::pair<Lanes, Lanes> RandomWords::loadPlace(KernelBuilder &b, Value rng) {
  return {loadNumber(b, rng, numerics::kRandomNumbers),
          loadNumber(b, rng, numerics::kRandomNumbers + 1)};
}

SmallVector<Value> RandomWords::draw(Lanes group) {
  SmallVector<Lanes, 2> counter = getHalves(group);
  auto drawn = numerics::runPhilox4x32(
      numerics::PhiloxWordsOf<Lanes>{
          {counter[0], counter[1], offset[0], offset[1]}},
      seed[0], seed[1]);
  return llvm::to_vector_of<Value>(drawn.word);
}

} // namespace blockscale

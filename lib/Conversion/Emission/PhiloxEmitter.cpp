//===- PhiloxEmitter.cpp - Code that draws random bits --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PhiloxEmitter.h"
#include "blockscale/Numerics/Philox.h"

using namespace mlir;
using namespace blockscale::numerics;

namespace blockscale::emit {

/// Low and high 32 bits of the products with `factor`.
static std::pair<Lanes, Lanes> multiplyWide(Lanes x, uint32_t factor) {
  Lanes product = extend(x, 64) * factor;
  return {truncate(product, 32), truncate(product >> 32, 32)};
}

PhiloxLanes emitPhilox(PhiloxLanes counter, Lanes key0, Lanes key1) {
  PhiloxLanes state = counter;
  for (int round = 0; round < kPhiloxRounds; ++round) {
    auto [low0, high0] = multiplyWide(state[0], kPhiloxMultiplier0);
    auto [low1, high1] = multiplyWide(state[2], kPhiloxMultiplier1);
    state = {high1 ^ state[1] ^ broadcast(key0, low1), low1,
             high0 ^ state[3] ^ broadcast(key1, low0), low0};
    key0 = key0 + kPhiloxWeyl0;
    key1 = key1 + kPhiloxWeyl1;
  }
  return state;
}

} // namespace blockscale::emit

//===- WarpExchange.cpp - Values that threads of a warp exchange ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "WarpExchange.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

Lanes emitShuffle(KernelBuilder &b, Lanes word, int64_t mask) {
  return {b, NVVM::ShflOp::create(b, word.getType(), b.i32(kAllLanes), word,
                                  b.i32(mask), b.i32(kWarpThreads - 1),
                                  NVVM::ShflKind::bfly,
                                  /*return_value_and_is_valid=*/UnitAttr())};
}

Lanes emitShuffleFrom(KernelBuilder &b, Lanes word, int64_t number,
                      int64_t threads) {
  // The mask of lanes of neighbours is in bits 8 to 12 (PTX ISA, "shfl.sync").
  int64_t others = kWarpThreads - threads;
  return {b, NVVM::ShflOp::create(
                 b, word.getType(), b.i32(kAllLanes), word, b.i32(number),
                 b.i32(others << 8 | (kWarpThreads - 1)), NVVM::ShflKind::idx,
                 /*return_value_and_is_valid=*/UnitAttr())};
}

Lanes emitShuffleFrom(KernelBuilder &b, Lanes word, Lanes number) {
  return {b, NVVM::ShflOp::create(b, word.getType(), b.i32(kAllLanes), word,
                                  number, b.i32(kWarpThreads - 1),
                                  NVVM::ShflKind::idx,
                                  /*return_value_and_is_valid=*/UnitAttr())};
}

Lanes emitShuffleUp(KernelBuilder &b, Lanes word, int64_t distance) {
  return {b, NVVM::ShflOp::create(b, word.getType(), b.i32(kAllLanes), word,
                                  b.i32(distance), b.i32(0), NVVM::ShflKind::up,
                                  /*return_value_and_is_valid=*/UnitAttr())};
}

Lanes emitExchangeMaximum(KernelBuilder &b, Lanes amax, int64_t mask) {
  Lanes other = b.toFloat(emitShuffle(b, b.toBits(amax), mask));
  return {b, arith::MaximumFOp::create(b, amax, other)};
}

void exchangeHalves(KernelBuilder &b, SmallVector<SmallVector<Value>> &lists,
                    Lanes isBehind, int64_t mask) {
  size_t half = lists.size() / 2;
  SmallVector<SmallVector<Value>> kept(half);
  for (size_t i = 0; i < half; ++i) {
    SmallVector<Value> behind;
    for (auto [first, second] : llvm::zip_equal(lists[i], lists[half + i])) {
      Lanes mine = select(isBehind, Lanes(b, second), first);
      Lanes given = select(isBehind, Lanes(b, first), second);
      Lanes taken = emitShuffle(b, given, mask);
      kept[i].push_back(select(isBehind, taken, mine));
      behind.push_back(select(isBehind, mine, taken));
    }
    llvm::append_range(kept[i], behind);
  }
  lists = std::move(kept);
}

} // namespace blockscale

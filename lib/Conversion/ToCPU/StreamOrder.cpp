//===- StreamOrder.cpp - Lanes of streams of elements ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StreamOrder.h"

#include "mlir/Support/LLVM.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace mlir;

namespace blockscale::cpu {

TakenLanes takeByTurns(int64_t lanes, int64_t run, bool isUpper) {
  TakenLanes taken;
  constexpr int64_t half = kPieceLanes / 2;
  for (int64_t first = isUpper ? half : 0; first < lanes; first += kPieceLanes)
    for (int64_t lane = first; lane < first + half; lane += run)
      for (int64_t start : {lane, lanes + lane})
        llvm::append_range(taken, llvm::seq(start, start + run));
  return taken;
}

TakenLanes takeEverySecond(int64_t lanes, int64_t run, bool isSecond) {
  TakenLanes taken;
  int64_t unit = kPieceLanes * run;
  for (int64_t first = isSecond ? run : 0; first < lanes; first += unit)
    for (int64_t start : {first, lanes + first})
      for (int64_t lane = start; lane < start + unit; lane += 2 * run)
        llvm::append_range(taken, llvm::seq(lane, lane + run));
  return taken;
}

/// The numbers of the words of a vector.
using Words = SmallVector<int64_t>;

/// The number of the first stream's word in each lane, by the group of words
/// that it begins.
static Words getDataOfLanes(int64_t lanes, int64_t streams) {
  SmallVector<Words> rows;
  for (int64_t row = 0; row < streams; ++row)
    rows.push_back(llvm::to_vector(llvm::seq(row * lanes, (row + 1) * lanes)));
  auto shuffle = [&](const Words &a, const Words &b, ArrayRef<int64_t> taken) {
    return llvm::map_to_vector(taken, [&](int64_t lane) {
      return lane < lanes ? a[lane] : b[lane - lanes];
    });
  };
  Words first = splitRows<Words>(rows, lanes, shuffle).front();
  for (int64_t &word : first)
    word /= streams;
  return first;
}

/// Stages exchange bits of the numbers of lanes with others, so that each bit
/// of a lane's number stands for one of its data's.
StreamOrder::StreamOrder(int64_t lanes, int64_t streams, int64_t blocks) {
  Words data = getDataOfLanes(lanes, streams);
  int64_t dataPerBlock = lanes / blocks, reduced = 0;
  auto left = llvm::to_vector(llvm::seq<int64_t>(0, lanes));
  for (int64_t bit = lanes / 2; bit != 0; bit /= 2) {
    // Blocks differ in the other bits.
    if (data[bit] >= dataPerBlock)
      continue;
    reduced |= bit;
    Halves halves;
    SmallVector<int64_t> next;
    for (auto [i, lane] : llvm::enumerate(left)) {
      bool isRight = (lane & bit) != 0;
      (isRight ? halves.right : halves.left).push_back(i);
      if (!isRight)
        next.push_back(lane);
    }
    reductions.push_back(std::move(halves));
    left = std::move(next);
  }
  for (int64_t lane : left)
    blockOfLane.push_back(data[lane] / dataPerBlock);
  laneOfData.resize(lanes);
  for (int64_t lane = 0; lane < lanes; ++lane) {
    blockLaneOfLane.push_back(llvm::find(left, lane & ~reduced) - left.begin());
    laneOfData[data[lane]] = lane;
  }
}

SmallVector<int64_t> StreamOrder::getLanesOfBlocks(int64_t count) const {
  int64_t blocks = blockOfLane.size();
  SmallVector<int64_t> lanes(count);
  for (int64_t lane = 0; lane < count; ++lane)
    lanes[lane / blocks * blocks + blockOfLane[lane % blocks]] = lane;
  return lanes;
}

} // namespace blockscale::cpu

//===- ScaleStore.cpp - Where scale bytes go ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleStore.h"
#include "Emission/Lanes.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

/// a * b + c on i64.
Value getLinearScaleAddress(KernelBuilder &b, Value base, Lanes rows,
                            FragmentPosition position, int64_t rowBlocks,
                            int64_t fragmentBlocks) {
  Lanes row = position.matrix * rows + position.row;
  Lanes column = extend(position.fragment, 64) * fragmentBlocks;
  return b.offset(base, b.getI8Type(), row * rowBlocks + column);
}

Value getSwizzledScaleAddress(KernelBuilder &b, Value base, Lanes rowTiles,
                              FragmentPosition position, int64_t rowBlocks,
                              int64_t fragmentBlocks) {
  Lanes row = position.row, column = position.fragment * fragmentBlocks;
  Lanes before = position.matrix * rowTiles;
  Lanes tile = numerics::k128x4.getTileNumber(
      before, row, extend(column, 64),
      row.like(numerics::k128x4.getColTiles(rowBlocks)));
  // In a tile 32 bits are enough.
  Lanes byte = numerics::k128x4.getByteInTile(truncate(row, 32), column);
  return b.offset(base, b.getI8Type(),
                  tile * numerics::kTileBytes + extend(byte, 64));
}

void storeScaleBytes(KernelBuilder &b, ArrayRef<Lanes> pairs, Value address,
                     int64_t count, int64_t alignment) {
  auto storeAt = [&](Lanes value, int64_t at, int64_t size) {
    b.store(value, b.offset(address, b.getI8Type(), b.i64(at)), size);
  };
  int64_t begin = 0;
  for (; alignment == 4 && begin + 4 <= count; begin += 4)
    storeAt(b.pack(pairs.slice(begin / 2, 2)), begin, 4);
  for (int64_t at = begin; at < count; at += 2) {
    Lanes pair = pairs[at / 2];
    if (alignment >= 2 && at + 1 < count) {
      storeAt(pair, at, 2);
      continue;
    }
    storeAt(truncate(pair, 8), at, 1);
    if (at + 1 < count)
      storeAt(truncate(pair >> 8, 8), at + 1, 1);
  }
}

} // namespace blockscale

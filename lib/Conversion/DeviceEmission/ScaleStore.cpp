//===- ScaleStore.cpp - Where scale bytes go ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaleStore.h"
#include "Emission/LoopEmitter.h"

#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

/// a * b + c on i64.
static Value mulAdd(KernelBuilder &b, Value x, Value y, Value z) {
  return arith::AddIOp::create(b, arith::MulIOp::create(b, x, y), z);
}

Value getLinearScaleAddress(KernelBuilder &b, Value base, Value rows,
                            ChunkPosition position, int64_t rowBlocks,
                            int64_t chunkBlocks) {
  Value row = mulAdd(b, position.matrix, rows, position.row);
  Value column =
      arith::MulIOp::create(b, b.zext64(position.chunk), b.i64(chunkBlocks));
  return b.offset(base, b.getI8Type(),
                  mulAdd(b, row, b.i64(rowBlocks), column));
}

Value getSwizzledScaleAddress(KernelBuilder &b, Value base, Value rowTiles,
                              ChunkPosition position, int64_t rowBlocks,
                              int64_t chunkBlocks) {
  uint32_t chunksPerTile = kTileCols / chunkBlocks;
  Value rowTile =
      arith::ShRUIOp::create(b, position.row, b.i64(llvm::Log2_64(kTileRows)));
  rowTile = mulAdd(b, position.matrix, rowTiles, rowTile);
  Value colTile =
      arith::DivUIOp::create(b, position.chunk, b.i32(chunksPerTile));
  Value tile = mulAdd(b, rowTile, b.i64(llvm::divideCeil(rowBlocks, kTileCols)),
                      b.zext64(colTile));

  // Row bits 0-4 choose the 16 bytes, bits 5-6 the 4 bytes among them.
  Value row = arith::TruncIOp::create(b, b.getI32Type(), position.row);
  auto field = [&](Value value, uint32_t shift, uint32_t mask,
                   uint32_t scale) -> Value {
    Value bits = arith::ShRUIOp::create(b, value, b.i32(shift));
    bits = arith::AndIOp::create(b, bits, b.i32(mask));
    return arith::MulIOp::create(b, bits, b.i32(scale));
  };
  Value sixteen = field(row, 0, 31, 16);
  Value four = field(row, 5, 3, kTileCols);
  Value byte = arith::OrIOp::create(b, sixteen, four);
  byte = arith::OrIOp::create(
      b, byte, field(position.chunk, 0, chunksPerTile - 1, chunkBlocks));
  return b.offset(
      base, b.getI8Type(),
      mulAdd(b, tile, b.i64(kTileRows * kTileCols), b.zext64(byte)));
}

Value getTileByte(KernelBuilder &b, Value tile, Value row, Value column) {
  // Row bits 0-4 choose the 16 bytes, bits 5-6 the 4 bytes among them.
  Value byte = emit::mul(b, tile, kTileRows * kTileCols);
  byte = emit::add(b, byte, emit::mul(b, emit::rem(b, row, 32), 16));
  Value part = emit::rem(b, emit::div(b, row, 32), 4);
  byte = emit::add(b, byte, emit::mul(b, part, kTileCols));
  return emit::add(b, byte, emit::rem(b, column, kTileCols));
}

void storeScaleBytes(KernelBuilder &b, ValueRange pairs, Value address,
                     int64_t count, int64_t alignment) {
  auto storeAt = [&](Value value, int64_t at, int64_t size) {
    b.store(value, b.offset(address, b.getI8Type(), b.i64(at)), size);
  };
  int64_t begin = 0;
  for (; alignment == 4 && begin + 4 <= count; begin += 4)
    storeAt(b.pack(pairs.slice(begin / 2, 2)), begin, 4);
  for (int64_t at = begin; at < count; at += 2) {
    Value pair = pairs[at / 2];
    if (alignment >= 2 && at + 1 < count) {
      storeAt(pair, at, 2);
      continue;
    }
    storeAt(arith::TruncIOp::create(b, b.getI8Type(), pair), at, 1);
    if (at + 1 == count)
      continue;
    Value eight = arith::ConstantOp::create(b, b.getI16IntegerAttr(8));
    Value high = arith::ShRUIOp::create(b, pair, eight);
    storeAt(arith::TruncIOp::create(b, b.getI8Type(), high), at + 1, 1);
  }
}

} // namespace blockscale

//===- ChunkPlaces.cpp - Which threads have a chunk -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ChunkPlaces.h"
#include "DeviceEmission/DeviceCode.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

ChunkPlaces::ChunkPlaces(KernelBuilder &b, const QuantizeSpec &spec,
                         const ThreadMapping &mapping,
                         const QuantizeOperands &arguments,
                         ChunkPosition position)
    : b(b), spec(spec), mapping(mapping), arguments(arguments),
      position(position) {
  if (spec.batched)
    matrixExists = isBelow(b, position.matrix, arguments.matrices);
  if (!spec.swizzled)
    return;
  rowTiles = arith::AddIOp::create(b, arguments.rows, b.i64(kTileRows - 1));
  rowTiles =
      arith::ShRUIOp::create(b, rowTiles, b.i64(llvm::Log2_64(kTileRows)));
  pairTypes.assign(llvm::divideCeil(mapping.chunkBlocks, 2), b.getI16Type());
}

Value ChunkPlaces::isFullWarp() {
  Value hasChunk = isBelow(b, position.row, arguments.rows);
  auto require = [&](Value holds) {
    if (holds)
      hasChunk = arith::AndIOp::create(b, hasChunk, holds);
  };
  require(isChunkBelow(mapping.fullChunks));
  require(matrixExists);
  return NVVM::VoteSyncOp::create(b, b.getI1Type(), b.i32(kAllLanes), hasChunk,
                                  NVVM::VoteSyncKind::all);
}

void ChunkPlaces::emit(ChunkEmitter &chunk) {
  auto emitChunk = [&] {
    if (spec.swizzled)
      return emitSwizzled(chunk);
    emit::emitIf(b, isBelow(b, position.row, arguments.rows),
                 [&] { emitRow(chunk); });
  };
  if (matrixExists)
    emit::emitIf(b, matrixExists, emitChunk);
  else
    emitChunk();
}

/// Whether the chunk is below `bound`; null where that holds for all threads of
/// a line.
Value ChunkPlaces::isChunkBelow(int64_t bound) {
  if (bound == mapping.getPlacesPerRow(spec))
    return {};
  return isBelow(b, position.chunk, b.i32(bound));
}

/// Quantizes the chunk of a row that holds data: a full one, the tail, or
/// padding. Returns its scale bytes in pairs where scales are swizzled, and
/// stores them elsewhere.
SmallVector<Value> ChunkPlaces::emitRow(ChunkEmitter &chunk) {
  auto emitChunk = [&](int64_t elements) -> SmallVector<Value> {
    SmallVector<Value> pairs = chunk.emit(elements);
    if (spec.swizzled) {
      Value none = arith::ConstantOp::create(b, b.getI16IntegerAttr(0));
      pairs.resize(pairTypes.size(), none);
      return pairs;
    }
    chunk.storeScales(pairs, chunk.countBlocks(elements));
    return {};
  };
  int64_t chunks = mapping.fullChunks + (mapping.tailElements != 0 ? 1 : 0);
  auto emitFull = [&] { return emitChunk(mapping.chunkElements); };
  auto emitTail = [&] {
    return emitIfElseZero(b, isChunkBelow(chunks), pairTypes,
                          [&] { return emitChunk(mapping.tailElements); });
  };
  if (mapping.fullChunks == 0)
    return emitTail();
  Value isFull = isChunkBelow(mapping.fullChunks);
  if (mapping.tailElements == 0)
    return emitIfElseZero(b, isFull, pairTypes, emitFull);
  return emitIfElse(b, isFull, pairTypes, emitFull, emitTail);
}

/// Rows below the last one, in its tile, and chunks beyond those of rows have
/// scales of 0. Threads beyond them have none.
void ChunkPlaces::emitSwizzled(ChunkEmitter &chunk) {
  Value hasData = isBelow(b, position.row, arguments.rows);
  SmallVector<Value> pairs =
      emitIfElseZero(b, hasData, pairTypes, [&] { return emitRow(chunk); });
  Value end = arith::MulIOp::create(b, rowTiles, b.i64(kTileRows));
  Value hasScales = isBelow(b, position.row, end);
  if (Value isChunk = isChunkBelow(mapping.chunksPerRow))
    hasScales = arith::AndIOp::create(b, hasScales, isChunk);
  emit::emitIf(b, hasScales,
               [&] { chunk.storeScales(pairs, mapping.chunkBlocks); });
}

} // namespace blockscale

//===- Tcgen05Results.cpp - Accumulators into results ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Products/Arithmetic.h"
#include "Products/EpilogueWriter.h"
#include "Tcgen05Roles.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

namespace {

class ResultEmitter : public OtherTiles {
public:
  ResultEmitter(KernelBuilder &b, const Tcgen05Context &context, Value thread)
      : b(b), context(context), thread(b, thread) {}

  /// Emits the results of a tile. `carried` are the slots of the rings of full
  /// and of empty accumulators.
  SmallVector<Value> emitTile(const TileCoord &tile, ValueRange carried);
  void emitTile(const TileCoord &tile) override;
  void emitRest(const ProductRange &product, Value cluster,
                Value clusters) override;

private:
  ResultRow getRow(const TileCoord &tile);
  /// Gives the accumulator, or what accumulators share, back.
  void emitRelease(Value slot);

  KernelBuilder &b;
  const Tcgen05Context &context;
  Lanes thread;
};

} // namespace

void ResultEmitter::emitRelease(Value slot) {
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  emitInOneThread(b, [&] {
    context.cluster.emitArriveAtLeader(b, context.sumEmpty.get(b, slot));
  });
}

ResultRow ResultEmitter::getRow(const TileCoord &tile) {
  Lanes row = tile.row * context.spec.schedule.getRows() + thread +
              context.cluster.member * kTileRows;
  const ProductRange &product = tile.product;
  return {product.number,
          tile.firstResult + toI64(b, row),
          isBelow(b, row, product.rows),
          row,
          product.rows,
          product.firstBand};
}

/// Writes the results of a tile of rows that no group has.
void ResultEmitter::emitTile(const TileCoord &tile) {
  int64_t cols = context.spec.getResultCols();
  auto writer =
      createRowWriter(b, context.spec, context.arguments, getRow(tile));
  emitCount(b, b.i32(cols / kFragment), {}, [&](Value fragment, ValueRange) {
    writer->emitZeros(tile.col * cols + Lanes(b, fragment) * kFragment);
    return SmallVector<Value>();
  });
}

void ResultEmitter::emitRest(const ProductRange &product, Value cluster,
                             Value clusters) {
  if (context.spec.hasRest())
    context.cluster.emitIfLeader(b, [&] {
      context.spec.epilogue->sink->emitRest(
          b, context.arguments.sink, context.arguments.cols,
          {product.firstBand, thread, cluster, clusters});
    });
}

SmallVector<Value> ResultEmitter::emitTile(const TileCoord &tile,
                                           ValueRange carried) {
  RingSlot full = RingSlot::of(carried);
  RingSlot empty = RingSlot::of(carried.drop_front(2));
  int64_t cols = context.spec.getResultCols();
  const TensorLayout &tensor = context.tensor;

  Lanes firstCol = tile.col * cols;
  auto writer =
      createRowWriter(b, context.spec, context.arguments, getRow(tile));

  context.sumFull.emitWaitFull(b, full);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);

  Lanes lanes = getWarpLanes(thread);
  Lanes slot(b, full.index);
  Lanes base = Lanes(b, context.tensorMemory) + lanes +
               slot * (tensor.sums[1] - tensor.sums[0]);
  // Columns that accumulators share come first: the last ones of the first
  // accumulator, which are the second product's where there are two.
  int64_t fragments = cols / kFragment,
          sharedFragments = tensor.shared / kFragment;
  int64_t released = sharedFragments ? sharedFragments : fragments;
  Lanes isFirstSum = compare(Predicate::eq, slot, 0);
  Lanes begin =
      select(isFirstSum, slot.like(cols - tensor.shared), slot.like(0));
  emitCount(b, b.i32(fragments), {}, [&](Value fragment, ValueRange) {
    Lanes col = Lanes(b, fragment) * kFragment;
    if (sharedFragments)
      col = (col + begin) & (cols - 1);
    SmallVector<Value> sums;
    for (int64_t i = 0; i < context.spec.products; ++i)
      sums.push_back(emitLoadSums(b, context.spec, tile, base + col + i * cols,
                                  kFragment));
    emit::emitIf(b, compare(Predicate::eq, Lanes(b, fragment), released - 1),
                 [&] { emitRelease(empty.index); });
    writer->emitFragment(sums, firstCol + col);
    return SmallVector<Value>();
  });
  SmallVector<Value> next = full.getNext(b, kAccumulators).get();
  llvm::append_range(next, empty.getNext(b, context.sumEmptySlots).get());
  return next;
}

void emitResults(KernelBuilder &b, const Tcgen05Context &context,
                 Value thread) {
  ResultEmitter emitter(b, context, thread);
  SmallVector<Value> inits = RingSlot::getFirst(b).get();
  llvm::append_range(inits, RingSlot::getFirst(b).get());
  context.order.emitTiles(
      b, inits,
      [&](const TileCoord &tile, ValueRange carried) {
        return emitter.emitTile(tile, carried);
      },
      &emitter);
}

} // namespace blockscale::products

//===- PlainTcgen05Results.cpp - Accumulators into results ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread has the sums of a row with scales, those of 32 plain rows at a time.
// By shared memory they become parts of rows of the result, which are written
// as on every chip.
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainTcgen05Roles.h"
#include "Products/RegisterResults.h"
#include "blockscale/IR/Upstream.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// The barrier of the threads with results. Barrier 0 is that of all threads.
static constexpr int64_t kResultBarrier = 1;
static constexpr int64_t kResultThreads = kResultWarps * kWarpThreads;

namespace {

class PlainTcgen05Results : public RegisterResults {
public:
  PlainTcgen05Results(KernelBuilder &b, const PlainTcgen05Context &context,
                      Lanes thread);

  /// Emits the results of a tile. `carried` is the slot of the ring of
  /// accumulators.
  SmallVector<Value> emitAccumulator(const TileCoord &tile, ValueRange carried);

private:
  void emitStorePart(Lanes part, ValueRange) override;
  void emitStoreSums(ValueRange sums) override;
  void emitStored(ValueRange) override;
  Value getSumAddress(int64_t copy, Value place) override;

  const PlainTcgen05Context &context;
  Lanes thread;
  /// The tile whose results are written, and the slot of its accumulator.
  const TileCoord *current = nullptr;
  RingSlot sum;
};

} // namespace

PlainTcgen05Results::PlainTcgen05Results(KernelBuilder &b,
                                         const PlainTcgen05Context &context,
                                         Lanes thread)
    : RegisterResults(b, context.spec, context.arguments, thread,
                      kResultThreads),
      context(context), thread(thread) {
  const PlainTcgen05Layout &shared = context.shared;
  parts.areColumns = context.spec.format.isScaledA;
  parts.count = context.tile.plainRows /
                (parts.areColumns ? shared.sumCols : shared.sumRows);
  parts.rows = parts.sharedRows = shared.sumRows;
  parts.cols = shared.sumCols;
  parts.pitch = shared.sumPitch;
  parts.threads = kResultThreads;
  parts.fragments = shared.sumCols / context.spec.products / width;
  parts.number = thread;
  parts.shift = context.spec.format.getSumShift();
}

void PlainTcgen05Results::emitStorePart(Lanes part, ValueRange) {
  int64_t columns = context.tile.plainRows / parts.count;
  Lanes address = Lanes(b, context.tensorMemory) + getWarpLanes(thread) +
                  Lanes(b, sum.index) * context.tile.plainRows + part * columns;
  Value sums = emitLoadSums(b, context.spec, *current, address, columns);
  emit::emitIf(b, compare(Predicate::eq, part, parts.count - 1), [&] {
    NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
    emitArriveInWarp(b, context.sumEmpty.get(b, sum.index));
  });
  emitStoreSums(b.extractAll(sums));
}

void PlainTcgen05Results::emitStoreSums(ValueRange sums) {
  // Sums beside each other in a row of the result are stored together.
  bool isScaledA = context.spec.format.isScaledA;
  int64_t run = isScaledA ? kCopyBytes / kWordBytes : 1;
  int64_t rowPitch = isScaledA ? parts.pitch : 1;
  int64_t sumPitch = isScaledA ? 1 : parts.pitch;
  Value base = b.offset(context.getShared(b, context.shared.sums),
                        b.getF32Type(), thread * rowPitch);
  for (int64_t i = 0, end = sums.size(); i < end; i += run) {
    ValueRange values = sums.slice(i, run);
    b.store(run > 1 ? b.pack(values) : values.front(),
            b.offset(base, b.getF32Type(), b.i32(i * sumPitch)),
            run * kWordBytes);
  }
}

void PlainTcgen05Results::emitStored(ValueRange) {
  upstream::createBarrier<NVVM::BarrierOp>(b, b.i32(kResultBarrier),
                                           b.i32(kResultThreads));
}

Value PlainTcgen05Results::getSumAddress(int64_t, Value place) {
  return b.offset(context.getShared(b, context.shared.sums), b.getF32Type(),
                  place);
}

SmallVector<Value> PlainTcgen05Results::emitAccumulator(const TileCoord &tile,
                                                        ValueRange carried) {
  current = &tile;
  sum = RingSlot::of(carried);
  context.sumFull.emitWaitFull(b, sum);
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
  emitSums(tile, /*sums=*/{});
  return sum.getNext(b, context.spec.getAccumulators()).get();
}

void emitResults(KernelBuilder &b, const PlainTcgen05Context &context,
                 Lanes thread) {
  PlainTcgen05Results results(b, context, thread);
  context.order.emitTiles(
      b, RingSlot::getFirst(b).get(),
      [&](const TileCoord &tile, ValueRange carried) {
        return results.emitAccumulator(tile, carried);
      },
      &results);
}

} // namespace blockscale::products

//===- PlainTcgen05Kernel.cpp - Roles into a kernel ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "PlainTcgen05Roles.h"
#include "Products/Arithmetic.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

PlainTcgen05Context::PlainTcgen05Context(KernelBuilder &b,
                                         const PlainTcgen05Spec &spec,
                                         const GemmArguments &arguments)
    : SharedMemory(b), spec(spec), arguments(arguments), tile(spec),
      shared(spec),
      order(b, spec, arguments, {/*blocks=*/1, /*tiles=*/1, /*tile=*/b.i32(0)}),
      stageFull(getShared(b, shared.stageFull), spec.getCodeStages(),
                /*arrivals=*/1),
      // Those that decode have read codes, or rows are multiplied.
      stageEmpty(getShared(b, shared.stageEmpty), spec.getCodeStages(),
                 /*arrivals=*/std::max<int64_t>(getDecodeWarps(spec), 1)),
      plainFull(getShared(b, shared.plainFull), spec.schedule.getStages(),
                /*arrivals=*/1),
      plainEmpty(getShared(b, shared.plainEmpty), spec.schedule.getStages(),
                 /*arrivals=*/1),
      decodedFull(getShared(b, shared.decodedFull), spec.getDecodedStages(),
                  /*arrivals=*/kDecodeWarps),
      decodedEmpty(getShared(b, shared.decodedEmpty), spec.getDecodedStages(),
                   /*arrivals=*/1),
      sumFull(getShared(b, shared.sumFull), spec.getAccumulators(),
              /*arrivals=*/1),
      sumEmpty(getShared(b, shared.sumEmpty), spec.getAccumulators(),
               /*arrivals=*/kResultWarps) {}

SmallVector<Value> PlainTcgen05Context::emitStages(KernelBuilder &b,
                                                   const TileCoord &tile,
                                                   ValueRange carried,
                                                   StageBody body) const {
  Value count = tile.end - tile.begin;
  return emitCount(b, count, carried, [&](Lanes number, ValueRange carried) {
    Lanes stage = tile.begin + number;
    Lanes left = tile.product.depth - stage * spec.stageElements;
    RingSlot slot = RingSlot::of(carried);
    SmallVector<Value> next = slot.getNext(b, spec.getCodeStages()).get();
    llvm::append_range(next, body(slot, stage * spec.getStageSteps(), left,
                                  carried.drop_front(2)));
    return next;
  });
}

void emitArriveInWarp(KernelBuilder &b, ArrayRef<Value> barriers) {
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  emitInOneThread(b, [&] {
    for (Value barrier : barriers)
      NVVM::MBarrierArriveOp::create(b, /*res=*/Type(), barrier,
                                     /*count=*/Value(),
                                     NVVM::MemScopeKind::CTA);
  });
}

static void emitSetup(KernelBuilder &b, const PlainTcgen05Context &context) {
  emitInOneThread(b, [&] {
    for (const BarrierRing *ring :
         {&context.stageFull, &context.stageEmpty, &context.plainFull,
          &context.plainEmpty, &context.decodedFull, &context.decodedEmpty,
          &context.sumFull, &context.sumEmpty})
      ring->emitInit(b);
    NVVM::FenceMbarrierInitOp::create(b);
  });
  emitTensorAlloc(b, context.getShared(b, context.shared.tensorMemory),
                  NVVM::CTAGroupKind::CTA_1);
}

static void emitBarrier(KernelBuilder &b) {
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  NVVM::BarrierOp::create(b);
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

void emitPlainTcgen05(KernelBuilder &b, const PlainTcgen05Spec &spec,
                      GemmArguments arguments) {
  arguments.narrowSizes(b);
  PlainTcgen05Context context(b, spec, arguments);
  Lanes thread = emitThreadNumber32(b, getThreads(spec));
  Lanes warp = numerics::getWarp(thread);
  // The numbers of threads with results, and of those that decode in each half
  // of a stage, are those of their lanes.
  int64_t firstLoader = kResultWarps + getDecodeWarps(spec);
  int64_t multiplier = firstLoader + kLoadWarps;
  auto emitWarp = [&](int64_t number, function_ref<void()> body) {
    emit::emitIf(b, compare(Predicate::eq, warp, number), body);
  };

  emitWarp(multiplier, [&] { emitSetup(b, context); });
  emitBarrier(b);
  context.tensorMemory = b.load(
      b.getI32Type(), context.getShared(b, context.shared.tensorMemory), 4);
  emit::emitIf(b, compare(Predicate::ult, warp, kResultWarps), [&] {
    // The first results are a whole sum away.
    context.order.emitCheckGroups(b, emit::isEqual(warp, 0), thread);
    emitResults(b, context, thread);
  });
  if (spec.format.hasScales)
    emit::emitIf(
        b, compare(Predicate::ult, warp - kResultWarps, kDecodeWarps),
        [&] { emitDecode(b, context, thread - kResultWarps * kWarpThreads); });
  for (int64_t i = 0; i < kLoadWarps; ++i)
    emitWarp(firstLoader + i, [&] {
      emitInOneThread(b, [&] {
        arguments.emitPrefetch(b);
        emitStagedLoads(
            b,
            getStagedOperands(context, {context.plainFull, context.plainEmpty}),
            /*isPlain=*/i > 0);
      });
    });
  emitWarp(multiplier,
           [&] { emitInOneThread(b, [&] { emitProducts(b, context); }); });
  emitBarrier(b);
  emitWarp(multiplier, [&] {
    emitTensorFree(b, context.tensorMemory, NVVM::CTAGroupKind::CTA_1);
  });
}

} // namespace blockscale::products

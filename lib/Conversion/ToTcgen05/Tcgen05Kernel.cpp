//===- Tcgen05Kernel.cpp - Roles into a kernel ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceEmission/DeviceCode.h"
#include "Tcgen05Roles.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

Tcgen05Context::Tcgen05Context(KernelBuilder &b, const ScaledGemmSpec &spec,
                               const GemmArguments &arguments)
    : SharedMemory(b), spec(spec), arguments(arguments), shared(spec),
      tensor(spec.format, spec.schedule.getRows(), spec.schedule.getCols()),
      mine(spec.schedule.getRows(), spec.schedule.getCols()),
      cluster(b, spec.schedule),
      order(b, spec, arguments,
            {cluster.getTileBlocks() * cluster.getPairs(), cluster.getPairs(),
             cluster.pair}),
      stageFull(getShared(b, shared.stageFull), spec.schedule.getStages(),
                /*arrivals=*/1),
      stageEmpty(getShared(b, shared.stageEmpty), spec.schedule.getStages(),
                 /*arrivals=*/cluster.getPairs()),
      sumEmptySlots(tensor.shared ? 1 : kAccumulators),
      sumFull(getShared(b, shared.sumFull), kAccumulators,
              /*arrivals=*/1),
      sumEmpty(getShared(b, shared.sumEmpty), sumEmptySlots,
               /*arrivals=*/kResultWarps * cluster.getTileBlocks()) {}

/// Sets up barriers and tensor memory. One warp does this.
static void emitSetup(KernelBuilder &b, const Tcgen05Context &context) {
  emitInOneThread(b, [&] {
    for (const BarrierRing *ring : {&context.stageFull, &context.stageEmpty,
                                    &context.sumFull, &context.sumEmpty})
      ring->emitInit(b);
    NVVM::FenceMbarrierInitOp::create(b);
  });
  emitTensorAlloc(b, context.getShared(b, context.shared.tensorMemory),
                  context.cluster.getGroup());
}

static void emitBarrier(KernelBuilder &b, const Tcgen05Context &context) {
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::BEFORE_THREAD_SYNC);
  context.cluster.emitBarrier(b);
  NVVM::Tcgen05FenceOp::create(b, NVVM::Tcgen05FenceKind::AFTER_THREAD_SYNC);
}

void emitTcgen05(KernelBuilder &b, const ScaledGemmSpec &spec,
                 GemmArguments arguments) {
  arguments.narrowSizes(b);
  Tcgen05Context context(b, spec, arguments);
  Lanes thread(b, arith::IndexCastOp::create(
                      b, b.getI32Type(), emitThreadNumber(b, kTcgen05Threads)));
  Lanes warp = numerics::getWarp(thread);
  // Warps with results are the first: their numbers are those of their lanes.
  Lanes loads = compare(Predicate::eq, warp, kResultWarps);
  Lanes multiplies = compare(Predicate::eq, warp, kResultWarps + 1);

  emit::emitIf(b, multiplies, [&] { emitSetup(b, context); });
  emitBarrier(b, context);
  context.tensorMemory = b.load(
      b.getI32Type(), context.getShared(b, context.shared.tensorMemory), 4);
  emit::emitIf(
      b, loads,
      [&] {
        emitInOneThread(b, [&] {
          context.arguments.emitPrefetch(b);
          emitLoads(b, context);
        });
      },
      [&] {
        emit::emitIf(
            b, multiplies,
            [&] {
              context.cluster.emitIfLeader(
                  b, [&] { emitProducts(b, context, thread); });
            },
            [&] {
              // The first results are a whole sum away.
              context.order.emitCheckGroups(b, emit::isEqual(warp, 0), thread);
              emitResults(b, context, thread);
            });
      });
  emitBarrier(b, context);
  emit::emitIf(b, multiplies, [&] {
    emitTensorFree(b, context.tensorMemory, context.cluster.getGroup());
  });
}

} // namespace blockscale::products

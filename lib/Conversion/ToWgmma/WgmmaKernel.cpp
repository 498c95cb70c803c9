//===- WgmmaKernel.cpp - Roles into a kernel ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/WarpExchange.h"
#include "Products/Arithmetic.h"
#include "WgmmaRoles.h"
#include "blockscale/Numerics/Accumulators.h"

#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

/// Lets threads of a role have another number of registers than all begin with:
/// those that multiply more, and those that load fewer. Together they are as
/// many as before: nobody would give more, and who asked for them would wait
/// for ever. Where one warpgroup multiplies, its threads begin with what they
/// need.
static void emitSetRegisters(KernelBuilder &b, const WgmmaSpec &spec,
                             bool multiplies) {
  if (spec.getWarpgroups() == 1)
    return;
  // Threads begin with 168 registers, or with 96 where there are 640 of them.
  bool areTwo = spec.getWarpgroups() == 2;
  int64_t products = areTwo ? 232 : 112, loads = areTwo ? 40 : 32;
  NVVM::SetMaxRegisterOp::create(b, multiplies ? products : loads,
                                 multiplies
                                     ? NVVM::SetMaxRegisterAction::increase
                                     : NVVM::SetMaxRegisterAction::decrease);
}

WgmmaCluster::WgmmaCluster(KernelBuilder &b, const WgmmaSpec &spec)
    : blocks(spec.getClusterBlocks()), parts(spec.getParts()),
      sharers(spec.getSharers()), part(b, b.i32(0)), sharer(b, b.i32(0)) {
  if (blocks > 1)
    (parts > 1 ? part : sharer) = {b,
                                   NVVM::ClusterId::create(b, b.getI32Type())};
}

void WgmmaCluster::emitBarrier(KernelBuilder &b) const {
  if (blocks == 1) {
    gpu::BarrierOp::create(b);
    return;
  }
  NVVM::ClusterArriveOp::create(b, b.getUnitAttr());
  NVVM::ClusterWaitOp::create(b, b.getUnitAttr());
}

Value WgmmaCluster::getPlace(KernelBuilder &b, Value pointer,
                             Value number) const {
  if (blocks == 1)
    return pointer;
  auto type = LLVM::LLVMPointerType::get(
      b.getContext(),
      static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster));
  return NVVM::MapaOp::create(b, type, pointer, number);
}

void WgmmaCluster::emitArrive(KernelBuilder &b, Value barrier, Lanes lane,
                              NVVM::MemScopeKind scope) const {
  // Each CTA has a thread that arrives there for all of a warp, whose accesses
  // come before, so that the warp waits for these once.
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
  Value place = getPlace(b, barrier, numerics::splitBits(lane, blocks).second);
  emit::emitIf(b, isBelow(b, lane, b.i32(static_cast<int32_t>(blocks))), [&] {
    NVVM::MBarrierArriveOp::create(b, /*res=*/Type(), place, /*count=*/Value(),
                                   scope);
  });
  NVVM::SyncWarpOp::create(b, b.i32(kAllLanes));
}

/// The warps whose sums make results together.
static int64_t countSumWarps(const WgmmaSpec &spec) {
  int64_t threads = needsBothWarpgroups(spec)
                        ? getTeamThreads(spec)
                        : std::min(getTeamThreads(spec), kWarpgroupThreads);
  return spec.getParts() * spec.getResultTeams() * threads / kWarpThreads;
}

WgmmaContext::WgmmaContext(KernelBuilder &b, const WgmmaSpec &spec,
                           const GemmArguments &arguments)
    : SharedMemory(b), spec(spec), arguments(arguments), tile(spec),
      sums(b, kWarpgroupRows * tile.plainRows / kWarpgroupThreads),
      shared(spec), cluster(b, spec),
      order(b, spec, arguments,
            {cluster.blocks, cluster.sharers, cluster.sharer, cluster.parts,
             cluster.part}),
      stageFull(getShared(b, shared.stageFull), spec.schedule.getStages(),
                /*arrivals=*/spec.decodesEarly() ? 1 : kLoadWarps),
      stageEmpty(getShared(b, shared.stageEmpty), spec.schedule.getStages(),
                 /*arrivals=*/cluster.sharers * getTeamThreads(spec) /
                     kWarpThreads),
      plainFull(spec.decodesEarly()
                    ? BarrierRing(getShared(b, shared.plainFull),
                                  spec.schedule.getStages(), /*arrivals=*/1)
                    : stageFull),
      sumsFull(getShared(b, shared.sumsFull), kTeamWarpgroups,
               countSumWarps(spec)),
      sumsEmpty(getShared(b, shared.sumsEmpty), kTeamWarpgroups,
                countSumWarps(spec)) {}

WgmmaThread::WgmmaThread(KernelBuilder &b, const WgmmaSpec &spec, Value inBlock)
    : team(b.i32(0)) {
  int64_t threads = getTeamThreads(spec);
  auto [ofTeam, all] = numerics::splitBits(Lanes(b, inBlock), threads);
  // What a shuffle brings from one thread is the same for all of a warp, so
  // that places of stages, which go by it, are computed once.
  if (spec.getTeams() > 1)
    team = emitShuffleFrom(b, ofTeam, /*number=*/0, kWarpThreads);
  number = all;
  lane = numerics::getLane(all);
  warpgroup = numerics::splitBits(all, kWarpgroupThreads).first;
  // The second warpgroup has the rows behind those of the first.
  auto [sumRow, pair] = numerics::getPairs(numerics::kWgmmaAccumulator)
                            .getElementOf(numerics::kSumThread, all);
  row = sumRow;
  member = pair;
}

void emitRoleWait(KernelBuilder &b, const GemmArguments &arguments,
                  bool isEarly) {
  if ((arguments.loadsAEarly || arguments.loadsBEarly) && !isEarly)
    emitLaunchWait(b);
}

void emitWgmma(KernelBuilder &b, const WgmmaSpec &spec,
               GemmArguments arguments) {
  arguments.narrowSizes(b);
  WgmmaContext context(b, spec, arguments);
  Lanes thread = emitThreadNumber32(b, getWgmmaThreads(spec));
  int64_t productThreads = getProductThreads(spec);
  Lanes multiplies = compare(Predicate::ult, thread, productThreads);
  Lanes warp = numerics::getWarp(thread);
  int64_t firstLoader = productThreads / kWarpThreads;
  Lanes isFirst = compare(Predicate::eq, warp, firstLoader);
  emit::emitIf(b, isFirst, [&] {
    emitInOneThread(b, [&] {
      arguments.emitPrefetch(b);
      context.stageFull.emitInit(b);
      context.stageEmpty.emitInit(b);
      if (spec.decodesEarly())
        context.plainFull.emitInit(b);
      if (spec.getParts() > 1)
        context.sumsFull.emitInit(b);
      if (spec.readsSumsLate())
        context.sumsEmpty.emitInit(b);
      NVVM::FenceMbarrierInitOp::create(b);
    });
  });
  context.cluster.emitBarrier(b);
  emit::emitIf(
      b, multiplies,
      [&] {
        emitSetRegisters(b, spec, /*multiplies=*/true);
        // Those who decode early wait for the launch before results.
        if (!spec.decodesEarly())
          emitRoleWait(b, arguments, /*isEarly=*/false);
        emitProducts(b, context, WgmmaThread(b, spec, thread));
      },
      [&] {
        emitSetRegisters(b, spec, /*multiplies=*/false);
        for (int64_t i = 0; i < kLoadWarps; ++i)
          emit::emitIf(b, compare(Predicate::eq, warp, firstLoader + i), [&] {
            emitInOneThread(b, [&] {
              bool isPlain = i > 0, isA = isPlain != spec.format.isScaledA;
              emitRoleWait(b, arguments,
                           isA ? arguments.loadsAEarly : arguments.loadsBEarly);
              StagedOperands operands = getStagedOperands(
                  context, {context.plainFull, context.stageEmpty});
              operands.sharers = context.cluster.sharers;
              operands.sharer = context.cluster.sharer;
              emitStagedLoads(b, operands, isPlain);
            });
          });
        // A warp that has nothing else to do.
        context.order.emitCheckGroups(
            b, compare(Predicate::eq, warp, firstLoader + kLoadWarps), thread);
      });
  // Others of the cluster read sums in memory that must still be there, or copy
  // to it and arrive at its barriers.
  if (context.cluster.blocks > 1)
    context.cluster.emitBarrier(b);
}

} // namespace blockscale::products

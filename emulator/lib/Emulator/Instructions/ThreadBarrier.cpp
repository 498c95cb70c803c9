//===- ThreadBarrier.cpp - Barriers of threads, and fences ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/AsyncIssue.h"
#include "Emulator/Instructions/Decoder.h"

#include "Emulator/Machine/Cluster.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// bar and barrier
//===----------------------------------------------------------------------===//

namespace {
struct BarrierData : OpData {
  enum Kind : uint8_t { Sync, Arrive, Popcount, And, Or };
  Kind kind = Sync;
  bool isAligned = true;
  bool hasCount = false;
};
} // namespace

/// Lets everybody go that waits at a barrier whose threads have all arrived.
static void complete(Cta &cta, unsigned index) {
  NamedBarrier &barrier = cta.namedBarriers[index];
  if (!barrier.expected)
    return;
  uint32_t expected = *barrier.expected ? *barrier.expected : cta.liveThreads;
  if (barrier.count < expected)
    return;
  if (!*barrier.expected)
    barrier.clock.join(cta.exits);
  for (const std::unique_ptr<Warp> &warp : cta.getWarps()) {
    bool waits = false;
    for (BarrierTicket &ticket : warp->tickets)
      if (ticket.state == BarrierTicket::Waiting && ticket.barrier == index) {
        ticket.state = BarrierTicket::Passed;
        ticket.trues = barrier.trues;
        ticket.count = barrier.count;
        ticket.passed = cta.getCluster().getTime();
        waits = true;
      }
    if (waits)
      cta.getCluster().getClocks().acquire(warp->getClusterIndex(),
                                           barrier.clock);
  }
  barrier = NamedBarrier();
  cta.getCluster().noteChange();
}

/// The threads that the barrier waits for, 0 for all; none, and a fault, where
/// they cannot be.
static std::optional<uint32_t> getExpected(Warp &warp, const Op &op,
                                           unsigned lane, uint64_t index) {
  auto fail = [&](std::string what, llvm::StringRef advice) {
    warp.report(op, lane,
                Fault{FaultKind::Barrier, std::move(what), advice.str()});
    return std::nullopt;
  };
  Cta &cta = warp.getCta();
  if (index >= cta.namedBarriers.size())
    return fail(llvm::formatv("expected a barrier from 0 to {0}, but got {1}",
                              cta.namedBarriers.size() - 1, index),
                "a CTA has sixteen barriers");
  uint32_t expected = 0;
  if (op.get<BarrierData>().hasCount) {
    LaneValues scratch;
    expected = warp.read(op.sources[1], scratch)[lane];
    if (expected == 0 || expected % kWarpSize != 0)
      return fail(llvm::formatv("expected the number of threads to be a "
                                "multiple of {0}, but got {1}",
                                kWarpSize, expected),
                  "count whole warps");
  }
  NamedBarrier &barrier = cta.namedBarriers[index];
  if (barrier.expected && *barrier.expected != expected)
    return fail(llvm::formatv("expected the {0} threads that the others at "
                              "barrier {1} wait for, but got {2}",
                              *barrier.expected, index, expected),
                "give all threads at a barrier the same number");
  return expected;
}

/// Counts lanes that name one barrier.
static bool arrive(Warp &warp, const Op &op, LaneMask lanes, uint64_t index,
                   bool waits) {
  const auto &data = op.get<BarrierData>();
  std::optional<uint32_t> expected =
      getExpected(warp, op, llvm::countr_zero(lanes), index);
  if (!expected)
    return false;
  NamedBarrier &barrier = warp.getCta().namedBarriers[index];
  barrier.expected = expected;
  warp.getCluster().getClocks().release(warp.getClusterIndex(), barrier.clock);
  // A count is of whole warps, whether their threads are there or not.
  barrier.count +=
      data.isAligned && data.hasCount ? kWarpSize : llvm::popcount(lanes);
  if (data.kind >= BarrierData::Popcount)
    barrier.trues += llvm::popcount(warp.getPredicate(
        op.sources.back(),
        warp.require(op, op.sources.back(), lanes, "the predicate")));
  if (waits)
    for (unsigned lane : lanesOf(lanes)) {
      warp.tickets[lane].state = BarrierTicket::Waiting;
      warp.tickets[lane].barrier = index;
    }
  warp.getCluster().noteChange();
  complete(warp.getCta(), index);
  return true;
}

static void setReduction(Warp &warp, const Op &op, LaneMask lanes) {
  if (op.results.empty())
    return;
  uint64_t *values = warp.write(op.results[0]);
  for (unsigned lane : lanesOf(lanes)) {
    const BarrierTicket &ticket = warp.tickets[lane];
    switch (op.get<BarrierData>().kind) {
    case BarrierData::And:
      values[lane] = ticket.trues == ticket.count;
      break;
    case BarrierData::Or:
      values[lane] = ticket.trues != 0;
      break;
    default:
      values[lane] = ticket.trues;
    }
  }
  warp.define(op.results[0], lanes);
}

static Step runBarrier(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<BarrierData>();
  LaneValues scratch;
  LaneMask known = warp.require(op, op.sources[0], active, "the barrier");
  const uint64_t *indices = warp.read(op.sources[0], scratch);
  bool waits = data.kind != BarrierData::Arrive;
  LaneMask fresh = 0;
  for (unsigned lane : lanesOf(known))
    if (warp.tickets[lane].state == BarrierTicket::None)
      fresh |= LaneMask(1) << lane;
  while (fresh) {
    uint64_t index = indices[llvm::countr_zero(fresh)];
    LaneMask together = 0;
    for (unsigned lane : lanesOf(fresh))
      if (indices[lane] == index)
        together |= LaneMask(1) << lane;
    fresh &= ~together;
    if (!arrive(warp, op, together, index, waits))
      known &= ~together;
  }
  if (!waits)
    return Step::Next;
  for (unsigned lane : lanesOf(known)) {
    const BarrierTicket &ticket = warp.tickets[lane];
    // Threads that have exited meanwhile are no longer expected.
    if (ticket.state == BarrierTicket::Waiting)
      complete(warp.getCta(), ticket.barrier);
    if (ticket.state == BarrierTicket::Waiting)
      return Step::Blocked;
  }
  setReduction(warp, op, known);
  for (unsigned lane : lanesOf(known)) {
    warp.tickets[lane].state = BarrierTicket::None;
    warp.noteSynchronised(lane, warp.tickets[lane].passed);
  }
  return Step::Next;
}

static std::string describeNamedBarrier(Warp &warp, const Op &op,
                                        unsigned lane) {
  const BarrierTicket &ticket = warp.tickets[lane];
  if (ticket.state != BarrierTicket::Waiting)
    return "waits for the other threads of its warp";
  const NamedBarrier &barrier = warp.getCta().namedBarriers[ticket.barrier];
  uint32_t expected = barrier.expected.value_or(0);
  return llvm::formatv(
      "{0} of {1} threads have arrived at barrier {2}", barrier.count,
      expected ? expected : warp.getCta().liveThreads, ticket.barrier);
}

static llvm::Error decodeNamedBarrier(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  auto data = std::make_unique<BarrierData>();
  data->isAligned =
      instruction.form->words.front() == "bar" || instruction.has("aligned");
  data->kind = instruction.has("arrive") ? BarrierData::Arrive
               : instruction.has("popc") ? BarrierData::Popcount
               : instruction.has("and")  ? BarrierData::And
               : instruction.has("or")   ? BarrierData::Or
                                         : BarrierData::Sync;
  llvm::ArrayRef<Operand> operands = instruction.operands;
  bool isReduction = data->kind >= BarrierData::Popcount;
  if (isReduction) {
    llvm::Expected<Result> result = decoder.getResult(operands.front());
    if (!result)
      return result.takeError();
    op.results.push_back(*result);
    operands = operands.drop_front();
  }
  data->hasCount = operands.size() == (isReduction ? 3 : 2);
  for (const Operand &operand : operands) {
    bool isPredicate = isReduction && &operand == &operands.back();
    llvm::Expected<Source> source =
        decoder.getSource(operand, isPredicate ? Type::Pred : Type::U32);
    if (!source)
      return source.takeError();
    op.sources.push_back(*source);
  }
  if (data->isAligned)
    op.convergence = Convergence::Warp;
  op.data = std::move(data);
  op.handler = runBarrier;
  op.describeWait = describeNamedBarrier;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// barrier.cluster
//===----------------------------------------------------------------------===//

static bool completeCluster(Cluster &cluster) {
  ClusterBarrier &barrier = cluster.barrier;
  if (barrier.arrived == 0 || barrier.arrived < cluster.liveThreads)
    return false;
  barrier.arrived = 0;
  ++barrier.rounds;
  barrier.passed = cluster.getTime();
  for (const std::unique_ptr<Cta> &cta : cluster.getCtas())
    barrier.pending.join(cta->exits);
  barrier.completed = std::exchange(barrier.pending, {});
  cluster.noteChange();
  return true;
}

static Step runClusterArrive(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  bool isRelease = !op.instruction->has("relaxed");
  if (isRelease)
    cluster.published.notePublish(warp.getCta().getRank(), cluster.getTime());
  for (unsigned lane : lanesOf(active)) {
    BarrierTicket &ticket = warp.tickets[lane];
    if (ticket.hasArrived) {
      warp.report(op, lane,
                  Fault{FaultKind::Barrier,
                        "expected a thread to wait between two arrivals at the "
                        "barrier of the cluster",
                        "execute barrier.cluster.wait before it arrives "
                        "again"});
      continue;
    }
    ++cluster.barrier.arrived;
    ticket.hasArrived = true;
    ticket.clusterRound = cluster.barrier.rounds;
  }
  cluster.getClocks().release(warp.getClusterIndex(), cluster.barrier.pending,
                              /*isRelaxed=*/!isRelease);
  cluster.noteChange();
  completeCluster(cluster);
  return Step::Next;
}

static Step runClusterWait(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  completeCluster(cluster);
  for (unsigned lane : lanesOf(active)) {
    const BarrierTicket &ticket = warp.tickets[lane];
    if (!ticket.hasArrived)
      warp.report(op, lane,
                  Fault{FaultKind::Barrier,
                        "expected a thread to arrive at the barrier of the "
                        "cluster before it waits there",
                        "execute barrier.cluster.arrive before"});
    else if (ticket.clusterRound == cluster.barrier.rounds)
      return Step::Blocked;
  }
  for (unsigned lane : lanesOf(active)) {
    warp.tickets[lane].hasArrived = false;
    warp.noteSynchronised(lane, cluster.barrier.passed);
  }
  cluster.getClocks().acquire(warp.getClusterIndex(),
                              cluster.barrier.completed);
  return Step::Next;
}

static std::string describeCluster(Warp &warp, const Op &op, unsigned lane) {
  Cluster &cluster = warp.getCluster();
  return llvm::formatv("{0} of {1} threads of the cluster have arrived",
                       cluster.barrier.arrived, cluster.liveThreads);
}

//===----------------------------------------------------------------------===//
// bar.warp.sync and fences
//===----------------------------------------------------------------------===//

static Step runWarpBarrier(Warp &warp, const Op &op, LaneMask active) {
  warp.noteSynchronised(active);
  return Step::Next;
}

/// Values are those of sequentially consistent memory: a fence matters to the
/// logs of races and of new barriers.
static Step runMemoryFence(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  if (!op.instruction->has("cta"))
    cluster.published.notePublish(warp.getCta().getRank(), cluster.getTime());
  cluster.getClocks().fence(warp.getClusterIndex(), op.scope);
  return Step::Next;
}

static Step runBarrierInitFence(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  unsigned rank = warp.getCta().getRank();
  cluster.published.notePublish(rank, cluster.getTime());
  cluster.published.noteProxyFence(rank, cluster.getTime());
  cluster.getClocks().fence(warp.getClusterIndex(), MemoryScope::Cluster);
  return Step::Next;
}

/// fence.proxy.async: of global or shared memory, or of both.
static Step runProxyFence(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  bool isGlobal = op.instruction->has("global");
  if (isGlobal ||
      (op.instruction->has("async") &&
       op.instruction->getModifier({"shared::cta", "shared::cluster"}).empty()))
    cluster.getClocks().fenceProxy(warp.getClusterIndex());
  if (isGlobal)
    return Step::Next;
  warp.noteProxyFence(active);
  cluster.published.noteProxyFence(warp.getCta().getRank(), cluster.getTime());
  return Step::Next;
}

/// fence.proxy.tensormap::generic.acquire of a map that may be edited.
static Step runMapFence(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  LaneValues maps;
  for (unsigned lane :
       lanesOf(warp.readAddresses(op, op.addresses[0], active, maps)))
    cluster.tensorMaps.noteAcquire(maps[lane], warp.getAgent(lane),
                                   cluster.getTime());
  cluster.getClocks().fence(warp.getClusterIndex(), op.scope);
  return Step::Next;
}

llvm::Error decodeBarrier(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef name = instruction.form->name;
  if (name == "bar" || name == "barrier")
    return decodeNamedBarrier(decoder, op);
  if (name == "bar.warp.sync") {
    llvm::Expected<Source> mask =
        decoder.getSource(instruction.operands[0], Type::B32);
    if (!mask)
      return mask.takeError();
    op.memberMask = *mask;
    op.convergence = Convergence::Members;
    op.handler = runWarpBarrier;
  } else if (name == "barrier.cluster.arrive") {
    op.handler = runClusterArrive;
    op.describeWait = describeCluster;
  } else if (name == "barrier.cluster.wait") {
    op.handler = runClusterWait;
    op.describeWait = describeCluster;
  } else if (name == "fence.proxy" &&
             (instruction.has("async") || (instruction.has("async::generic") &&
                                           instruction.has("release")))) {
    op.handler = runProxyFence;
  } else if (instruction.has("mbarrier_init")) {
    op.handler = runBarrierInitFence;
  } else if (name == "fence.proxy" && instruction.has("acquire") &&
             !instruction.operands.empty()) {
    op.handler = runMapFence;
    op.scope = getScope(instruction);
    return addOperands(decoder, op, 0, Type::B32);
  } else {
    op.handler = runMemoryFence;
    op.scope = getScope(instruction);
  }
  return llvm::Error::success();
}

} // namespace blockscale::emulator

//===- MBarrierOperations.cpp - Instructions of mbarriers -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/AsyncIssue.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

namespace {
struct MBarrierData : OpData {
  bool isGeneric = false;
  /// The barrier may be that of another CTA.
  bool isCluster = false;
  bool isDrop = false;
  bool isNoComplete = false;
  bool isParity = false;
  /// The arrival or wait orders no memory.
  bool isRelaxed = false;
  /// try_wait.
  bool suspends = false;
};
} // namespace

/// Calls `visit(issuer, shared address, value)` for each lane, with the first
/// source where there is one.
template <typename Visit>
static void forEachBarrier(Warp &warp, const Op &op, LaneMask active,
                           Visit visit) {
  const auto &data = op.get<MBarrierData>();
  LaneValues addresses, scratch;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  const uint64_t *values = nullptr;
  if (!op.sources.empty()) {
    known = warp.require(op, op.sources[0], known, "the operand");
    values = warp.read(op.sources[0], scratch);
  }
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    std::optional<uint64_t> shared =
        issuer.toShared(addresses[lane], data.isGeneric);
    if (!shared)
      continue;
    llvm::SmallVector<Fault, 1> faults;
    if (!data.isCluster &&
        !isOwnShared(*shared, warp.getCta().getRank(), faults)) {
      issuer.report(faults);
      continue;
    }
    visit(issuer, *shared, values ? values[lane] : 0);
  }
}

//===----------------------------------------------------------------------===//
// init, inval, and bytes
//===----------------------------------------------------------------------===//

static Step runInit(Warp &warp, const Op &op, LaneMask active) {
  Cta &cta = warp.getCta();
  forEachBarrier(warp, op, active,
                 [&](const Issuer &issuer, uint64_t shared, uint64_t count) {
                   llvm::SmallVector<Fault, 1> faults;
                   if (!cta.getShared().write(shared, 8, 8, faults).empty() &&
                       cta.getBarriers().init(shared, count, faults)) {
                     issuer.noteStore({shared, 8});
                     issuer.getHazards().forgetBarrier(shared);
                     issuer.getCluster().getClocks().forgetBarrier(shared);
                     issuer.getCluster().published.noteInit(
                         shared, issuer.getCluster().getTime());
                   }
                   issuer.report(faults);
                 });
  warp.getCluster().noteChange();
  return Step::Next;
}

static Step runInval(Warp &warp, const Op &op, LaneMask active) {
  Cta &cta = warp.getCta();
  forEachBarrier(warp, op, active,
                 [&](const Issuer &issuer, uint64_t shared, uint64_t) {
                   llvm::SmallVector<Fault, 1> faults;
                   if (cta.getBarriers().invalidate(shared, faults)) {
                     issuer.noteStore({shared, 8});
                     issuer.getHazards().forgetBarrier(shared);
                     issuer.getCluster().getClocks().forgetBarrier(shared);
                     cta.getShared().forget(shared, 8);
                   }
                   issuer.report(faults);
                 });
  warp.getCluster().noteChange();
  return Step::Next;
}

/// What the thread did before it was counted in a phase, which may be over now.
static void noteArrival(const Issuer &issuer, uint64_t shared, uint64_t phase,
                        const MBarrier &barrier) {
  ClockLog &clocks = issuer.getCluster().getClocks();
  clocks.arrive(issuer.warp.getClusterIndex(), shared,
                issuer.op.get<MBarrierData>().isRelaxed);
  if (barrier.getPhase() != phase)
    clocks.complete(shared);
}

template <bool (MBarrier::*kChange)(uint32_t, Faults &)>
static Step runTx(Warp &warp, const Op &op, LaneMask active) {
  forEachBarrier(warp, op, active,
                 [&](const Issuer &issuer, uint64_t shared, uint64_t bytes) {
                   MBarrier *barrier = issuer.findBarrier(shared);
                   if (!barrier)
                     return;
                   llvm::SmallVector<Fault, 1> faults;
                   issuer.noteBarrier(shared);
                   uint64_t phase = barrier->getPhase();
                   if ((barrier->*kChange)(bytes, faults))
                     noteArrival(issuer, shared, phase, *barrier);
                   issuer.report(faults);
                 });
  warp.getCluster().noteChange();
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

/// Leaves the states that `arrive` returns.
template <typename Arrive>
static Step runArrival(Warp &warp, const Op &op, LaneMask active,
                       Arrive arrive) {
  LaneMask done = 0;
  forEachBarrier(warp, op, active,
                 [&](const Issuer &issuer, uint64_t shared, uint64_t value) {
                   MBarrier *barrier = issuer.findBarrier(shared);
                   if (!barrier)
                     return;
                   llvm::SmallVector<Fault, 1> faults;
                   issuer.noteBarrier(shared);
                   uint64_t phase = barrier->getPhase();
                   std::optional<MBarrier::State> state =
                       arrive(*barrier, value, faults);
                   issuer.report(faults);
                   if (!state)
                     return;
                   noteArrival(issuer, shared, phase, *barrier);
                   done |= LaneMask(1) << issuer.lane;
                   warp.write(op.results[0])[issuer.lane] = *state;
                 });
  warp.define(op.results[0], active, done);
  warp.getCluster().noteChange();
  return Step::Next;
}

static Step runMBarrierArrive(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MBarrierData>();
  return runArrival(warp, op, active,
                    [&](MBarrier &barrier, uint64_t count, Faults &faults) {
                      MBarrier::ArriveOptions options;
                      options.count = op.sources.empty() ? 1 : count;
                      options.drop = data.isDrop;
                      options.noComplete = data.isNoComplete;
                      return barrier.arrive(options, faults);
                    });
}

static Step runArriveExpectTx(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MBarrierData>();
  return runArrival(warp, op, active,
                    [&](MBarrier &barrier, uint64_t bytes, Faults &faults) {
                      return barrier.arriveExpectTx(bytes, data.isDrop, faults);
                    });
}

static Step runPendingCount(Warp &warp, const Op &op, LaneMask active) {
  LaneValues scratch;
  const uint64_t *states = warp.read(op.sources[0], scratch);
  uint64_t *counts = warp.write(op.results[0]);
  for (unsigned lane : lanesOf(active))
    counts[lane] = MBarrier::getPendingCount(states[lane]);
  warp.define(op.results[0], active, warp.getDefined(op.sources[0]));
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Waits
//===----------------------------------------------------------------------===//

/// test_wait and try_wait. Lanes of one warp may ask for different barriers:
/// try_wait suspends while none of them has what it waits for.
static Step runPhaseWait(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MBarrierData>();
  Cluster &cluster = warp.getCluster();
  LaneMask complete = 0, refused = active;
  forEachBarrier(warp, op, active,
                 [&](const Issuer &issuer, uint64_t shared, uint64_t value) {
                   MBarrier *barrier = issuer.findBarrier(shared);
                   if (!barrier)
                     return;
                   llvm::SmallVector<Fault, 1> faults;
                   issuer.noteBarrier(shared);
                   std::optional<bool> isComplete =
                       data.isParity ? barrier->isParityComplete(value, faults)
                                     : barrier->isComplete(value, faults);
                   issuer.report(faults);
                   if (!isComplete)
                     return;
                   LaneMask lane = LaneMask(1) << issuer.lane;
                   refused &= ~lane;
                   if (!*isComplete)
                     return;
                   complete |= lane;
                   if (data.isRelaxed)
                     return;
                   issuer.getHazards().observe(shared, barrier->getPhase(),
                                               cluster.getTime());
                   cluster.getClocks().observe(warp.getClusterIndex(), shared);
                 });
  // It may give up at any time: now and then it does.
  bool givesUp = cluster.isTimedOut() ||
                 (cluster.isAdversarial() && cluster.getRandom()() % 8 == 0);
  if (data.suspends && !complete && !refused && !givesUp)
    return Step::Blocked;
  uint64_t *values = warp.write(op.results[0]);
  // A wait that cannot be is over, so that the run goes on.
  for (unsigned lane : lanesOf(active))
    values[lane] = (complete | refused) >> lane & 1;
  warp.define(op.results[0], active);
  warp.noteSynchronised(complete);
  return (complete | refused) == active ? Step::Next : Step::Yield;
}

static std::string describePhaseWait(Warp &warp, const Op &op, unsigned lane) {
  const auto &data = op.get<MBarrierData>();
  LaneValues scratch;
  uint64_t address =
      warp.read(op.addresses[0].base, scratch)[lane] + op.addresses[0].offset;
  uint64_t shared =
      data.isGeneric ? resolveGeneric(address).address : uint32_t(address);
  const auto &barriers = warp.getCta().getBarriers().getBarriers();
  auto it = barriers.find(shared);
  std::string state =
      it == barriers.end() ? "there is none" : it->second.describe();
  if (!data.isParity)
    return llvm::formatv("the mbarrier at {0:x} is in {1}", shared, state);
  uint64_t parity = warp.read(op.sources[0], scratch)[lane];
  return llvm::formatv("waits for parity {0} of the mbarrier at {1:x}, which "
                       "is in {2}",
                       parity, shared, state);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static Handler findHandler(llvm::ArrayRef<llvm::StringRef> words) {
  llvm::StringRef name = words[1];
  if (name == "init")
    return runInit;
  if (name == "inval")
    return runInval;
  if (name == "expect_tx")
    return runTx<&MBarrier::expectTx>;
  if (name == "complete_tx")
    return runTx<&MBarrier::completeTx>;
  if (name == "pending_count")
    return runPendingCount;
  if (name == "test_wait" || name == "try_wait")
    return runPhaseWait;
  return words.back() == "expect_tx" ? runArriveExpectTx : runMBarrierArrive;
}

llvm::Error decodeMBarrier(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::ArrayRef<llvm::StringRef> words = instruction.form->words;
  auto data = std::make_unique<MBarrierData>();
  data->isGeneric = isGeneric(instruction);
  data->isCluster = instruction.has("shared::cluster");
  data->isDrop = words[1] == "arrive_drop";
  data->isNoComplete = words.back() == "noComplete";
  data->isParity = words.back() == "parity";
  data->isRelaxed = instruction.has("relaxed");
  data->suspends = words[1] == "try_wait";
  bool isWait = words[1] == "test_wait" || data->suspends;
  op.handler = findHandler(words);
  if (isWait)
    op.describeWait = describePhaseWait;

  bool hasResult = isWait || data->isDrop || words[1] == "arrive" ||
                   words[1] == "pending_count";
  if (hasResult)
    if (llvm::Error error = addResult(decoder, op, instruction.operands[0]))
      return error;
  bool hasState = words[1] == "pending_count" || (isWait && !data->isParity);
  if (llvm::Error error =
          addOperands(decoder, op, hasResult, hasState ? Type::B64 : Type::U32))
    return error;
  // The time for which try_wait may suspend means nothing here.
  if (isWait)
    op.sources.truncate(1);
  op.data = std::move(data);
  return llvm::Error::success();
}

} // namespace blockscale::emulator

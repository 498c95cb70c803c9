//===- Warp.cpp - A warp and its registers --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Machine/Warp.h"

#include "Emulator/Machine/Cluster.h"
#include "Emulator/Machine/Cta.h"
#include "Emulator/Machine/LaunchLimits.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/xxhash.h"

namespace blockscale::emulator {

Warp::Warp(Cta &cta, unsigned index, LaneMask lanes)
    : cta(cta), index(index), clusterIndex(cta.getFirstWarp() + index),
      clock(cta.getCluster().getClocks().get(clusterIndex)), live(lanes) {
  const ProgramFunction &kernel = cta.getCluster().getContext().kernel;
  current.depth = ~uint32_t(0);
  setSpecials();
  enter(lanes, kernel);
}

Cluster &Warp::getCluster() { return cta.getCluster(); }

uint64_t Warp::getTime() { return getCluster().getTime(); }

//===----------------------------------------------------------------------===//
// Groups
//===----------------------------------------------------------------------===//

void Warp::moveTo(LaneMask lanes, uint32_t place) {
  if (lanes == current.lanes) {
    current.place = place;
    hasMovedAll = true;
    return;
  }
  current.lanes &= ~lanes;
  groups.push_back({lanes, place, current.depth, /*isBlocked=*/false});
}

void Warp::setBlocked(LaneMask lanes) {
  current.lanes &= ~lanes;
  groups.push_back({lanes, current.place, current.depth, /*isBlocked=*/true});
}

void Warp::exit(LaneMask lanes) {
  current.lanes &= ~lanes;
  live &= ~lanes;
  unsigned count = llvm::popcount(lanes);
  cta.liveThreads -= count;
  getCluster().liveThreads -= count;
  getCluster().getClocks().release(clusterIndex, cta.exits);
  if (cta.liveThreads == 0) {
    cta.checkRemoteUses();
    cta.getRegisters().check();
  }
  getCluster().noteChange();
  // Lanes that wait for the rest of the warp may have all of it now.
  for (LaneGroup &group : groups)
    group.isBlocked = false;
}

void Warp::enter(LaneMask lanes, const ProgramFunction &function) {
  uint32_t depth = current.depth + 1;
  if (depth == frames.size())
    frames.push_back(std::make_unique<Frame>());
  Frame &callee = *frames[depth];
  if (callee.defined.size() < function.slotCount) {
    callee.values.resize(size_t(function.slotCount) * kWarpSize);
    callee.defined.resize(function.slotCount);
  }
  for (uint32_t slot = 0; slot < function.slotCount; ++slot)
    callee.defined[slot] &= ~lanes;
  if (callee.bytesPerLane < function.frameBytes) {
    std::vector<uint8_t> wider(function.frameBytes * kWarpSize);
    for (unsigned lane = 0; lane < kWarpSize && callee.bytesPerLane; ++lane)
      std::memcpy(&wider[lane * function.frameBytes],
                  &callee.bytes[lane * callee.bytesPerLane],
                  callee.bytesPerLane);
    callee.bytes = std::move(wider);
    callee.bytesPerLane = function.frameBytes;
  }
  for (unsigned lane : lanesOf(lanes)) {
    callee.call[lane] = current.place;
    // The launch has looked at the kernel's own.
    if (depth > 0)
      callee.callBytes[lane] = frame->callBytes[lane] + getCallBytes(function);
    if (function.localBytes == 0)
      continue;
    if (!local[lane])
      local[lane] = std::make_unique<Memory>(StateSpace::Local, /*first=*/0);
    callee.local[lane] =
        local[lane]->allocate((function.function->name + " local memory").str(),
                              function.localBytes, function.localAlignment);
  }
  current.lanes &= ~lanes;
  groups.push_back({lanes, function.entry, depth, /*isBlocked=*/false});
}

void Warp::leave(LaneMask lanes) {
  if (current.depth == 0)
    return exit(lanes);
  const Program &program = getCluster().getContext().program;
  current.lanes &= ~lanes;
  bool hasLocal = program.getFunctionOf(current.place).localBytes != 0;
  while (lanes) {
    uint32_t call = frame->call[llvm::countr_zero(lanes)];
    LaneMask together = 0;
    for (unsigned lane : lanesOf(lanes)) {
      if (frame->call[lane] != call)
        continue;
      together |= LaneMask(1) << lane;
      if (hasLocal)
        local[lane]->release(frame->local[lane]);
    }
    groups.push_back(
        {together, call + 1, current.depth - 1, /*isBlocked=*/false});
    lanes &= ~together;
  }
}

/// Puts the executing group back, joins groups that met and takes out the one
/// to execute next; false where none can go on.
bool Warp::selectGroup() {
  if (current.lanes)
    groups.push_back(current);
  current.lanes = 0;
  for (size_t i = 0; i < groups.size(); ++i)
    for (size_t j = groups.size() - 1; j > i; --j)
      if (groups[j].place == groups[i].place &&
          groups[j].depth == groups[i].depth) {
        groups[i].lanes |= groups[j].lanes;
        groups[i].isBlocked &= groups[j].isBlocked;
        groups.erase(groups.begin() + j);
      }
  LaneGroup *best = nullptr;
  for (LaneGroup &group : groups) {
    if (group.isBlocked)
      continue;
    if (preferred & group.lanes) {
      best = &group;
      break;
    }
    if (!best || group.depth > best->depth ||
        (group.depth == best->depth && group.place < best->place))
      best = &group;
  }
  if (!best)
    return false;
  current = *best;
  groups.erase(best);
  frame = frames[current.depth].get();
  return true;
}

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// The lanes of `active` that execute now; others are put aside. None where
/// they must wait for lanes that are elsewhere.
LaneMask Warp::converge(const Op &op, LaneMask active) {
  LaneMask members = live;
  if (op.convergence == Convergence::Members) {
    LaneValues scratch;
    active = require(op, op.memberMask, active, "the member mask");
    if (!active)
      return 0;
    const uint64_t *masks = read(op.memberMask, scratch);
    auto mask = LaneMask(masks[llvm::countr_zero(active)]);
    LaneMask others = 0;
    for (unsigned lane : lanesOf(active))
      if (LaneMask(masks[lane]) != mask)
        others |= LaneMask(1) << lane;
    if (others) {
      current.lanes &= ~others;
      groups.push_back({others, current.place, current.depth, false});
      active &= ~others;
    }
    members = mask & live;
    if (active & ~members) {
      report(op, llvm::countr_zero(active & ~members),
             Fault{FaultKind::Hazard,
                   llvm::formatv("expected a thread that executes it to be in "
                                 "the member mask {0:x}, but lane {1} is not",
                                 mask, llvm::countr_zero(active & ~members)),
                   "name all lanes that execute it, and no others"});
      members |= active;
    }
  }
  LaneMask missing = members & ~active;
  if (!missing)
    return active;
  if (LaneMask excluded = missing & current.lanes) {
    report(op, llvm::countr_zero(excluded),
           Fault{FaultKind::Hazard,
                 llvm::formatv("expected all {0} to execute it, but the guard "
                               "excludes lane {1}",
                               op.convergence == Convergence::Members
                                   ? "members of the mask"
                                   : "threads of the warp",
                               llvm::countr_zero(excluded)),
                 "take the instruction out of the condition"});
    if (!(missing & ~excluded))
      return active;
  }
  setBlocked(active);
  return 0;
}

Step Warp::execute(const Op &op) {
  LaneMask active = current.lanes;
  if (op.isGuarded) {
    active = getPredicate(op.guard, require(op, op.guard, active, "the guard"));
    if (!active)
      return Step::Next;
  }
  if (op.convergence != Convergence::None) {
    active = converge(op, active);
    if (!active)
      return current.lanes ? Step::Next : Step::Moved;
  }
  if (!inFlight.empty())
    checkInFlight(op, active);
  Cluster &cluster = getCluster();
  Profile &profile = cluster.getProfile();
  profile.threadInstructions += llvm::popcount(active);
  profile.byOp[current.place] += llvm::popcount(active);
  uint32_t place = current.place;
  Step step = op.handler(*this, op, active);
  if (!openStores.empty())
    checkOpenStores(op);
  if (!globalLoads.empty() || !globalStores.empty())
    checkGlobalAccesses(op);
  if (llvm::raw_ostream *trace = cluster.getContext().options.trace)
    if (step != Step::Blocked)
      writeTrace(*trace, place, active);
  if (step == Step::Blocked) {
    setBlocked(active);
    return current.lanes ? Step::Next : Step::Moved;
  }
  return step;
}

/// More instructions than this are not on the way round a loop that waits.
static constexpr uint64_t kMaxSpin = 4096;

/// One in so many instructions that others may wait for ends a turn, where the
/// schedule is drawn.
static constexpr unsigned kOvertakeChance = 32;

Warp::Turn Warp::run(uint64_t steps) {
  Cluster &cluster = getCluster();
  LaunchContext &context = cluster.getContext();
  llvm::ArrayRef<Op> ops = context.program.getOps();
  preferred = 0;
  for (LaneGroup &group : groups)
    group.isBlocked = false;
  if (cluster.isAdversarial() && !groups.empty())
    preferred = LaneMask(1) << cluster.getRandom()() % kWarpSize;
  stepsSinceYield += steps;
  for (; steps; --steps) {
    if ((!groups.empty() || !current.lanes) && !selectGroup())
      return live ? Turn::Waiting : Turn::Done;
    hasMovedAll = false;
    ++cluster.getProfile().warpInstructions;
    uint32_t place = current.place;
    uint64_t changesBefore = cluster.getChanges();
    uint64_t pushedBefore = cluster.getQueue().countPushed();
    Step step = execute(ops[place]);
    if (!hasMovedAll && current.lanes && step != Step::Blocked)
      ++current.place;
    bool hasTold = cluster.getChanges() != changesBefore ||
                   cluster.getQueue().countPushed() != pushedBefore;
    cluster.runWorkBehindInstruction();
    if (hasTold && live && cluster.isAdversarial() &&
        cluster.getRandom()() % kOvertakeChance == 0)
      return Turn::Overtaken;
    if (step == Step::Yield) {
      changesAtYield = cluster.getChanges();
      current.polled = place;
      stepsSinceYield = 0;
      return Turn::Waiting;
    }
  }
  // On its way round a loop that waits, it could not really go on.
  if (changesAtYield == cluster.getChanges() && stepsSinceYield < kMaxSpin)
    return Turn::Waiting;
  return couldGoOn() ? Turn::Running : Turn::Waiting;
}

uint64_t Warp::hashState(uint64_t &bytes) const {
  // Groups are in no order, and may be about to meet: by lane.
  std::array<std::pair<uint32_t, uint32_t>, kWarpSize> places = {};
  uint32_t depth = 0;
  forEachGroup([&](const LaneGroup &group) {
    depth = std::max(depth, group.depth);
    for (unsigned lane : lanesOf(group.lanes))
      places[lane] = {group.place, group.depth};
  });
  uint64_t hash = clusterIndex;
  auto add = [&](const void *data, uint64_t size) {
    hash = hash * 0x9E3779B97F4A7C15 ^
           llvm::xxh3_64bits({static_cast<const uint8_t *>(data), size});
    bytes += size;
  };
  add(places.data(), sizeof(places));
  for (uint32_t i = 0; i <= depth; ++i)
    add(frames[i]->values.data(), frames[i]->values.size() * sizeof(uint64_t));
  return hash;
}

void Warp::checkInFlight(const Op &op, LaneMask active) {
  auto check = [&](uint32_t slot, llvm::StringRef verb) {
    for (const InFlight &load : inFlight) {
      if (load.depth != current.depth || load.slot != slot ||
          !(load.lanes & active))
        continue;
      report(op, llvm::countr_zero(load.lanes & active),
             Fault{FaultKind::Hazard,
                   llvm::formatv("{0} a register that the {1} of line {2} may "
                                 "still be writing or reading",
                                 verb, load.op->instruction->getSpelling(),
                                 load.op->instruction->location.line),
                   load.advice.str()});
      return;
    }
  };
  auto checkSource = [&](const Source &source) {
    if (source.kind == Source::Register)
      check(source.index, "reads");
  };
  if (op.isGuarded)
    checkSource(op.guard);
  for (const Source &source : op.sources)
    checkSource(source);
  for (const AddressOperand &address : op.addresses) {
    checkSource(address.base);
    for (const Source &coordinate : address.coordinates)
      checkSource(coordinate);
  }
  for (const Result &result : op.results)
    if (!result.isSink)
      check(result.slot, "writes");
}

void Warp::report(const Op &op, std::optional<unsigned> lane,
                  llvm::ArrayRef<Fault> faults) {
  if (faults.empty())
    return;
  LaunchContext &context = getCluster().getContext();
  Place place;
  place.kernel = context.kernel.function->name.str();
  place.line = op.instruction ? op.instruction->location.line : 0;
  place.cta = cta.getId();
  if (lane)
    place.thread = getThread(*lane);
  for (const Fault &fault : faults)
    if (fault.kind != FaultKind::NanScale || !context.options.allowNanScales)
      context.report.add(place, fault);
}

} // namespace blockscale::emulator

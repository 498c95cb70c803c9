//===- Cluster.cpp - CTAs that run together -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Machine/Cluster.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <utility>

namespace blockscale::emulator {

/// One in so many instructions has a piece of work done behind it, where the
/// schedule is random.
static constexpr unsigned kWorkChance = 8;

/// Instructions that a warp executes before another one has its turn.
static constexpr uint64_t kTurn = 256;

/// Rounds that an overtaken warp is left out of at most.
static constexpr unsigned kMaxRest = 128;

/// Idle rounds behind which states of warps are compared, and the bytes of
/// registers read for it without a change, some tenths of a second.
static constexpr unsigned kComparedRounds = 256;
static constexpr uint64_t kMaxComparedBytes = uint64_t(1) << 30;

/// Threads, CTAs or clusters of a shape.
static uint64_t getVolume(const Dim3 &shape) {
  return uint64_t(shape[0]) * shape[1] * shape[2];
}

unsigned Cluster::getWarpsOfCta() const {
  return llvm::divideCeil(getVolume(context.request.block), kWarpSize);
}

unsigned LaunchContext::countWarps() const {
  return llvm::divideCeil(getVolume(request.block), kWarpSize) *
         getVolume(request.cluster);
}

/// The CTA of this rank in the cluster whose first CTA is `first`.
static Dim3 getCta(const Dim3 &first, const Dim3 &shape, unsigned rank) {
  return {first[0] + rank % shape[0], first[1] + rank / shape[0] % shape[1],
          first[2] + rank / shape[0] / shape[1]};
}

std::string LaunchContext::describeWarp(uint64_t cluster, unsigned warp) const {
  unsigned warpsOfCta = countWarps() / getVolume(request.cluster);
  Dim3 id = getCta(getFirstCta(cluster), request.cluster, warp / warpsOfCta);
  return llvm::formatv("warp {0} of CTA ({1}, {2}, {3})", warp % warpsOfCta,
                       id[0], id[1], id[2]);
}

/// The seed of the cluster whose first CTA is `first`.
static uint64_t getSeed(const LaunchContext &context, const Dim3 &first) {
  return context.options.seed * 0x9E3779B97F4A7C15 +
         (uint64_t(first[2]) << 40 ^ uint64_t(first[1]) << 20 ^ first[0]);
}

Cluster::Cluster(LaunchContext &context, uint64_t number)
    : context(context), clocks(number, getVolume(context.request.cluster),
                               getWarpsOfCta(), context.globalPlaces),
      hazards(context.hazardRules, getVolume(context.request.cluster),
              getWarpsOfCta(), clocks),
      random(getSeed(context, context.getFirstCta(number))) {
  Dim3 first = context.getFirstCta(number);
  profile.byOp.resize(context.program.getOps().size());
  const Dim3 &shape = context.request.cluster;
  unsigned size = getVolume(shape);
  for (unsigned rank = 0; rank < size; ++rank) {
    ctas.push_back(
        std::make_unique<Cta>(*this, getCta(first, shape, rank), rank));
    liveThreads += ctas.back()->liveThreads;
    for (const std::unique_ptr<Warp> &warp : ctas.back()->getWarps())
      order.push_back({warp.get()});
  }
}

Cluster::~Cluster() = default;

bool Cluster::runRound() {
  if (isAdversarial())
    std::shuffle(order.begin(), order.end(), random);
  bool couldGoOn = false;
  for (auto &[warp, rest] : order) {
    if (!warp->getLive())
      continue;
    if (rest) {
      --rest;
      continue;
    }
    uint64_t steps = isAdversarial() ? 1 + random() % kTurn : kTurn;
    Warp::Turn turn = warp->run(steps);
    couldGoOn |= turn == Warp::Turn::Running;
    if (turn == Warp::Turn::Overtaken)
      rest = 1 + random() % kMaxRest;
    if (context.isStopped)
      return false;
  }
  return couldGoOn;
}

/// Whether a warp is left out for now.
bool Cluster::isAnyLeftOut() const {
  return llvm::any_of(order, [](const TurnOf &each) {
    return each.rest && each.warp->getLive();
  });
}

void Cluster::runWorkBehindInstruction() {
  if (queue.empty())
    return;
  if (context.options.schedule == Schedule::Prompt)
    queue.runAll();
  else if (context.options.schedule == Schedule::Random &&
           random() % kWorkChance == 0)
    queue.runOne(random);
}

/// Whether a warp is where it has not been since the last change: a loop that
/// looks at what others change may end by itself.
bool Cluster::isStateNew() {
  bool isNew = false;
  for (const auto &[warp, rest] : order)
    if (warp->getLive() && warp->couldGoOn() &&
        comparedBytes < kMaxComparedBytes)
      isNew |= states.insert(warp->hashState(comparedBytes)).second;
  return isNew;
}

Cluster::Turn Cluster::run(uint64_t steps, unsigned patience) {
  uint64_t end = getTime() + steps;
  uint64_t changesBefore = changes;
  unsigned idleRounds = 0;
  Turn turn = Turn::Running;
  while (!context.isStopped) {
    uint64_t before = changes;
    bool couldGoOn = runRound();
    bool wasTimedOut = std::exchange(timedOut, false);
    if (liveThreads == 0) {
      finish();
      turn = Turn::Done;
      break;
    }
    if (uint64_t limit = context.options.maxSteps; limit && getTime() > limit) {
      reportLimit(limit);
      break;
    }
    if (couldGoOn || changes != before) {
      idleRounds = 0;
      states.clear();
      comparedBytes = 0;
      if (getTime() > end)
        break;
      continue;
    }
    // Who is left out goes on before work is done late, but not before what is
    // done in between.
    if (isAnyLeftOut()) {
      runWorkBehindInstruction();
      continue;
    }
    if (queue.runOne(random)) {
      noteChange();
      continue;
    }
    if (idleRounds >= kComparedRounds && isStateNew())
      idleRounds = kComparedRounds;
    // Left while its threads are at what they wait for, not on their way round.
    if (++idleRounds > patience && !wasTimedOut) {
      turn = Turn::Waiting;
      break;
    }
    timedOut = !wasTimedOut;
  }
  if (changes != changesBefore)
    ++context.changes;
  return turn;
}

/// Asynchronous work that the program has not waited for.
void Cluster::report(llvm::ArrayRef<HazardLog::Leftover> leftovers) {
  for (const HazardLog::Leftover &leftover : leftovers) {
    uint32_t thread = getThreadOf(leftover.agent);
    ctas[getRankOf(leftover.agent)]->getWarps()[thread / kWarpSize]->report(
        *leftover.op, thread % kWarpSize, leftover.fault);
  }
}

void Cluster::reportLeftoversOfPeers(unsigned rank) {
  report(hazards.findLeftoversOfPeers(rank));
}

void Cluster::finish() {
  while (queue.runOne(random))
    ;
  report(hazards.findLeftovers());
  if (context.overlap)
    for (const std::unique_ptr<Cta> &cta : ctas)
      cta->startDependents();
  for (const std::unique_ptr<Cta> &cta : ctas) {
    if (!cta->hasTensorMemory())
      continue;
    llvm::SmallVector<Fault, 1> faults;
    cta->getTensorMemory().checkLeaks(faults);
    Place place;
    place.kernel = context.kernel.function->name.str();
    place.line = context.kernel.function->location.line;
    place.cta = cta->getId();
    for (const Fault &fault : faults)
      context.report.add(place, fault);
  }
}

//===----------------------------------------------------------------------===//
// Ends that are none
//===----------------------------------------------------------------------===//

/// Calls `visit` for each group of lanes that has not exited.
template <typename Visit>
static void visitGroups(llvm::ArrayRef<std::unique_ptr<Cta>> ctas,
                        Visit visit) {
  for (const std::unique_ptr<Cta> &cta : ctas)
    for (const std::unique_ptr<Warp> &warp : cta->getWarps())
      warp->forEachGroup([&](const LaneGroup &group) { visit(*warp, group); });
}

/// "threads 0-31" of a warp's lanes; others follow by ranges.
static std::string describeThreads(const Warp &warp, LaneMask lanes) {
  std::string text;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    if (!(lanes >> lane & 1))
      continue;
    unsigned last = lane;
    while (last + 1 < kWarpSize && lanes >> (last + 1) & 1)
      ++last;
    text += text.empty() ? "" : ", ";
    text += last == lane ? llvm::formatv("{0}", warp.getThread(lane)).str()
                         : llvm::formatv("{0}-{1}", warp.getThread(lane),
                                         warp.getThread(last))
                               .str();
    lane = last;
  }
  return text;
}

void Cluster::reportDeadlock() {
  llvm::ArrayRef<Op> ops = context.program.getOps();
  // Threads that wait at one instruction for one thing are one fault.
  std::map<std::tuple<uint32_t, Dim3, std::string>,
           std::pair<std::string, std::pair<Warp *, unsigned>>>
      waits;
  visitGroups(ctas, [&](Warp &warp, const LaneGroup &group) {
    uint32_t place =
        group.isBlocked ? group.place : group.polled.value_or(group.place);
    const Op &op = ops[place];
    unsigned lane = llvm::countr_zero(group.lanes);
    std::string reason;
    if (op.describeWait)
      reason =
          warp.inGroup(group, [&] { return op.describeWait(warp, op, lane); });
    auto &[threads, first] = waits[{place, warp.getCta().getId(), reason}];
    if (threads.empty())
      first = {&warp, lane};
    threads +=
        (threads.empty() ? "" : ", ") + describeThreads(warp, group.lanes);
  });
  for (auto &[key, value] : waits) {
    const auto &[place, cta, reason] = key;
    auto &[threads, first] = value;
    const Op &op = ops[place];
    first.first->report(
        op, first.second,
        Fault{FaultKind::Deadlock,
              llvm::formatv("threads {0} can never go on behind {1}{2}{3}",
                            threads,
                            op.instruction ? op.instruction->getSpelling()
                                           : std::string("the last line"),
                            reason.empty() ? "" : ": ", reason),
              "compare what they wait for with what the other threads of the "
              "CTA have done"});
  }
}

void Cluster::reportLimit(uint64_t limit) {
  context.isStopped = true;
  bool isFirst = true;
  visitGroups(ctas, [&](Warp &warp, const LaneGroup &group) {
    if (!std::exchange(isFirst, false))
      return;
    warp.report(context.program.getOps()[group.place],
                llvm::countr_zero(group.lanes),
                Fault{FaultKind::Limit,
                      llvm::formatv("expected the cluster to end within {0} "
                                    "instructions of its warps, but it has "
                                    "executed {1} and is still here",
                                    limit, getTime()),
                      "look for a loop that does not end, or raise the limit"});
  });
}

} // namespace blockscale::emulator

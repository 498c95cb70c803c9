//===- Cluster.h - CTAs that run together -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cluster: the CTAs that run together, and what they share.
//
// A cluster runs on one thread of the host. Its warps take turns; work that
// they start for the async proxy is done by the cluster's queue.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MACHINE_CLUSTER_H
#define BLOCKSCALE_LIB_EMULATOR_MACHINE_CLUSTER_H

#include "Emulator/Async/AsyncQueue.h"
#include "Emulator/Async/CopyGroups.h"
#include "Emulator/Hazards/ClockLog.h"
#include "Emulator/Hazards/GlobalRaceLog.h"
#include "Emulator/Hazards/HazardLog.h"
#include "Emulator/Hazards/PublishLog.h"
#include "Emulator/Hazards/StreamLog.h"
#include "Emulator/Hazards/TensorMapLog.h"
#include "Emulator/Machine/Cta.h"
#include "blockscale/Emulator/Launch.h"

#include "llvm/ADT/DenseSet.h"

#include <atomic>
#include <mutex>
#include <random>

namespace blockscale::emulator {

/// What all clusters of a launch share.
struct LaunchContext {
  const Program &program;
  const ProgramFunction &kernel;
  Device &device;
  const LaunchRequest &request;
  const RunOptions &options;
  Report &report;
  /// The kernel's parameters.
  Memory parameters = Memory(StateSpace::Param, /*first=*/0);
  /// The lock that atomic operations on global memory hold.
  std::mutex globalAtomics{}; // NOLINT(readability-redundant-member-init)
  /// A count that rises whenever a cluster changes what others may wait for.
  std::atomic<uint64_t> changes{0};
  /// Set once a launch is to stop: a limit of steps, a trap, a deadlock.
  std::atomic<bool> isStopped{false};
  std::atomic<bool> isDeadlock{false};
  /// Clusters that were started, or whose start was cancelled.
  std::atomic<uint64_t> nextCluster{0};
  /// The device whose tensor cores add products.
  SumDevice sums = options.sums ? *options.sums
                                : findSumDevice(program.getModule().target)
                                      .value_or(SumDevice::Exact);
  HazardRules hazardRules = HazardRules(program, options.requireFences);
  /// The strong accesses to global memory, and the races of the others.
  PlaceLog globalPlaces{}; // NOLINT(readability-redundant-member-init)
  GlobalRaceLog globalRaces = GlobalRaceLog(device.global, countWarps());
  /// The launches of the stream that may run beside this one; null where it has
  /// no stream.
  std::unique_ptr<LaunchOverlap> overlap = makeOverlap();

  std::unique_ptr<LaunchOverlap> makeOverlap() const;

  /// The warps of a cluster.
  unsigned countWarps() const;
  /// The first CTA of the cluster of this number, x fastest.
  Dim3 getFirstCta(uint64_t cluster) const;
  /// "warp 1 of CTA (3, 0, 0)".
  std::string describeWarp(uint64_t cluster, unsigned warp) const;
};

/// How threads of a cluster arrive at and wait for barrier.cluster.
struct ClusterBarrier {
  uint32_t arrived = 0;
  uint64_t rounds = 0;
  /// The time when the last round was over.
  uint64_t passed = 0;
  /// The joined clocks of the threads that have arrived, and those of the last
  /// round.
  VectorClock pending;
  VectorClock completed;
};

class Cluster {
public:
  /// The cluster of this number in the grid.
  Cluster(LaunchContext &context, uint64_t number);
  ~Cluster();

  enum class Turn : uint8_t { Running, Waiting, Done };
  /// Runs until it is done, has executed about `steps` instructions, or waits:
  /// for `patience` rounds of its warps nothing has changed, nor, where
  /// `patience` is long, have they come to a state that is new to them.
  Turn run(uint64_t steps, unsigned patience);

  /// Reports every thread that waits.
  void reportDeadlock();

  LaunchContext &getContext() { return context; }
  llvm::MutableArrayRef<std::unique_ptr<Cta>> getCtas() { return ctas; }
  AsyncQueue &getQueue() { return queue; }
  std::mt19937_64 &getRandom() { return random; }
  /// Whether the seed draws what the machine may choose.
  bool isAdversarial() const {
    return context.options.schedule != Schedule::Prompt;
  }
  /// Does the asynchronous work that the schedule has done behind an
  /// instruction, or in a round in which warps are left out.
  void runWorkBehindInstruction();
  /// Reports what other CTAs have under way to the memory of the CTA of this
  /// rank, all of whose threads have exited.
  void reportLeftoversOfPeers(unsigned rank);
  Profile &getProfile() { return profile; }
  HazardLog &getHazards() { return hazards; }
  ClockLog &getClocks() { return clocks; }
  unsigned getWarpsOfCta() const;
  /// Warp instructions so far: the time of what happens in the cluster.
  uint64_t getTime() const { return profile.warpInstructions; }

  /// Notes a change: to be called when something changes that another thread
  /// may wait for.
  void noteChange() { ++changes; }
  uint64_t getChanges() const { return changes; }
  /// Whether a wait that suspends threads for a time (try_wait) returns now:
  /// nothing else could go on.
  bool isTimedOut() const { return timedOut; }

  ClusterBarrier barrier;
  /// The groups of cp.async and those of cp.async.bulk.
  CopyGroups threadGroups;
  CopyGroups bulkGroups;
  TensorMapLog tensorMaps;
  PublishLog published;
  /// Streams of the queue for cp.async, by Agent / 32.
  std::map<uint32_t, uint64_t> copyStreams;
  /// Streams of the queue for tcgen05.mma and cp, by the rank of the pair's
  /// even CTA, and their work that nobody has waited for yet, by the thread
  /// that started it.
  std::map<unsigned, uint64_t> matrixStreams;
  std::map<Agent, std::vector<WorkRef>> matrixWorks;
  /// Threads of the cluster that have not exited.
  uint32_t liveThreads = 0;

private:
  /// A warp, and the rounds for which the schedule leaves it out.
  struct TurnOf {
    Warp *warp;
    unsigned rest = 0;
  };

  void report(llvm::ArrayRef<HazardLog::Leftover> leftovers);
  bool runRound();
  bool isAnyLeftOut() const;
  bool isStateNew();
  void finish();
  void reportLimit(uint64_t limit);

  LaunchContext &context;
  ClockLog clocks;
  std::vector<std::unique_ptr<Cta>> ctas;
  /// The warps of all CTAs in the order of their turns.
  std::vector<TurnOf> order;
  AsyncQueue queue;
  HazardLog hazards;
  std::mt19937_64 random;
  Profile profile;
  uint64_t changes = 0;
  bool timedOut = false;
  /// States of warps since the last change, and the bytes read to find them.
  llvm::DenseSet<uint64_t> states;
  uint64_t comparedBytes = 0;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MACHINE_CLUSTER_H

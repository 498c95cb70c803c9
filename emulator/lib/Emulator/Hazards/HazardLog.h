//===- HazardLog.h - Conflicts of asynchronous work -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A log of the asynchronous work of a cluster, which finds accesses that
// conflict with it.
//
// Knows the asynchronous work of a cluster from its issue until the program has
// waited for it, whenever the emulator happened to do it. Accesses that
// conflict with such work are faults, and so are operations of the async proxy
// on what threads stored without a proxy fence.
//
// A wait is what PTX has for the work: a phase of the barrier that its
// completion is counted in, or a wait for its group. It need not be the thread
// of the conflicting access that waited: that threads wait for each other is
// for the schedules to prove.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_HAZARDLOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_HAZARDLOG_H

#include "Emulator/Hazards/ClockLog.h"
#include "Emulator/Hazards/SharedShadow.h"
#include "Emulator/Hazards/TensorShadow.h"
#include "blockscale/Emulator/Report.h"

#include "llvm/ADT/Twine.h"

#include <map>

namespace blockscale::emulator {

class Program;

/// What the module's instructions make worth knowing.
struct HazardRules {
  HazardRules(const Program &program, bool requireFences);

  /// Whether the program starts asynchronous work, and whether some of it reads
  /// shared memory.
  bool hasAsyncWork = false;
  bool hasAsyncReads = false;
  /// Whether the program must have tcgen05.fence, and fence.mbarrier_init or
  /// the like behind mbarrier.init: it has some, or the launch requires them.
  /// Compilers leave all of them out where bar.sync is enough for the hardware.
  bool needsTensorFences = false;
  bool needsInitFences = false;
};

class HazardLog {
public:
  /// The log of a cluster of so many CTAs, each of so many warps, whose clocks
  /// are `clocks`.
  HazardLog(const HazardRules &rules, unsigned ctas, unsigned warpsOfCta,
            const ClockLog &clocks)
      : rules(rules), clocks(clocks), warpsOfCta(warpsOfCta),
        syncs(rules.hasAsyncWork ? ctas : 0),
        shared(rules.hasAsyncWork ? ctas : 0),
        tensor(rules.hasAsyncWork ? ctas : 0),
        tensorFences(rules.hasAsyncWork ? ctas * warpsOfCta : 0) {}

  bool isActive() const { return rules.hasAsyncWork; }
  const HazardRules &getRules() const { return rules; }

  //===--------------------------------------------------------------------===//
  // Threads
  //===--------------------------------------------------------------------===//

  void noteSync(Agent agent, uint64_t time) {
    if (rules.hasAsyncWork)
      syncs.noteSync(agent, time);
  }
  void noteProxyFence(Agent agent, uint64_t time) {
    if (rules.hasAsyncReads)
      syncs.noteProxyFence(agent, time);
  }
  void noteTensorFence(Agent agent, bool isAfter, uint64_t time) {
    unsigned warp = getWarp(agent);
    if (isAfter)
      tensorFences.noteAfter(warp, syncs.getLastSync(agent), getClock(warp));
    else
      tensorFences.noteBefore(warp, time);
  }

  /// A thread loads from shared memory.
  void checkLoad(const SharedRange &range, Faults &faults) const;
  /// A thread stores there.
  void noteStore(const SharedRange &range, Agent agent, uint64_t time,
                 Faults &faults);

  //===--------------------------------------------------------------------===//
  // Asynchronous work
  //===--------------------------------------------------------------------===//

  /// Work is issued; faults for what it conflicts with.
  WorkRef begin(AsyncWork work, Faults &faults);

  /// The completion of `work` is counted in phase `phase` of the barrier at
  /// `barrier`.
  void watch(uint64_t barrier, uint64_t phase, WorkRef work);
  /// A wait saw that all phases before `phase` are complete.
  void observe(uint64_t barrier, uint64_t phase, uint64_t time);
  /// The barrier is no more, or begins anew.
  void forgetBarrier(uint64_t barrier) { watches.erase(barrier); }

  /// The program has waited for it.
  void release(const WorkRef &released, uint64_t time);

  /// The warp has waited for all its work of this kind.
  void releaseAll(AsyncWork::Kind kind, Agent agent, uint64_t time);

  /// tcgen05.dealloc by a thread.
  void checkDealloc(const CellRange &range, Agent agent, Faults &faults) const;

  /// What has not been waited for when the cluster ends.
  struct Leftover {
    const Op *op;
    Agent agent;
    Fault fault;
  };
  llvm::SmallVector<Leftover, 0> findLeftovers() const;
  /// What other CTAs have started, and nobody has waited for, when all threads
  /// of the CTA of this rank have exited, whose memory it uses.
  llvm::SmallVector<Leftover, 0> findLeftoversOfPeers(unsigned rank) const;

private:
  /// The number of a thread's warp in the cluster, and its clock.
  unsigned getWarp(Agent agent) const {
    return getRankOf(agent) * warpsOfCta + getThreadOf(agent) / 32;
  }
  VectorClock getClock(unsigned warp) const {
    return clocks.isActive() ? clocks.get(warp) : VectorClock();
  }
  void checkShared(const AsyncWork &work, Faults &faults) const;
  void checkCells(const AsyncWork &work, Faults &faults) const;
  void checkTensorFences(const CellRange &range, unsigned warp,
                         llvm::StringRef operation, Faults &faults) const;
  const AsyncWork *findUser(uint64_t address, SharedShadow::Use use) const;
  void reportShared(const SharedRange &range, SharedShadow::Use use,
                    const llvm::Twine &access, Faults &faults) const;
  void reportCells(const CellRange &range, TensorShadow::Use use,
                   llvm::StringRef operation, Faults &faults) const;
  /// Calls `visit` with the cells that work uses, and how.
  template <typename Visit>
  static void forEachCells(const AsyncWork &work, Visit visit);

  HazardRules rules;
  const ClockLog &clocks;
  unsigned warpsOfCta;
  SyncLog syncs;
  /// The shadows of shared memory, by the CTA's rank.
  std::vector<SharedShadow> shared;
  std::vector<TensorShadow> tensor;
  TensorFences tensorFences;
  std::vector<WorkRef> pending;
  std::map<uint64_t, std::vector<std::pair<uint64_t, WorkRef>>> watches;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_HAZARDLOG_H

//===- ClockLog.h - Vector clocks of a cluster's warps ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The vector clocks of a cluster's warps (C. Flanagan, S. Freund, "FastTrack:
// efficient and precise dynamic race detection", PLDI 2009). A warp that
// releases gives its clock to what others acquire, and begins a new epoch: an
// access of epoch e of a warp has happened before another warp's, where the
// clock of that one has reached e.
//
// The lanes of a warp share a clock. A relaxed operation orders nothing by
// itself (PTX ISA, section "Release and Acquire Patterns"): what it stores
// releases what came before the warp's last fence, and what it loads is
// acquired by the next one. The scopes of strong accesses and of fences are
// told apart, those of mbarriers and of barrier.cluster are not, nor is what
// fence.mbarrier_init releases from what other fences of the cluster's scope
// do.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_CLOCKLOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_CLOCKLOG_H

#include "Emulator/Hazards/PlaceLog.h"
#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace blockscale::emulator {

class ClockLog {
public:
  /// The clocks of the warps of cluster number `cluster`, which has `ctas` CTAs
  /// of `warpsOfCta` warps. `global` knows the strong accesses to global memory
  /// of all clusters.
  ClockLog(uint32_t cluster, unsigned ctas, unsigned warpsOfCta,
           PlaceLog &global);

  /// Whether warps of the cluster may race: there are two at least.
  bool isActive() const { return clocks.size() > 1; }
  const VectorClock &get(unsigned warp) const { return clocks[warp]; }
  uint32_t getCluster() const { return cluster; }

  /// What the warp has done so far happens before whoever acquires `target`;
  /// what it has done before its last fence, where the release is relaxed.
  void release(unsigned warp, VectorClock &target, bool isRelaxed = false) {
    target.join(isRelaxed ? fenced[warp].front() : clocks[warp]);
    if (!isRelaxed)
      ++clocks[warp][warp];
  }
  void acquire(unsigned warp, const VectorClock &source) {
    clocks[warp].join(source);
  }
  void acquire(unsigned warp, const ClockRef &source) {
    if (source)
      acquire(warp, *source);
  }
  /// What has happened before work that the warp starts now.
  ClockRef start(unsigned warp);

  //===--------------------------------------------------------------------===//
  // mbarriers, by shared address
  //===--------------------------------------------------------------------===//

  /// Forgets a barrier that begins anew or is no more.
  void forgetBarrier(uint64_t barrier) { barriers.erase(barrier); }
  void arrive(unsigned warp, uint64_t barrier, bool isRelaxed) {
    release(warp, barriers[barrier].pending, isRelaxed);
  }
  void arrive(const ClockRef &work, uint64_t barrier) {
    if (work)
      barriers[barrier].pending.join(*work);
  }
  /// The current phase is over.
  void complete(uint64_t barrier) {
    barriers[barrier].completed = barriers[barrier].pending;
  }
  /// A wait saw that it is.
  void observe(unsigned warp, uint64_t barrier);

  //===--------------------------------------------------------------------===//
  // Strong accesses
  //===--------------------------------------------------------------------===//

  /// `isRelaxed`: the access needs a fence behind it, or before it.
  void acquire(unsigned warp, SpaceAddress where, uint64_t size,
               MemoryScope scope, bool isRelaxed);
  void release(unsigned warp, SpaceAddress where, uint64_t size,
               MemoryScope scope, bool isRelaxed);
  void fence(unsigned warp, MemoryScope scope);
  /// fence.proxy.async of global memory.
  void fenceProxy(unsigned warp) {
    clocks[warp].makeVisible();
    ++clocks[warp][warp];
  }

private:
  struct Barrier {
    /// The joined clocks of all arrivals: a later phase comes behind those of
    /// the earlier ones.
    VectorClock pending;
    VectorClock completed;
  };

  ThreadHome getHome(unsigned warp) const {
    return {cluster * ctas + warp / warpsOfCta, cluster};
  }
  PlaceLog &getPlaces(StateSpace space) {
    return space == StateSpace::Global ? global : shared;
  }

  uint32_t cluster;
  unsigned ctas;
  unsigned warpsOfCta;
  std::vector<VectorClock> clocks;
  /// By warp and scope, what it has loaded by relaxed operations since its last
  /// fence of that scope or a wider one, and its clock at that fence.
  std::vector<ClocksByScope> loaded;
  std::vector<ClocksByScope> fenced;
  llvm::DenseMap<uint64_t, Barrier> barriers;
  PlaceLog shared;
  PlaceLog &global;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_CLOCKLOG_H

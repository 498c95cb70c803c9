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
// acquired by the next one. Scopes are not told apart, nor what
// fence.mbarrier_init releases from what other fences do.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_CLOCKLOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_CLOCKLOG_H

#include "Emulator/Hazards/VectorClock.h"
#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/DenseMap.h"

#include <vector>

namespace blockscale::emulator {

class ClockLog {
public:
  /// The clocks of `warps` warps; there are none where no memory is shared.
  /// `hasOthers` says that there are other clusters.
  ClockLog(unsigned warps, bool hasOthers);

  bool isActive() const { return !clocks.empty(); }
  const VectorClock &get(unsigned warp) const { return clocks[warp]; }

  /// What the warp has done so far happens before whoever acquires `target`;
  /// what it has done before its last fence, where the release is relaxed.
  void release(unsigned warp, VectorClock &target, bool isRelaxed = false) {
    if (!isActive())
      return;
    target.join(isRelaxed ? fenced[warp] : clocks[warp]);
    if (!isRelaxed)
      ++clocks[warp][warp];
  }
  void acquire(unsigned warp, const VectorClock &source) {
    if (isActive())
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
    if (isActive())
      release(warp, barriers[barrier].pending, isRelaxed);
  }
  void arrive(const ClockRef &work, uint64_t barrier) {
    if (work)
      barriers[barrier].pending.join(*work);
  }
  /// The current phase is over.
  void complete(uint64_t barrier) {
    if (isActive())
      barriers[barrier].completed = barriers[barrier].pending;
  }
  /// A wait saw that it is.
  void observe(unsigned warp, uint64_t barrier);

  //===--------------------------------------------------------------------===//
  // Strong accesses
  //===--------------------------------------------------------------------===//

  /// `isRelaxed`: the access needs a fence behind it, or before it.
  void acquire(unsigned warp, SpaceAddress where, uint64_t size,
               bool isRelaxed);
  void release(unsigned warp, SpaceAddress where, uint64_t size,
               bool isRelaxed);
  void fence(unsigned warp);

private:
  struct Barrier {
    /// The joined clocks of all arrivals: a later phase comes behind those of
    /// the earlier ones.
    VectorClock pending;
    VectorClock completed;
  };

  std::vector<VectorClock> clocks;
  /// By warp, what it has loaded by relaxed operations since its last fence,
  /// and its clock at that fence.
  std::vector<VectorClock> loaded;
  std::vector<VectorClock> fenced;
  bool hasOthers;
  llvm::DenseMap<uint64_t, Barrier> barriers;
  /// Clocks by word of memory; past the most that are kept apart, `rest` is
  /// that of all others.
  llvm::DenseMap<uint64_t, VectorClock> places;
  VectorClock rest;
  /// What another cluster may have seen in global memory, and passed on.
  VectorClock published;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_CLOCKLOG_H

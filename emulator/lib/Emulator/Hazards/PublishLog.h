//===- PublishLog.h - Who else may use a new mbarrier -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A log of the mbarriers that others than the threads of a CTA may use.
//
// Another CTA may use an mbarrier once its CTA has released mbarrier.init to
// the cluster: by fence.mbarrier_init, another fence of the cluster's scope or
// wider, or barrier.cluster.arrive that is not relaxed.
//
// The async proxy may use it once its CTA has made mbarrier.init, a store of
// the generic proxy, visible to that proxy: by fence.mbarrier_init or
// fence.proxy.async.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_PUBLISHLOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_PUBLISHLOG_H

#include "Emulator/Memory/AddressWindow.h"

#include <map>

namespace blockscale::emulator {

class PublishLog {
public:
  void noteInit(uint64_t barrier, uint64_t time) { inits[barrier] = time; }

  /// A thread of the CTA of this rank has released what came before.
  void notePublish(unsigned rank, uint64_t time) { published[rank] = time; }

  /// A thread of that CTA has made what came before visible to the async proxy.
  void noteProxyFence(unsigned rank, uint64_t time) { fenced[rank] = time; }

  bool isPublished(uint64_t barrier) const {
    return isBehindInit(published, barrier);
  }
  bool isVisibleToAsyncProxy(uint64_t barrier) const {
    return isBehindInit(fenced, barrier);
  }

private:
  using TimesByRank = std::array<uint64_t, kMaxClusterSize>;

  bool isBehindInit(const TimesByRank &times, uint64_t barrier) const {
    auto init = inits.find(barrier);
    return init == inits.end() ||
           times[getCtaRank(barrier) % kMaxClusterSize] > init->second;
  }

  std::map<uint64_t, uint64_t> inits;
  TimesByRank published = {};
  TimesByRank fenced = {};
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_PUBLISHLOG_H

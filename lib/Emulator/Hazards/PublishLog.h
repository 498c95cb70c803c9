//===- PublishLog.h - Barriers that other CTAs may use ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A log of the mbarriers that other CTAs of a cluster may use.
//
// Another CTA may use an mbarrier once its CTA has released mbarrier.init to
// the cluster: by fence.mbarrier_init, another fence of the cluster's scope or
// wider, or barrier.cluster.arrive that is not relaxed.
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

  bool isPublished(uint64_t barrier) const {
    auto init = inits.find(barrier);
    return init == inits.end() ||
           published[getCtaRank(barrier) % kMaxClusterSize] > init->second;
  }

private:
  std::map<uint64_t, uint64_t> inits;
  std::array<uint64_t, kMaxClusterSize> published = {};
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_PUBLISHLOG_H

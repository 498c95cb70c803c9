//===- ClockLog.cpp - Vector clocks of a cluster's warps ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/ClockLog.h"

namespace blockscale::emulator {

ClockLog::ClockLog(uint32_t cluster, unsigned ctas, unsigned warpsOfCta,
                   PlaceLog &global)
    : cluster(cluster), ctas(ctas), warpsOfCta(warpsOfCta), global(global) {
  unsigned warps = ctas * warpsOfCta;
  clocks.assign(warps, VectorClock(warps));
  loaded.resize(warps);
  fenced.resize(warps);
  for (unsigned warp = 0; warp < warps; ++warp)
    clocks[warp][warp] = 1;
}

ClockRef ClockLog::start(unsigned warp) {
  auto clock = std::make_shared<VectorClock>();
  release(warp, *clock);
  return clock;
}

void ClockLog::observe(unsigned warp, uint64_t barrier) {
  auto it = barriers.find(barrier);
  if (it != barriers.end())
    acquire(warp, it->second.completed);
}

void ClockLog::acquire(unsigned warp, SpaceAddress where, uint64_t size,
                       MemoryScope scope, bool isRelaxed) {
  getPlaces(where.space)
      .acquire(getHome(warp), {where.address, size}, scope,
               [&](MemoryScope part) -> VectorClock & {
                 return isRelaxed ? loaded[warp][unsigned(part)] : clocks[warp];
               });
}

void ClockLog::release(unsigned warp, SpaceAddress where, uint64_t size,
                       MemoryScope scope, bool isRelaxed) {
  getPlaces(where.space)
      .release(getHome(warp), {where.address, size}, scope,
               [&](MemoryScope part) -> const VectorClock & {
                 return isRelaxed ? fenced[warp][unsigned(part)] : clocks[warp];
               });
  if (!isRelaxed)
    ++clocks[warp][warp];
}

void ClockLog::fence(unsigned warp, MemoryScope scope) {
  for (unsigned i = 0; i <= unsigned(scope); ++i) {
    clocks[warp].join(loaded[warp][i]);
    loaded[warp][i].clear();
  }
  for (unsigned i = 0; i <= unsigned(scope); ++i)
    fenced[warp][i] = clocks[warp];
  ++clocks[warp][warp];
}

} // namespace blockscale::emulator

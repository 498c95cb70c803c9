//===- ClockLog.cpp - Vector clocks of a cluster's warps ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/ClockLog.h"

namespace blockscale::emulator {

/// Places of strong accesses that are told apart.
static constexpr size_t kMaxPlaces = 4096;

ClockLog::ClockLog(unsigned warps, bool hasOthers) : hasOthers(hasOthers) {
  // A single warp has nobody to race with.
  if (warps < 2)
    return;
  clocks.assign(warps, VectorClock(warps));
  loaded.resize(warps);
  fenced.resize(warps);
  for (unsigned warp = 0; warp < warps; ++warp)
    clocks[warp][warp] = 1;
}

ClockRef ClockLog::start(unsigned warp) {
  if (!isActive())
    return nullptr;
  auto clock = std::make_shared<VectorClock>();
  release(warp, *clock);
  return clock;
}

void ClockLog::observe(unsigned warp, uint64_t barrier) {
  auto it = barriers.find(barrier);
  if (it != barriers.end())
    acquire(warp, it->second.completed);
}

/// Calls `visit` with the key of each word.
template <typename Visit>
static void forEachWord(SpaceAddress where, uint64_t size, Visit visit) {
  uint64_t space = uint64_t(where.space == StateSpace::Global) << 62;
  for (uint64_t word = where.address / 4;
       word <= (where.address + size - 1) / 4; ++word)
    visit(space | word);
}

void ClockLog::acquire(unsigned warp, SpaceAddress where, uint64_t size,
                       bool isRelaxed) {
  if (!isActive())
    return;
  VectorClock &target = isRelaxed ? loaded[warp] : clocks[warp];
  forEachWord(where, size, [&](uint64_t word) {
    auto it = places.find(word);
    if (it != places.end())
      return target.join(it->second);
    target.join(rest);
    // Nobody here has stored there: what it holds may come from elsewhere.
    if (hasOthers && where.space == StateSpace::Global)
      target.join(published);
  });
}

void ClockLog::release(unsigned warp, SpaceAddress where, uint64_t size,
                       bool isRelaxed) {
  if (!isActive())
    return;
  const VectorClock &source = isRelaxed ? fenced[warp] : clocks[warp];
  forEachWord(where, size, [&](uint64_t word) {
    auto it = places.find(word);
    if (it == places.end() && places.size() < kMaxPlaces)
      it = places.try_emplace(word).first;
    (it == places.end() ? rest : it->second).join(source);
  });
  if (hasOthers && where.space == StateSpace::Global)
    published.join(source);
  if (!isRelaxed)
    ++clocks[warp][warp];
}

void ClockLog::fence(unsigned warp) {
  if (!isActive())
    return;
  clocks[warp].join(loaded[warp]);
  loaded[warp].clear();
  fenced[warp] = clocks[warp];
  ++clocks[warp][warp];
}

} // namespace blockscale::emulator

//===- VectorClock.cpp - Vector clocks ------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/VectorClock.h"

namespace blockscale::emulator {

void join(GridEpochsRef &target, const GridEpochsRef &source) {
  if (!source || target == source)
    return;
  if (!target) {
    target = source;
    return;
  }
  // Copied once there is something new.
  std::shared_ptr<GridEpochs> joined;
  for (const auto &[cluster, epochs] : *source) {
    auto it = target->find(cluster);
    if (it != target->end() && it->second.contains(epochs))
      continue;
    if (!joined)
      joined = std::make_shared<GridEpochs>(*target);
    (*joined)[cluster].join(epochs);
  }
  if (joined)
    target = std::move(joined);
}

void VectorClock::joinGrid(const GridEpochsRef &grid, uint32_t cluster) {
  if (!grid)
    return;
  auto it = grid->find(cluster);
  if (it != grid->end())
    own.join(it->second);
  emulator::join(others, grid);
}

const ClusterEpochs *VectorClock::findOther(uint32_t cluster) const {
  if (!others)
    return nullptr;
  auto it = others->find(cluster);
  return it == others->end() ? nullptr : &it->second;
}

void VectorClock::makeVisible() {
  own.visible.join(own.happened);
  if (!others)
    return;
  auto visible = std::make_shared<GridEpochs>(*others);
  for (auto &[cluster, epochs] : *visible)
    epochs.visible.join(epochs.happened);
  others = std::move(visible);
}

} // namespace blockscale::emulator

//===- TensorMapLog.h - Tensor maps that a cluster has edited ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Tensor maps in global memory that a cluster has edited. PTX ISA, sections
// "tensormap.cp_fenceproxy" and "membar, fence": the thread that uses one must
// execute fence.proxy.tensormap::generic.acquire on it before.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_HAZARDS_TENSORMAPLOG_H
#define BLOCKSCALE_LIB_EMULATOR_HAZARDS_TENSORMAPLOG_H

#include "Emulator/Hazards/SyncLog.h"

#include <map>

namespace blockscale::emulator {

class TensorMapLog {
public:
  void noteEdit(uint64_t address, uint64_t time) { maps[address].edit = time; }

  void noteAcquire(uint64_t address, Agent agent, uint64_t time) {
    if (auto it = maps.find(address); it != maps.end())
      it->second.acquires[getClusterWarpOf(agent)] = time;
  }

  /// Whether the agent's warp has acquired the map since it was edited.
  bool isAcquired(uint64_t address, Agent agent) const {
    auto it = maps.find(address);
    if (it == maps.end())
      return true;
    auto acquire = it->second.acquires.find(getClusterWarpOf(agent));
    return acquire != it->second.acquires.end() &&
           acquire->second > it->second.edit;
  }

private:
  struct State {
    uint64_t edit = 0;
    std::map<uint32_t, uint64_t> acquires;
  };
  std::map<uint64_t, State> maps;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_HAZARDS_TENSORMAPLOG_H

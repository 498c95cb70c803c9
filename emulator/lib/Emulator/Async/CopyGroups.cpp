//===- CopyGroups.cpp - Groups of copies that threads wait for ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/CopyGroups.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

static bool isReleased(const WorkRef &work) { return work->isReleased; }

void CopyGroups::add(Agent agent, WorkRef work) {
  std::vector<WorkRef> &open = states[agent].open;
  // Threads that wait by barriers never close a group.
  if (open.size() == open.capacity())
    llvm::erase_if(open, isReleased);
  open.push_back(std::move(work));
}

void CopyGroups::commit(Agent agent) {
  State &state = states[agent];
  state.closed.push_back(std::exchange(state.open, {}));
}

bool CopyGroups::areDone(Agent agent, uint64_t kept) const {
  auto it = states.find(agent);
  if (it == states.end())
    return true;
  const std::deque<std::vector<WorkRef>> &closed = it->second.closed;
  for (size_t i = 0; i + kept < closed.size(); ++i)
    if (!llvm::all_of(closed[i],
                      [](const WorkRef &work) { return work->isDone; }))
      return false;
  return true;
}

void CopyGroups::releaseReads(Agent agent, uint64_t kept, HazardLog &hazards,
                              uint64_t time) {
  auto it = states.find(agent);
  if (it == states.end())
    return;
  State &state = it->second;
  while (state.closed.size() > kept) {
    for (const WorkRef &work : state.closed.front())
      hazards.release(work, time);
    state.read.push_back(std::move(state.closed.front()));
    state.closed.pop_front();
  }
}

std::vector<WorkRef> CopyGroups::release(Agent agent, uint64_t kept,
                                         HazardLog &hazards, uint64_t time) {
  releaseReads(agent, kept, hazards, time);
  std::vector<WorkRef> complete;
  auto it = states.find(agent);
  if (it == states.end())
    return complete;
  State &state = it->second;
  while (!state.read.empty() &&
         state.read.size() + state.closed.size() > kept) {
    llvm::append_range(complete, state.read.front());
    state.read.pop_front();
  }
  return complete;
}

std::vector<WorkRef> CopyGroups::getPending(Agent agent) const {
  std::vector<WorkRef> works;
  auto it = states.find(agent);
  if (it == states.end())
    return works;
  for (const std::vector<WorkRef> &group : it->second.closed)
    llvm::append_range(works, group);
  llvm::append_range(works, it->second.open);
  llvm::erase_if(works, isReleased);
  return works;
}

} // namespace blockscale::emulator

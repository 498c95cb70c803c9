//===- CopyGroups.h - Groups of copies that threads wait for ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The groups of asynchronous copies that each thread has started.
//
// cp.async and cp.async.bulk each have their own: a thread's copies gather in
// an open group, commit_group closes it, and wait_group waits for all closed
// groups but the latest few. With .read it waits for what the groups read
// alone; what they write is complete once there is a wait without it.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ASYNC_COPYGROUPS_H
#define BLOCKSCALE_LIB_EMULATOR_ASYNC_COPYGROUPS_H

#include "Emulator/Hazards/HazardLog.h"

#include <deque>

namespace blockscale::emulator {

class CopyGroups {
public:
  void add(Agent agent, WorkRef work);
  void commit(Agent agent);

  /// Whether all groups but the latest `kept` have happened.
  bool areDone(Agent agent, uint64_t kept) const;
  /// The thread has waited for what they read.
  void releaseReads(Agent agent, uint64_t kept, HazardLog &hazards,
                    uint64_t time);
  /// It has waited for them; the work that is complete by that.
  std::vector<WorkRef> release(Agent agent, uint64_t kept, HazardLog &hazards,
                               uint64_t time);

  /// All work that the thread has not waited for, the open group among it.
  std::vector<WorkRef> getPending(Agent agent) const;

private:
  struct State {
    std::vector<WorkRef> open;
    std::deque<std::vector<WorkRef>> closed;
    /// Groups before these whose reads alone have been waited for.
    std::deque<std::vector<WorkRef>> read;
  };
  std::map<Agent, State> states;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ASYNC_COPYGROUPS_H

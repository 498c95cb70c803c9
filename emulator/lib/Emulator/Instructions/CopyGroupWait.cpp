//===- CopyGroupWait.cpp - Commits of and waits for copy groups -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/AsyncInstructions.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// Which groups of a thread, of the two kinds of copies, an instruction is of.
using Groups = CopyGroups Cluster::*;

namespace {
struct GroupData : OpData {
  Groups groups = nullptr;
  /// Groups that need not be done.
  uint64_t kept = 0;
  /// Waits for what the groups read alone.
  bool isRead = false;
  /// Closes the open group before it waits.
  bool commits = false;
};
} // namespace

static Step runGroupCommit(Warp &warp, const Op &op, LaneMask active) {
  CopyGroups &groups = warp.getCluster().*op.get<GroupData>().groups;
  for (unsigned lane : lanesOf(active))
    groups.commit(warp.getAgent(lane));
  return Step::Next;
}

/// With .read, too, all of a copy must be done, as it reads its source and
/// writes its target at once; the program may not count on the latter.
static Step runGroupWait(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<GroupData>();
  Cluster &cluster = warp.getCluster();
  CopyGroups &groups = cluster.*data.groups;
  if (data.commits)
    runGroupCommit(warp, op, active);
  for (unsigned lane : lanesOf(active))
    if (!groups.areDone(warp.getAgent(lane), data.kept))
      return Step::Blocked;
  for (unsigned lane : lanesOf(active)) {
    Agent agent = warp.getAgent(lane);
    if (data.isRead)
      groups.releaseReads(agent, data.kept, cluster.getHazards(),
                          cluster.getTime());
    else
      for (const WorkRef &work : groups.release(
               agent, data.kept, cluster.getHazards(), cluster.getTime()))
        warp.endGlobalStore(*work);
  }
  return Step::Next;
}

bool isCopyGroup(const Instruction &instruction) {
  return llvm::is_contained({"commit_group", "wait_group", "wait_all"},
                            instruction.form->words.back());
}

llvm::Error decodeCopyGroup(Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::ArrayRef<llvm::StringRef> words = instruction.form->words;
  auto data = std::make_unique<GroupData>();
  data->groups = llvm::is_contained(words, "bulk") ? &Cluster::bulkGroups
                                                   : &Cluster::threadGroups;
  data->isRead = instruction.has("read");
  data->commits = words.back() == "wait_all";
  if (words.back() == "wait_group") {
    llvm::Expected<uint64_t> kept = getImmediate(instruction.operands[0]);
    if (!kept)
      return kept.takeError();
    data->kept = *kept;
  }
  op.handler = words.back() == "commit_group" ? runGroupCommit : runGroupWait;
  op.data = std::move(data);
  return llvm::Error::success();
}

} // namespace blockscale::emulator

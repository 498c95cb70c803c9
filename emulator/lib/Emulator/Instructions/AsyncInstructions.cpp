//===- AsyncInstructions.cpp - Asynchronous copies ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/AsyncInstructions.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

llvm::SmallVector<CopyTarget, 1> getTargets(const Issuer &issuer,
                                            CopyTarget target,
                                            std::optional<uint16_t> mask) {
  if (!mask)
    return {target};
  llvm::SmallVector<CopyTarget, 1> targets;
  unsigned ctas = issuer.getCluster().getCtas().size();
  if (*mask == 0 || *mask >> ctas) {
    issuer.report(
        {FaultKind::WrongSpace,
         llvm::formatv("expected the mask of a multicast to name CTAs "
                       "of the cluster of {0}, but got {1:x}",
                       ctas, *mask),
         "set one bit for each CTA that is to have the data"});
    return targets;
  }
  bool isPair = issuer.op.instruction->has("cta_group::2");
  unsigned parity = getCtaRank(target.barrier) & 1;
  for (unsigned rank = 0; rank < ctas; ++rank) {
    if (!(*mask >> rank & 1))
      continue;
    unsigned signalled = isPair ? (rank & ~1u) | parity : rank;
    targets.push_back({(target.to & 0xFFFFFF) | getSharedBase(rank),
                       (target.barrier & 0xFFFFFF) | getSharedBase(signalled)});
  }
  return targets;
}

bool checkOwnTarget(const Issuer &issuer, const CopyTarget &target) {
  if (!issuer.op.instruction->has("shared::cta") ||
      issuer.op.instruction->has("shared::cluster"))
    return true;
  llvm::SmallVector<Fault, 1> faults;
  unsigned rank = issuer.warp.getCta().getRank();
  bool isOwn = isOwnShared(target.to, rank, faults);
  // The pair's even CTA may be the one that is signalled.
  if (!issuer.op.instruction->has("cta_group::2"))
    isOwn &= isOwnShared(target.barrier, rank, faults);
  issuer.report(faults);
  return isOwn;
}

void pushLoad(const Issuer &issuer, AsyncWork work, CopyTarget target,
              uint32_t bytes, std::function<void(Faults &)> copy) {
  for (const SharedRange &range : work.writes)
    issuer.checkNoBarriers(range);
  WorkRef begun = issuer.begin(AsyncWork::BulkCopy, std::move(work));
  issuer.noteAsyncBarrier(target.barrier);
  AsyncQueue &queue = issuer.getCluster().getQueue();
  queue.push(queue.makeStream(),
             [=, copy = std::move(copy), started = issuer.start()] {
               llvm::SmallVector<Fault, 1> faults;
               copy(faults);
               issuer.report(faults);
               begun->isDone = true;
               issuer.completeTx(target.barrier, bytes, begun, started);
             });
}

void pushStore(const Issuer &issuer, AsyncWork work,
               std::function<void(Faults &)> copy) {
  Cluster &cluster = issuer.getCluster();
  WorkRef begun = issuer.begin(AsyncWork::BulkCopy, std::move(work));
  cluster.bulkGroups.add(issuer.getAgent(), begun);
  AsyncQueue &queue = cluster.getQueue();
  queue.push(queue.makeStream(), [=, copy = std::move(copy)] {
    llvm::SmallVector<Fault, 1> faults;
    copy(faults);
    issuer.report(faults);
    LaunchContext &context = issuer.getCluster().getContext();
    for (const GlobalRange &range : begun->globalWrites) {
      llvm::SmallVector<Fault, 1> known;
      context.globalRaces.noteValues(
          begun->store, range.address,
          context.device.global.read(range.address, range.size,
                                     /*alignment=*/1, known));
    }
    begun->isDone = true;
    issuer.getCluster().noteChange();
  });
}

void countBytes(const Issuer &issuer, StateSpace from, StateSpace to,
                uint64_t bytes, bool isRead) {
  Profile &profile = issuer.getCluster().getProfile();
  if (isRead)
    profile.bytesRead[unsigned(from)] += bytes;
  profile.bytesWritten[unsigned(to)] += bytes;
  if (!issuer.getCluster().getContext().options.profile)
    return;
  uint64_t sectors = llvm::divideCeil(bytes, kSectorBytes);
  if (isRead && from == StateSpace::Global)
    profile.sectorsRead += sectors;
  if (to == StateSpace::Global)
    profile.sectorsWritten += sectors;
}

llvm::Error decodeAsync(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::ArrayRef<llvm::StringRef> words = instruction.form->words;
  if (words.front() == "tensormap")
    return decodeTensorMap(decoder, op);
  if (words.front() == "clusterlaunchcontrol")
    return decodeClusterLaunch(decoder, op);
  if (words.front() == "st" || words.front() == "red")
    return decodeAsyncStore(decoder, op);
  if (isCopyGroup(instruction))
    return decodeCopyGroup(op);
  if (words.back() == "tensor")
    return decodeTensorCopy(decoder, op);
  if (llvm::is_contained(words, "bulk"))
    return decodeBulkCopy(decoder, op);
  return decodeThreadCopy(decoder, op);
}

} // namespace blockscale::emulator

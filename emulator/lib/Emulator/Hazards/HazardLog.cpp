//===- HazardLog.cpp - Conflicts of asynchronous work ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/HazardLog.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"
#include "blockscale/Emulator/Program.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

using Use = SharedShadow::Use;
using CellUse = TensorShadow::Use;

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

/// Bulk copies and reductions from shared memory, and products.
static bool readsShared(const Instruction &instruction) {
  llvm::StringRef name = instruction.form->name;
  if (name == "tcgen05.mma" || name == "tcgen05.cp" ||
      name == "wgmma.mma_async" || name.starts_with("cp.reduce."))
    return true;
  return name.starts_with("cp.async.bulk") &&
         (instruction.has("bulk_group") ||
          (instruction.has("shared::cluster") &&
           instruction.has("shared::cta")));
}

static bool isAsync(llvm::StringRef name) {
  return llvm::any_of(
      llvm::ArrayRef<llvm::StringRef>({"tcgen05.", "wgmma.", "cp.", "st.async",
                                       "red.async", "clusterlaunchcontrol."}),
      [&](llvm::StringRef prefix) { return name.starts_with(prefix); });
}

HazardRules::HazardRules(const Program &program, bool requireFences)
    : needsTensorFences(requireFences), needsInitFences(requireFences) {
  for (const Op &op : program.getOps()) {
    if (!op.instruction || !op.instruction->form)
      continue;
    llvm::StringRef name = op.instruction->form->name;
    hasAsyncWork |= isAsync(name);
    hasAsyncReads |= readsShared(*op.instruction);
    needsTensorFences |= name.starts_with("tcgen05.fence");
    needsInitFences |= op.instruction->has("mbarrier_init");
  }
}

//===----------------------------------------------------------------------===//
// Text
//===----------------------------------------------------------------------===//

static std::string describeWork(const AsyncWork &work) {
  return llvm::formatv("the {0} of line {1}", work.op->instruction->form->name,
                       work.op->instruction->location.line);
}

/// What makes the program wait for work of this kind.
static llvm::StringRef getAdvice(const AsyncWork &work) {
  switch (work.kind) {
  case AsyncWork::BulkCopy:
    return work.op->instruction->has("bulk_group")
               ? "wait with cp.async.bulk.commit_group and wait_group (.read "
                 "is enough before the shared memory is written again)"
               : "wait for the phase of the mbarrier that the copy completes "
                 "on";
  case AsyncWork::ThreadCopy:
    return "wait with cp.async.wait_group or wait_all, or on the mbarrier of "
           "cp.async.mbarrier.arrive";
  case AsyncWork::Matrix:
    return work.op->instruction->form->name == "wgmma.mma_async"
               ? "wait with wgmma.commit_group and wait_group"
               : "tcgen05.commit to an mbarrier, and wait for its phase";
  case AsyncWork::TensorLoad:
    return "execute tcgen05.wait::ld before";
  case AsyncWork::TensorStore:
    return "execute tcgen05.wait::st before";
  case AsyncWork::Arrival:
    return "let a thread of that CTA wait for the phase of its mbarrier in "
           "which the commit arrives";
  }
  return "wait for it";
}

static bool contains(const SharedRange &range, uint64_t address) {
  return address / 4 >= range.address / 4 &&
         address < range.address + range.size;
}

static bool contains(const CellRange &range, unsigned rank,
                     TensorShadow::Cell cell) {
  return range.rank == rank && range.lanes >> cell.lane / 16 & 1 &&
         cell.column - range.column < range.columns;
}

static void reportHazard(Faults &faults, std::string what,
                         llvm::StringRef advice) {
  faults.push_back({FaultKind::Hazard, std::move(what), advice.str()});
}

template <typename Visit>
void HazardLog::forEachCells(const AsyncWork &work, Visit visit) {
  bool isMatrix = work.kind == AsyncWork::Matrix;
  for (const CellRange &range : work.cellReads)
    visit(range, isMatrix ? CellUse::MatrixRead : CellUse::Load);
  for (const CellRange &range : work.cellWrites)
    visit(range, isMatrix ? CellUse::MatrixWrite : CellUse::Store);
}

/// Work in flight that uses the bytes at `address`; there is one.
const AsyncWork *HazardLog::findUser(uint64_t address, Use use) const {
  for (const WorkRef &work : pending)
    for (const SharedRange &range :
         use == Use::Read ? work->reads : work->writes)
      if (contains(range, address))
        return work.get();
  return nullptr;
}

void HazardLog::reportShared(const SharedRange &range, Use use,
                             const llvm::Twine &access, Faults &faults) const {
  std::optional<uint64_t> address =
      shared[getCtaRank(range.address)].findUse(range, use);
  if (!address)
    return;
  if (const AsyncWork *user = findUser(*address, use))
    reportHazard(
        faults,
        llvm::formatv("{0} of {1:x} in shared memory, which {2} may still "
                      "{3}: nobody has waited for it",
                      access.str(), *address, describeWork(*user),
                      use == Use::Read ? "read" : "write"),
        getAdvice(*user));
}

void HazardLog::reportCells(const CellRange &range, CellUse use,
                            llvm::StringRef operation, Faults &faults) const {
  std::optional<TensorShadow::Cell> cell =
      tensor[range.rank].findUse(range, use);
  if (!cell)
    return;
  for (const WorkRef &work : pending) {
    bool isHit = false;
    forEachCells(*work, [&](const CellRange &other, CellUse otherUse) {
      isHit |= otherUse == use && contains(other, range.rank, *cell);
    });
    if (!isHit)
      continue;
    reportHazard(
        faults,
        llvm::formatv("{0} touches tensor memory at lane {1}, column {2}, "
                      "which {3} may still {4}: nobody has waited for it",
                      operation, cell->lane, cell->column, describeWork(*work),
                      use == CellUse::MatrixRead || use == CellUse::Load
                          ? "read"
                          : "write"),
        getAdvice(*work));
    return;
  }
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void HazardLog::checkLoad(const SharedRange &range, Faults &faults) const {
  reportShared(range, Use::Write, "load", faults);
}

void HazardLog::noteStore(const SharedRange &range, Agent agent, uint64_t time,
                          Faults &faults) {
  reportShared(range, Use::Read, "store", faults);
  reportShared(range, Use::Write, "store", faults);
  if (rules.hasAsyncReads)
    shared[getCtaRank(range.address)].noteStore(range, agent, time);
}

//===----------------------------------------------------------------------===//
// Asynchronous work
//===----------------------------------------------------------------------===//

void HazardLog::checkShared(const AsyncWork &work, Faults &faults) const {
  llvm::StringRef name = work.op->instruction->form->name;
  for (const SharedRange &range : work.writes) {
    reportShared(range, Use::Read, name + " writes", faults);
    reportShared(range, Use::Write, name + " writes", faults);
    if (!faults.empty())
      return;
  }
  for (const SharedRange &range : work.reads) {
    reportShared(range, Use::Write, name + " reads", faults);
    if (!faults.empty())
      return;
    if (std::optional<SharedShadow::Store> store =
            shared[getCtaRank(range.address)].findHiddenStore(range, syncs,
                                                              work.agent)) {
      reportHazard(
          faults,
          llvm::formatv(
              "missing fence.proxy.async: {0} reads {1:x} in shared memory "
              "through the async proxy, where thread {2} of the CTA of rank "
              "{3} stored through the generic one",
              name, store->address, getThreadOf(store->agent),
              getRankOf(store->agent)),
          "let the threads that store execute fence.proxy.async.shared::cta "
          "behind it, and then the barrier at which the thread that issues "
          "waits for them");
      return;
    }
  }
}

void HazardLog::checkTensorFences(const CellRange &range, unsigned warp,
                                  llvm::StringRef operation,
                                  Faults &faults) const {
  // A single warp has no other one to wait for.
  if (!rules.needsTensorFences || !clocks.isActive())
    return;
  bool isBefore = false;
  if (std::optional<TensorShadow::Cell> cell =
          tensor[range.rank].findUnfencedAccess(range, warp, clocks.get(warp),
                                                tensorFences, isBefore))
    reportHazard(
        faults,
        llvm::formatv("missing tcgen05.fence::{0}_thread_sync: {1} touches "
                      "tensor memory at lane {2}, column {3}, which another "
                      "warp loaded or stored",
                      isBefore ? "before" : "after", operation, cell->lane,
                      cell->column),
        isBefore ? "execute it in the other warp between its tcgen05.wait "
                   "and the barrier"
                 : "execute it behind the barrier that waits for the other "
                   "warp");
}

void HazardLog::checkCells(const AsyncWork &work, Faults &faults) const {
  llvm::StringRef name = work.op->instruction->form->name;
  unsigned warp = getWarp(work.agent);
  bool isMatrix = work.kind == AsyncWork::Matrix;
  for (const CellRange &range : work.cellReads) {
    reportCells(range, CellUse::Store, name, faults);
    if (!isMatrix)
      reportCells(range, CellUse::MatrixWrite, name, faults);
  }
  for (const CellRange &range : work.cellWrites) {
    reportCells(range, CellUse::Load, name, faults);
    if (isMatrix) {
      reportCells(range, CellUse::Store, name, faults);
    } else {
      reportCells(range, CellUse::MatrixRead, name, faults);
      reportCells(range, CellUse::MatrixWrite, name, faults);
    }
  }
  if (!faults.empty() || !rules.needsTensorFences)
    return;
  for (llvm::ArrayRef<CellRange> ranges :
       {llvm::ArrayRef(work.cellReads), llvm::ArrayRef(work.cellWrites)})
    for (const CellRange &range : ranges) {
      if (isMatrix) {
        checkTensorFences(range, warp, name, faults);
      } else if (auto cell = tensor[range.rank].findUnfencedMatrix(
                     range, warp, tensorFences)) {
        reportHazard(
            faults,
            llvm::formatv("missing tcgen05.fence::after_thread_sync: {0} "
                          "touches tensor memory at lane {1}, column {2}, "
                          "which an MMA or copy used",
                          name, cell->lane, cell->column),
            "execute it behind the wait for the mbarrier of "
            "tcgen05.commit");
      }
      if (!faults.empty())
        return;
    }
}

WorkRef HazardLog::begin(AsyncWork work, Faults &faults) {
  llvm::SmallVector<Fault, 1> found;
  checkShared(work, found);
  checkCells(work, found);
  faults.append(found.begin(), found.end());
  for (const SharedRange &range : work.reads)
    shared[getCtaRank(range.address)].begin(range, Use::Read);
  for (const SharedRange &range : work.writes) {
    SharedShadow &shadow = shared[getCtaRank(range.address)];
    shadow.begin(range, Use::Write);
    // What the async proxy writes, it can read.
    shadow.forgetStores(range);
  }
  forEachCells(work, [&](const CellRange &range, CellUse use) {
    tensor[range.rank].begin(range, use);
  });
  work.index = pending.size();
  pending.push_back(std::make_shared<AsyncWork>(std::move(work)));
  return pending.back();
}

void HazardLog::release(const WorkRef &released, uint64_t time) {
  AsyncWork &work = *released;
  if (work.isReleased)
    return;
  work.isReleased = true;
  for (const SharedRange &range : work.reads)
    shared[getCtaRank(range.address)].end(range, Use::Read);
  for (const SharedRange &range : work.writes) {
    SharedShadow &shadow = shared[getCtaRank(range.address)];
    shadow.end(range, Use::Write);
    // Done by the generic proxy, it is a store as others are.
    if (work.kind == AsyncWork::ThreadCopy && rules.hasAsyncReads)
      shadow.noteStore(range, work.agent, time);
  }
  unsigned warp = getWarp(work.agent);
  uint32_t epoch = clocks.isActive() ? clocks.get(warp)[warp] : 0;
  forEachCells(work, [&](const CellRange &range, CellUse use) {
    tensor[range.rank].end(range, use, {time, warp, epoch});
  });
  pending.back()->index = work.index;
  std::swap(pending[work.index], pending.back());
  pending.pop_back();
}

void HazardLog::releaseAll(AsyncWork::Kind kind, Agent agent, uint64_t time) {
  // Releasing moves the last one to the place of the released one.
  for (size_t i = pending.size(); i-- > 0;)
    if (pending[i]->kind == kind &&
        getClusterWarpOf(pending[i]->agent) == getClusterWarpOf(agent)) {
      // It is taken out of the list on the way.
      WorkRef work(pending[i]);
      release(work, time);
    }
}

void HazardLog::watch(uint64_t barrier, uint64_t phase, WorkRef work) {
  if (!work->isReleased)
    watches[barrier].push_back({phase, std::move(work)});
}

void HazardLog::observe(uint64_t barrier, uint64_t phase, uint64_t time) {
  auto it = watches.find(barrier);
  if (it == watches.end())
    return;
  llvm::erase_if(it->second, [&](const std::pair<uint64_t, WorkRef> &watched) {
    if (watched.first >= phase)
      return false;
    release(watched.second, time);
    return true;
  });
  if (it->second.empty())
    watches.erase(it);
}

void HazardLog::checkDealloc(const CellRange &range, Agent agent,
                             Faults &faults) const {
  for (CellUse use : {CellUse::MatrixRead, CellUse::MatrixWrite, CellUse::Load,
                      CellUse::Store}) {
    reportCells(range, use, "tcgen05.dealloc", faults);
    if (!faults.empty())
      return;
  }
  checkTensorFences(range, getWarp(agent), "tcgen05.dealloc", faults);
}

llvm::SmallVector<HazardLog::Leftover, 0> HazardLog::findLeftovers() const {
  llvm::SmallVector<Leftover, 0> leftovers;
  for (const WorkRef &work : pending) {
    // Fragments and the copies of threads end with the threads.
    if (work->kind != AsyncWork::BulkCopy && work->kind != AsyncWork::Matrix)
      continue;
    leftovers.push_back(
        {work->op, work->agent,
         Fault{FaultKind::Hazard,
               llvm::formatv("when the CTA ends, {0} may still use its memory: "
                             "nobody has waited for it",
                             work->op->instruction->form->name),
               getAdvice(*work).str()}});
  }
  return leftovers;
}

/// Whether work uses shared or tensor memory of the CTA of this rank.
static bool usesMemoryOf(const AsyncWork &work, unsigned rank) {
  auto isShared = [&](const SharedRange &range) {
    return getCtaRank(range.address) == rank;
  };
  auto isTensor = [&](const CellRange &range) { return range.rank == rank; };
  return (work.barrier && getCtaRank(*work.barrier) == rank) ||
         llvm::any_of(work.reads, isShared) ||
         llvm::any_of(work.writes, isShared) ||
         llvm::any_of(work.cellReads, isTensor) ||
         llvm::any_of(work.cellWrites, isTensor);
}

llvm::SmallVector<HazardLog::Leftover, 0>
HazardLog::findLeftoversOfPeers(unsigned rank) const {
  llvm::SmallVector<Leftover, 0> leftovers;
  for (const WorkRef &work : pending)
    if (getRankOf(work->agent) != rank && usesMemoryOf(*work, rank))
      leftovers.push_back(
          {work->op, work->agent,
           Fault{FaultKind::Hazard,
                 llvm::formatv("when the CTA of rank {0} ends, {1} of the CTA "
                               "of rank {2} may still {3}: nobody has waited "
                               "for it",
                               rank, work->op->instruction->form->name,
                               getRankOf(work->agent),
                               work->barrier ? "arrive at its mbarrier"
                                             : "use its memory"),
                 getAdvice(*work).str()}});
  return leftovers;
}

} // namespace blockscale::emulator

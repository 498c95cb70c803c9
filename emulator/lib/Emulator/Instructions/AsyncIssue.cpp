//===- AsyncIssue.cpp - Start of asynchronous work ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/AsyncIssue.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::emulator {

llvm::StringRef Issuer::getName() const { return op.instruction->form->name; }

bool Issuer::report(llvm::ArrayRef<Fault> faults) const {
  warp.report(op, lane, faults);
  return !faults.empty();
}

Cta *Issuer::findCta(uint64_t shared) const {
  auto ctas = getCluster().getCtas();
  unsigned rank = getCtaRank(shared);
  if (rank < ctas.size())
    return ctas[rank].get();
  report({FaultKind::WrongSpace,
          llvm::formatv("expected an address of one of the {0} CTAs of the "
                        "cluster, but {1:x} belongs to rank {2}",
                        ctas.size(), shared, rank),
          "take the rank modulo %cluster_nctarank, or launch larger clusters"});
  return nullptr;
}

std::optional<uint64_t> Issuer::toShared(uint64_t address,
                                         bool isGeneric) const {
  if (!isGeneric)
    return address & 0xFFFFFFFF;
  llvm::SmallVector<Fault, 1> faults;
  std::optional<uint64_t> shared =
      fromGeneric(StateSpace::Shared, address, faults);
  report(faults);
  return shared;
}

MBarrier *Issuer::findBarrier(uint64_t shared) const {
  Cta *cta = findCta(shared);
  if (!cta)
    return nullptr;
  llvm::SmallVector<Fault, 1> faults;
  MBarrier *barrier = cta->getBarriers().find(shared, getName(), faults);
  if (barrier && cta != &warp.getCta() &&
      !getCluster().published.isPublished(shared))
    faults.push_back(
        {FaultKind::Hazard,
         llvm::formatv("{0} names the mbarrier at {1:x} of another CTA, which "
                       "has not been published since mbarrier.init",
                       getName(), shared),
         "execute fence.mbarrier_init.release.cluster behind mbarrier.init, "
         "before the barrier of the cluster"});
  report(faults);
  return barrier;
}

void Issuer::noteAsyncBarrier(uint64_t shared) const {
  noteBarrier(shared);
  if (getHazards().getRules().needsInitFences &&
      !getCluster().published.isVisibleToAsyncProxy(shared))
    report({FaultKind::Hazard,
            llvm::formatv("missing fence.mbarrier_init: {0} signals the "
                          "mbarrier at {1:x} through the async proxy, to which "
                          "mbarrier.init has not been made visible",
                          getName(), shared),
            "execute fence.mbarrier_init.release.cluster or fence.proxy.async "
            "behind mbarrier.init, before the barrier at which the thread that "
            "issues waits"});
}

void Issuer::noteLoad(const SharedRange &range) const {
  if (!findCta(range.address))
    return;
  llvm::SmallVector<Fault, 1> faults;
  warp.noteLoad(op, lane, range, faults);
  report(faults);
}

void Issuer::noteStore(const SharedRange &range, Warp::StoreKind kind) const {
  if (!findCta(range.address))
    return;
  llvm::SmallVector<Fault, 1> faults;
  warp.noteStore(op, lane, range, kind, faults);
  report(faults);
}

void Issuer::noteCells(const CellRange &range, bool isStore,
                       bool isMatrix) const {
  const ClockLog &clocks = getCluster().getClocks();
  if (!clocks.isActive())
    return;
  RaceLog &races = getCluster().getCtas()[range.rank]->getTensorRaces();
  llvm::SmallVector<Fault, 1> faults;
  for (unsigned group = 0; group < 8 && faults.empty(); ++group) {
    if (!(range.lanes >> group & 1))
      continue;
    RaceAccess access = {uint64_t(group) << 20 | range.column, range.columns,
                         warp.getClusterIndex(),
                         clocks.get(warp.getClusterIndex())};
    if (!isStore) {
      races.noteLoad(access, faults);
      continue;
    }
    std::vector<DoubleStore> doubles;
    races.noteStore(access, faults, doubles);
    // Warps may store the same; what a product or copy stores, it alone does.
    if (isMatrix && !doubles.empty())
      races.reportDouble(access, doubles.front(), faults);
  }
  report(faults);
}

void Issuer::noteGlobalLoad(llvm::ArrayRef<GlobalRange> ranges,
                            bool isAsync) const {
  llvm::SmallVector<Fault, 1> faults;
  for (const GlobalRange &range : ranges)
    warp.noteGlobalLoad(op, range, isAsync, faults);
  report(faults);
}

/// How work stores to shared memory: threads may copy the same, and reductions
/// meet.
static Warp::StoreKind getStoreKind(AsyncWork::Kind kind, const Op &op) {
  llvm::StringRef name = op.instruction->form->name;
  bool isRepeated = kind != AsyncWork::BulkCopy || name == "st.async" ||
                    name.starts_with("cp.reduce");
  return isRepeated ? Warp::StoreKind::Repeated : Warp::StoreKind::Exclusive;
}

/// Leaves of a range what is shared memory: an access outside does not happen.
static void clip(SharedRange &range, Cluster &cluster) {
  unsigned rank = getCtaRank(range.address);
  uint64_t end = getSharedBase(rank);
  if (rank < cluster.getCtas().size())
    end += cluster.getCtas()[rank]->getSharedBytes();
  range.size = std::min(range.size, end - std::min(end, range.address));
}

WorkRef Issuer::begin(AsyncWork::Kind kind, AsyncWork work) const {
  work.kind = kind;
  work.op = &op;
  work.agent = getAgent();
  for (SharedRange &range : work.reads)
    clip(range, getCluster());
  for (SharedRange &range : work.writes)
    clip(range, getCluster());
  bool isMatrix = kind == AsyncWork::Matrix;
  for (const SharedRange &range : work.reads)
    noteLoad(range);
  for (const SharedRange &range : work.writes)
    noteStore(range, getStoreKind(kind, op));
  for (const CellRange &range : work.cellReads)
    noteCells(range, /*isStore=*/false, isMatrix);
  for (const CellRange &range : work.cellWrites)
    noteCells(range, /*isStore=*/true, isMatrix);
  llvm::SmallVector<Fault, 1> faults;
  if (!work.globalWrites.empty())
    work.store = getCluster().getContext().globalRaces.makePending();
  for (const GlobalRange &range : work.globalWrites)
    warp.beginGlobalStore(op, range, work.store,
                          /*isReduction=*/getName().starts_with("cp.reduce"),
                          faults);
  WorkRef begun = getHazards().begin(std::move(work), faults);
  report(faults);
  return begun;
}

void Issuer::watch(uint64_t barrier, uint64_t phase, const MBarrier &state,
                   llvm::ArrayRef<WorkRef> works,
                   const ClockRef &started) const {
  for (const WorkRef &work : works)
    getHazards().watch(barrier, phase, work);
  ClockLog &clocks = getCluster().getClocks();
  clocks.arrive(started, barrier);
  if (state.getPhase() != phase)
    clocks.complete(barrier);
  getCluster().noteChange();
}

void Issuer::completeTx(uint64_t barrier, uint32_t bytes, const WorkRef &work,
                        const ClockRef &started) const {
  MBarrier *found = findBarrier(barrier);
  if (!found)
    return;
  llvm::SmallVector<Fault, 1> faults;
  uint64_t phase = found->getPhase();
  if (found->completeTx(bytes, faults))
    watch(barrier, phase, *found, work, started);
  report(faults);
}

void Issuer::arrive(uint64_t barrier, llvm::ArrayRef<WorkRef> works,
                    const ClockRef &started) const {
  MBarrier *found = findBarrier(barrier);
  if (!found)
    return;
  llvm::SmallVector<Fault, 1> faults;
  uint64_t phase = found->getPhase();
  if (found->arrive({}, faults))
    watch(barrier, phase, *found, works, started);
  report(faults);
}

void Issuer::checkNoBarriers(const SharedRange &range) const {
  llvm::SmallVector<Fault, 1> faults;
  if (Cta *cta = findCta(range.address))
    cta->getBarriers().checkAccess(range.address, range.size, faults);
  report(faults);
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

bool isGeneric(const Instruction &instruction) {
  return instruction
      .getModifier({"shared", "shared::cta", "shared::cluster", "global"})
      .empty();
}

llvm::Error addResult(Decoder &decoder, Op &op, const Operand &operand) {
  llvm::Expected<Result> result = decoder.getResult(operand);
  if (!result)
    return result.takeError();
  op.results.push_back(*result);
  return llvm::Error::success();
}

llvm::Error addOperands(Decoder &decoder, Op &op, size_t first, Type type) {
  for (const Operand &operand :
       llvm::drop_begin(op.instruction->operands, first)) {
    if (operand.kind == OperandKind::Address) {
      llvm::Expected<AddressOperand> address = decoder.getAddress(operand);
      if (!address)
        return address.takeError();
      op.addresses.push_back(std::move(*address));
      continue;
    }
    for (const Operand &element : decoder.getElements(operand)) {
      llvm::Expected<Source> source = decoder.getSource(element, type);
      if (!source)
        return source.takeError();
      op.sources.push_back(*source);
    }
  }
  return llvm::Error::success();
}

llvm::Expected<uint64_t> getImmediate(const Operand &operand) {
  if (operand.kind != OperandKind::Integer)
    return makeError(operand.location, "expected an integer");
  return operand.value;
}

} // namespace blockscale::emulator

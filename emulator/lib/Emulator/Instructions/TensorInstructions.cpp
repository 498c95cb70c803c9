//===- TensorInstructions.cpp - Instructions of tcgen05 -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/TensorInstructions.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/Endian.h"

namespace blockscale::emulator {

llvm::SmallVector<unsigned, 2> getGroup(const Issuer &issuer) {
  unsigned rank = issuer.warp.getCta().getRank();
  if (!issuer.op.instruction->has("cta_group::2"))
    return {rank};
  if ((rank | 1) < issuer.getCluster().getCtas().size())
    return {rank & ~1u, rank | 1};
  issuer.report({FaultKind::WrongSpace,
                 "expected the CTA to have a peer for .cta_group::2",
                 "launch clusters of an even number of CTAs"});
  return {};
}

/// The value of the first active lane that has one; lanes whose value is
/// undefined are reported.
static std::optional<uint32_t> getAllocationOperand(Warp &warp, const Op &op,
                                                    const Source &source,
                                                    LaneMask active,
                                                    llvm::StringRef role) {
  LaneValues scratch;
  LaneMask known = warp.require(op, source, active, role);
  if (!known)
    return std::nullopt;
  return uint32_t(warp.read(source, scratch)[llvm::countr_zero(known)]);
}

static Step runAlloc(Warp &warp, const Op &op, LaneMask active) {
  LaneValues addresses;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  std::optional<uint32_t> columns = getAllocationOperand(
      warp, op, op.sources[0], known, "the number of columns");
  if (!columns)
    return Step::Next;
  Issuer issuer{warp, op, unsigned(llvm::countr_zero(known))};
  Cta &cta = warp.getCta();
  std::optional<uint64_t> to =
      issuer.toShared(addresses[issuer.lane], isGeneric(*op.instruction));
  llvm::SmallVector<Fault, 1> faults;
  if (!to || !isOwnShared(*to, cta.getRank(), faults)) {
    issuer.report(faults);
    return Step::Next;
  }
  uint32_t address = 0;
  TensorMemory::AllocStatus status =
      cta.getTensorMemory().allocate(*columns, address, faults);
  if (status == TensorMemory::AllocStatus::Blocked)
    return Step::Blocked;
  if (status == TensorMemory::AllocStatus::Done) {
    warp.getCluster().getClocks().acquire(warp.getClusterIndex(),
                                          cta.deallocations);
    issuer.checkNoBarriers({*to, 4});
    issuer.noteStore({*to, 4});
    llvm::MutableArrayRef<uint8_t> bytes =
        cta.getShared().write(*to, 4, 4, faults);
    if (!bytes.empty())
      llvm::support::endian::write32le(bytes.data(), address);
    warp.getCluster().noteChange();
  }
  issuer.report(faults);
  return Step::Next;
}

static std::string describeAlloc(Warp &warp, const Op &op, unsigned lane) {
  LaneValues scratch;
  return "no " +
         std::to_string(warp.read(op.sources[0], scratch)[lane] & 0xFFFFFFFF) +
         " columns of tensor memory side by side are free";
}

static Step runDealloc(Warp &warp, const Op &op, LaneMask active) {
  std::optional<uint32_t> address =
      getAllocationOperand(warp, op, op.sources[0], active, "the address");
  std::optional<uint32_t> columns = getAllocationOperand(
      warp, op, op.sources[1], active, "the number of columns");
  if (!address || !columns)
    return Step::Next;
  Issuer issuer{warp, op, unsigned(llvm::countr_zero(active))};
  Cta &cta = warp.getCta();
  llvm::SmallVector<Fault, 1> faults;
  CellRange range = {cta.getRank(), kAllLaneGroups, *address & 0xFFFF,
                     *columns};
  issuer.getHazards().checkDealloc(range, issuer.getAgent(), faults);
  if (cta.getTensorMemory().deallocate(*address, *columns, faults)) {
    // Who uses them after that would race with the next owner.
    issuer.noteCells(range, /*isStore=*/true, /*isMatrix=*/false);
    warp.getCluster().getClocks().release(warp.getClusterIndex(),
                                          cta.deallocations);
    warp.getCluster().noteChange();
  }
  issuer.report(faults);
  return Step::Next;
}

static Step runRelinquish(Warp &warp, const Op &op, LaneMask active) {
  warp.getCta().getTensorMemory().relinquish();
  warp.getCluster().noteChange();
  return Step::Next;
}

static Step runTensorFence(Warp &warp, const Op &op, LaneMask active) {
  Cluster &cluster = warp.getCluster();
  bool isAfter =
      op.instruction->form->name == "tcgen05.fence::after_thread_sync";
  for (unsigned lane : lanesOf(active))
    cluster.getHazards().noteTensorFence(warp.getAgent(lane), isAfter,
                                         cluster.getTime());
  return Step::Next;
}

llvm::Error decodeTensorAlloc(Decoder &decoder, Op &op) {
  llvm::StringRef word = op.instruction->form->words[1];
  op.handler = llvm::StringSwitch<Handler>(word)
                   .Case("alloc", runAlloc)
                   .Case("dealloc", runDealloc)
                   .Case("relinquish_alloc_permit", runRelinquish)
                   .Default(runTensorFence);
  if (word == "alloc")
    op.describeWait = describeAlloc;
  return addOperands(decoder, op, 0, Type::U32);
}

llvm::Error decodeTensor(Decoder &decoder, Op &op) {
  llvm::StringRef word = op.instruction->form->words[1];
  if (word == "ld" || word == "st" || word.starts_with("wait::"))
    return decodeTensorAccess(decoder, op);
  if (word == "mma" || word == "cp" || word == "commit")
    return decodeTensorMma(decoder, op);
  if (word == "shift")
    return makeError(op.instruction->location, "tcgen05.shift is not modelled");
  return decodeTensorAlloc(decoder, op);
}

} // namespace blockscale::emulator

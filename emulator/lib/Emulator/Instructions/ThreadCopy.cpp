//===- ThreadCopy.cpp - Copies of threads (cp.async) ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/AsyncInstructions.h"

#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <algorithm>

namespace blockscale::emulator {

namespace {
struct ThreadCopyData : OpData {
  uint32_t bytes = 0;
  /// The first source: how many bytes are copied, or whether none are; the rest
  /// is zero.
  bool hasSize = false;
  bool hasIgnore = false;
};

struct ArriveData : OpData {
  bool isGeneric = false;
  bool isCounted = false;
};

/// What one lane copies.
struct LaneCopy {
  unsigned lane;
  uint64_t to;
  uint64_t from;
  uint32_t size;
  WorkRef work;
};
} // namespace

/// Copies of one warp are done in their order.
static uint64_t getStream(Warp &warp) {
  Cluster &cluster = warp.getCluster();
  auto [it, isNew] =
      cluster.copyStreams.try_emplace(warp.getAgent(0) / kWarpSize);
  if (isNew)
    it->second = cluster.getQueue().makeStream();
  return it->second;
}

static void copyLane(const Issuer &issuer, const LaneCopy &copy,
                     uint32_t bytes) {
  llvm::SmallVector<Fault, 1> faults;
  Memory &shared = issuer.warp.getCta().getShared();
  llvm::MutableArrayRef<uint8_t> to =
      shared.write(copy.to, bytes, bytes, faults);
  llvm::ArrayRef<uint8_t> from;
  if (copy.size && !to.empty()) {
    const Memory &global = issuer.getCluster().getContext().device.global;
    // The alignment is that of the whole copy, whatever part is read.
    from = global.read(copy.from, copy.size, bytes, faults);
  }
  if (!to.empty()) {
    llvm::fill(to, 0);
    llvm::copy(from, to.begin());
  }
  countBytes(issuer, StateSpace::Global, StateSpace::Shared, bytes);
  issuer.report(faults);
  copy.work->isDone = true;
}

/// Bytes that a lane copies; none, and reported, where there are too many.
static std::optional<uint32_t> getSize(const Issuer &issuer,
                                       const uint64_t *value) {
  const auto &data = issuer.op.get<ThreadCopyData>();
  if (data.hasIgnore)
    return value[issuer.lane] ? 0 : data.bytes;
  if (!data.hasSize)
    return data.bytes;
  uint32_t size = value[issuer.lane];
  if (size <= data.bytes)
    return size;
  issuer.report({FaultKind::OutOfBounds,
                 llvm::formatv("expected cp.async of {0} bytes to read no more "
                               "than these, but its src-size is {1}",
                               data.bytes, size),
                 "the last operand counts bytes, up to the size copied"});
  return std::nullopt;
}

static Step runThreadCopy(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<ThreadCopyData>();
  Cluster &cluster = warp.getCluster();
  LaneValues to, from, scratch;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, to);
  known = warp.readAddresses(op, op.addresses[1], known, from);
  const uint64_t *value = nullptr;
  if (data.hasSize || data.hasIgnore) {
    known = warp.require(op, op.sources[0], known, "the size");
    value = warp.read(op.sources[0], scratch);
    if (op.sources[0].isNegated) {
      LaneMask ignored = warp.getPredicate(op.sources[0], known);
      for (unsigned lane : lanesOf(known))
        scratch[lane] = ignored >> lane & 1;
      value = scratch;
    }
  }
  std::vector<LaneCopy> copies;
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    llvm::SmallVector<Fault, 1> faults;
    uint64_t shared = to[lane] & 0xFFFFFFFF;
    std::optional<uint32_t> size = getSize(issuer, value);
    if (!size || !isOwnShared(shared, warp.getCta().getRank(), faults)) {
      issuer.report(faults);
      continue;
    }
    SharedRange range = {shared, data.bytes};
    issuer.checkNoBarriers(range);
    if (*size)
      issuer.noteGlobalLoad(GlobalRange{from[lane], *size}, /*isAsync=*/false);
    AsyncWork work;
    work.writes = {range};
    LaneCopy copy = {lane, shared, from[lane], *size,
                     issuer.begin(AsyncWork::ThreadCopy, std::move(work))};
    cluster.threadGroups.add(issuer.getAgent(), copy.work);
    copies.push_back(std::move(copy));
  }
  cluster.getQueue().push(
      getStream(warp), [&warp, &op, copies = std::move(copies)] {
        for (const LaneCopy &copy : copies)
          copyLane({warp, op, copy.lane}, copy, op.get<ThreadCopyData>().bytes);
        warp.getCluster().noteChange();
      });
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Arrivals
//===----------------------------------------------------------------------===//

/// cp.async.mbarrier.arrive: an arrival behind the thread's copies.
static Step runCopyArrive(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<ArriveData>();
  Cluster &cluster = warp.getCluster();
  LaneValues addresses;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    llvm::SmallVector<Fault, 1> faults;
    std::optional<uint64_t> shared =
        issuer.toShared(addresses[lane], data.isGeneric);
    if (!shared || !isOwnShared(*shared, warp.getCta().getRank(), faults)) {
      issuer.report(faults);
      continue;
    }
    MBarrier *barrier = issuer.findBarrier(*shared);
    if (!barrier || (data.isCounted && !barrier->addPending(faults))) {
      issuer.report(faults);
      continue;
    }
    issuer.noteBarrier(*shared);
    cluster.getQueue().push(
        getStream(warp),
        [issuer, barrier = *shared, started = issuer.start(),
         works = cluster.threadGroups.getPending(issuer.getAgent())] {
          issuer.arrive(barrier, works, started);
        });
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static llvm::Error decodeCopyToShared(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::ArrayRef<Operand> operands = instruction.operands;
  auto data = std::make_unique<ThreadCopyData>();
  llvm::Expected<uint64_t> bytes = getImmediate(operands[2]);
  if (!bytes)
    return bytes.takeError();
  data->bytes = *bytes;
  bool isAll = instruction.has("cg");
  if (isAll ? *bytes != 16 : *bytes != 4 && *bytes != 8 && *bytes != 16)
    return makeError(operands[2].location,
                     llvm::formatv("expected cp.async to copy {0} bytes, but "
                                   "got {1}",
                                   isAll ? "16" : "4, 8 or 16", *bytes));
  for (const Operand &operand : operands.take_front(2)) {
    llvm::Expected<AddressOperand> address = decoder.getAddress(operand);
    if (!address)
      return address.takeError();
    op.addresses.push_back(std::move(*address));
  }
  size_t hints = instruction.has("L2::cache_hint") ? 1 : 0;
  if (operands.size() == 4 + hints) {
    const Operand &operand = operands[3];
    data->hasIgnore =
        operand.kind == OperandKind::Register && operand.type == Type::Pred;
    data->hasSize = !data->hasIgnore;
    llvm::Expected<Source> source =
        decoder.getSource(operand, data->hasIgnore ? Type::Pred : Type::U32);
    if (!source)
      return source.takeError();
    op.sources.push_back(*source);
  }
  op.handler = runThreadCopy;
  op.data = std::move(data);
  return llvm::Error::success();
}

llvm::Error decodeThreadCopy(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  if (instruction.form->name == "cp.async")
    return decodeCopyToShared(decoder, op);
  auto data = std::make_unique<ArriveData>();
  data->isGeneric = isGeneric(instruction);
  data->isCounted = !instruction.has("noinc");
  op.data = std::move(data);
  op.handler = runCopyArrive;
  return addOperands(decoder, op, 0, Type::B32);
}

} // namespace blockscale::emulator

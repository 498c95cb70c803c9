//===- BulkCopy.cpp - Bulk copies of bytes --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/AtomicFunction.h"
#include "Emulator/Instructions/AsyncInstructions.h"

#include "Emulator/Async/TmaCopy.h"
#include "Emulator/Memory/AddressWindow.h"
#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace blockscale::emulator {

namespace {
struct BulkCopyData : OpData {
  enum Kind : uint8_t { Load, SharedToShared, Store, Prefetch };
  Kind kind = Load;
  bool isMulticast = false;
  /// The operation of a reduction; null for a copy.
  AtomicFunction function = nullptr;
  unsigned elementBytes = 0;
};

/// The operands of one lane.
struct BulkOperands {
  uint64_t to = 0;
  uint64_t from = 0;
  uint32_t size = 0;
  uint64_t barrier = 0;
  uint16_t mask = 0xFFFF;
  /// Not where a multicast has read it for another target.
  bool isRead = true;
};
} // namespace

/// Combines elements of the target with those of the source.
static void reduce(const BulkCopyData &data, const Memory &source,
                   uint64_t from, Memory &target, uint64_t to, uint32_t size,
                   Faults &faults) {
  if (size % 16 != 0) {
    // Refuses it.
    copyBulk(source, from, target, to, size, faults);
    return;
  }
  llvm::ArrayRef<uint8_t> operand = source.read(from, size, 16, faults);
  llvm::MutableArrayRef<uint8_t> bytes = target.update(to, size, 16, faults);
  if (operand.empty() || bytes.empty())
    return;
  for (uint32_t i = 0; i < size; i += data.elementBytes) {
    uint64_t old = 0, value = 0;
    std::memcpy(&old, &bytes[i], data.elementBytes);
    std::memcpy(&value, &operand[i], data.elementBytes);
    value = data.function(old, value, 0);
    std::memcpy(&bytes[i], &value, data.elementBytes);
  }
}

static void move(const Issuer &issuer, const Memory &source, Memory &target,
                 const BulkOperands &operands, Faults &faults) {
  const auto &data = issuer.op.get<BulkCopyData>();
  countBytes(issuer, source.getSpace(), target.getSpace(), operands.size,
             operands.isRead);
  if (!data.function) {
    copyBulk(source, operands.from, target, operands.to, operands.size, faults,
             operands.mask);
    return;
  }
  std::unique_lock<std::mutex> lock(
      issuer.getCluster().getContext().globalAtomics, std::defer_lock);
  if (target.getSpace() == StateSpace::Global)
    lock.lock();
  reduce(data, source, operands.from, target, operands.to, operands.size,
         faults);
}

/// From global or shared memory to shared memory of the cluster.
static void issueBulkLoad(const Issuer &issuer, const BulkOperands &operands) {
  const auto &data = issuer.op.get<BulkCopyData>();
  CopyTarget named = {operands.to, operands.barrier};
  if (data.kind == BulkCopyData::Load && !checkOwnTarget(issuer, named))
    return;
  std::optional<uint16_t> mask;
  if (data.isMulticast)
    mask = operands.mask;
  if (data.kind == BulkCopyData::Load)
    issuer.noteGlobalLoad(GlobalRange{operands.from, operands.size},
                          /*isAsync=*/true);
  bool isRead = true;
  for (const CopyTarget &target : getTargets(issuer, named, mask)) {
    Cta *cta = issuer.findCta(target.to);
    if (!cta)
      continue;
    AsyncWork work;
    work.writes = {{target.to, operands.size}};
    Memory *source = &issuer.getCluster().getContext().device.global;
    if (data.kind == BulkCopyData::SharedToShared) {
      work.reads = {{operands.from, operands.size}};
      source = &issuer.warp.getCta().getShared();
    }
    BulkOperands own = operands;
    own.to = target.to;
    own.mask = 0xFFFF;
    own.isRead = std::exchange(isRead, false);
    pushLoad(issuer, std::move(work), target, operands.size,
             [=](Faults &faults) {
               move(issuer, *source, cta->getShared(), own, faults);
             });
  }
}

/// The bytes that a copy writes: those that its mask names. A copy of more
/// bytes than the shared memory of a CTA has, `most`, is refused, whatever its
/// mask.
static llvm::SmallVector<GlobalRange, 0> getWrites(const BulkOperands &operands,
                                                   uint64_t most) {
  if (operands.mask == 0xFFFF || operands.size > most)
    return {{operands.to, operands.size}};
  llvm::SmallVector<GlobalRange, 0> ranges;
  for (uint32_t i = 0; i < operands.size; ++i)
    if (operands.mask >> i % 16 & 1)
      addRange(ranges, {operands.to + i, 1});
  return ranges;
}

static void issueBulkStore(const Issuer &issuer, const BulkOperands &operands) {
  AsyncWork work;
  work.reads = {{operands.from, operands.size}};
  work.globalWrites =
      getWrites(operands, issuer.warp.getCta().getSharedBytes());
  pushStore(issuer, std::move(work), [=](Faults &faults) {
    move(issuer, issuer.warp.getCta().getShared(),
         issuer.getCluster().getContext().device.global, operands, faults);
  });
}

static Step runBulkCopy(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<BulkCopyData>();
  LaneValues to, from, barrier, sizes, masks;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, to);
  if (data.kind != BulkCopyData::Prefetch)
    known = warp.readAddresses(op, op.addresses[1], known, from);
  if (op.addresses.size() > 2)
    known = warp.readAddresses(op, op.addresses[2], known, barrier);
  for (const Source &source : op.sources)
    known = warp.require(op, source, known, "the operand");
  const uint64_t *size = warp.read(op.sources[0], sizes);
  const uint64_t *mask =
      op.sources.size() > 1 ? warp.read(op.sources[1], masks) : nullptr;
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    BulkOperands operands;
    operands.to = to[lane];
    operands.size = uint32_t(size[lane]);
    if (mask)
      operands.mask = mask[lane];
    llvm::SmallVector<Fault, 1> faults;
    if (data.kind == BulkCopyData::Prefetch) {
      const Memory &global = warp.getCluster().getContext().device.global;
      (void)global.read(operands.to, operands.size, 16, faults);
      llvm::erase_if(faults, [](const Fault &fault) {
        return fault.kind == FaultKind::Uninitialised;
      });
      issuer.report(faults);
      continue;
    }
    operands.from = from[lane];
    if (data.kind != BulkCopyData::Load) {
      operands.from &= 0xFFFFFFFF;
      if (!isOwnShared(operands.from, warp.getCta().getRank(), faults)) {
        issuer.report(faults);
        continue;
      }
    }
    if (data.kind == BulkCopyData::Store) {
      issueBulkStore(issuer, operands);
      continue;
    }
    operands.to &= 0xFFFFFFFF;
    operands.barrier = barrier[lane] & 0xFFFFFFFF;
    issueBulkLoad(issuer, operands);
  }
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static llvm::Error decodeReduction(Op &op, BulkCopyData &data) {
  const Instruction &instruction = *op.instruction;
  Type type = instruction.getTypes()[0];
  data.elementBytes = getBytes(type);
  data.function =
      findAtomicFunction(instruction.getModifier({"add", "min", "max", "inc",
                                                  "dec", "and", "or", "xor"}),
                         type, data.kind == BulkCopyData::SharedToShared);
  if (data.function)
    return llvm::Error::success();
  return makeError(instruction.location,
                   "'" + instruction.getSpelling() + "' is not modelled");
}

llvm::Error decodeBulkCopy(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef name = instruction.form->name;
  auto data = std::make_unique<BulkCopyData>();
  data->kind = name.ends_with("prefetch")      ? BulkCopyData::Prefetch
               : instruction.has("bulk_group") ? BulkCopyData::Store
               : !instruction.has("global")    ? BulkCopyData::SharedToShared
                                               : BulkCopyData::Load;
  data->isMulticast = instruction.has("multicast::cluster");
  if (name.starts_with("cp.reduce"))
    if (llvm::Error error = decodeReduction(op, *data))
      return error;
  if (llvm::Error error = addOperands(decoder, op, 0, Type::B32))
    return error;
  // The size, then the CTAs of a multicast; the cache policy means nothing; the
  // byte mask stands behind it.
  if (instruction.has("L2::cache_hint"))
    op.sources.erase(op.sources.begin() + 1 + data->isMulticast);
  op.handler = runBulkCopy;
  op.data = std::move(data);
  return llvm::Error::success();
}

} // namespace blockscale::emulator

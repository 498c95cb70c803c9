//===- AsyncStore.cpp - Asynchronous stores -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/AtomicFunction.h"
#include "Emulator/Instructions/AsyncInstructions.h"

#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace blockscale::emulator {

namespace {
struct AsyncStoreData : OpData {
  bool isGeneric = false;
  unsigned elementBytes = 0;
  /// The operation of red.async; null for a store.
  AtomicFunction function = nullptr;
};
} // namespace

/// Stores of registers into shared memory of the cluster that complete on a
/// barrier there.
static Step runAsyncStore(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<AsyncStoreData>();
  LaneValues to, barriers;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, to);
  known = warp.readAddresses(op, op.addresses[1], known, barriers);
  llvm::SmallVector<std::array<uint64_t, kWarpSize>, 4> values;
  for (const Source &source : op.sources) {
    LaneValues scratch;
    known = warp.require(op, source, known, "the value");
    std::memcpy(values.emplace_back().data(), warp.read(source, scratch),
                sizeof(scratch));
  }
  uint32_t size = data.elementBytes * op.sources.size();
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    std::optional<uint64_t> address = issuer.toShared(to[lane], data.isGeneric);
    std::optional<uint64_t> barrier =
        issuer.toShared(barriers[lane], data.isGeneric);
    Cta *cta = address && barrier ? issuer.findCta(*address) : nullptr;
    if (!cta)
      continue;
    llvm::SmallVector<uint8_t, 16> bytes(size);
    for (auto [i, value] : llvm::enumerate(values))
      std::memcpy(&bytes[i * data.elementBytes], &value[lane],
                  data.elementBytes);
    AsyncWork work;
    // Reductions of several threads may meet.
    if (!data.function)
      work.writes = {{*address, size}};
    pushLoad(issuer, std::move(work), {*address, *barrier}, size,
             [=, &data](Faults &faults) {
               Memory &shared = cta->getShared();
               llvm::MutableArrayRef<uint8_t> target =
                   data.function ? shared.update(*address, size, size, faults)
                                 : shared.write(*address, size, size, faults);
               if (target.empty())
                 return;
               if (!data.function) {
                 llvm::copy(bytes, target.begin());
                 return;
               }
               uint64_t old = 0, operand = 0;
               std::memcpy(&old, target.data(), size);
               std::memcpy(&operand, bytes.data(), size);
               old = data.function(old, operand, 0);
               std::memcpy(target.data(), &old, size);
             });
  }
  return Step::Next;
}

/// st.bulk: zeros, at once.
static Step runBulk(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<AsyncStoreData>();
  LaneValues to, scratch;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, to);
  known = warp.require(op, op.sources[0], known, "the size");
  const uint64_t *sizes = warp.read(op.sources[0], scratch);
  for (unsigned lane : lanesOf(known)) {
    Issuer issuer{warp, op, lane};
    std::optional<uint64_t> address = issuer.toShared(to[lane], data.isGeneric);
    if (!address)
      continue;
    if (sizes[lane] % 8 != 0) {
      issuer.report({FaultKind::Misaligned,
                     "expected the size of st.bulk to be a multiple of 8",
                     "round the size up and pad the buffer"});
      continue;
    }
    if (sizes[lane] != 0)
      llvm::fill(
          warp.store(op, lane, {StateSpace::Shared, *address}, sizes[lane], 8),
          0);
  }
  return Step::Next;
}

llvm::Error decodeAsyncStore(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef name = instruction.form->name;
  auto data = std::make_unique<AsyncStoreData>();
  data->isGeneric = isGeneric(instruction);
  if (name == "st.bulk") {
    op.data = std::move(data);
    op.handler = runBulk;
    return addOperands(decoder, op, 0, Type::U64);
  }
  Type type = instruction.getTypes()[0];
  data->elementBytes = getBytes(type);
  if (name == "red.async")
    data->function =
        findAtomicFunction(instruction.getModifier({"add", "min", "max", "inc",
                                                    "dec", "and", "or", "xor"}),
                           type, /*isShared=*/true);
  op.data = std::move(data);
  op.handler = runAsyncStore;
  return addOperands(decoder, op, 0, type);
}

} // namespace blockscale::emulator

//===- Atomic.cpp - Atomic operations on memory ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/AtomicFunction.h"
#include "Emulator/Instructions/Decoder.h"

#include "Emulator/Machine/Cluster.h"
#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace blockscale::emulator {

namespace {
struct AtomicData : OpData {
  std::optional<StateSpace> space;
  AtomicFunction function = nullptr;
  /// Add of f32 outside shared memory flushes subnormal numbers.
  AtomicFunction sharedFunction = nullptr;
  unsigned elementBytes = 0;
  unsigned elements = 1;
  bool isWide = false;
  bool isCas = false;
};
} // namespace

//===----------------------------------------------------------------------===//
// Execution
//===----------------------------------------------------------------------===//

/// Registers hold `registerBytes` each; a packed pair is two elements of one.
static void applyElements(const AtomicData &data, AtomicFunction function,
                          unsigned registerBytes, unsigned lane,
                          llvm::ArrayRef<const uint64_t *> sources,
                          llvm::MutableArrayRef<uint8_t> bytes) {
  for (unsigned offset = 0; offset < bytes.size();
       offset += data.elementBytes) {
    unsigned index = offset / registerBytes;
    unsigned shift = offset % registerBytes * 8;
    uint64_t mask = data.elementBytes == 8
                        ? ~uint64_t(0)
                        : (uint64_t(1) << data.elementBytes * 8) - 1;
    auto operand = [&](unsigned i) { return sources[i][lane] >> shift & mask; };
    uint64_t old = 0;
    std::memcpy(&old, &bytes[offset], data.elementBytes);
    uint64_t b = data.isCas ? operand(index + 1) : 0;
    uint64_t value = function(old, operand(index), b);
    std::memcpy(&bytes[offset], &value, data.elementBytes);
  }
}

/// exch and cas of 16 bytes: two registers an operand.
static void applyWide(const AtomicData &data, unsigned lane,
                      llvm::ArrayRef<const uint64_t *> sources,
                      llvm::MutableArrayRef<uint8_t> bytes) {
  uint64_t old[2], operand[2] = {sources[0][lane], sources[1][lane]};
  std::memcpy(old, bytes.data(), sizeof(old));
  if (!data.isCas) {
    std::memcpy(bytes.data(), operand, sizeof(operand));
  } else if (old[0] == operand[0] && old[1] == operand[1]) {
    uint64_t value[2] = {sources[2][lane], sources[3][lane]};
    std::memcpy(bytes.data(), value, sizeof(value));
  }
}

static Step runAtomic(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<AtomicData>();
  LaneValues addresses, scratch;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  llvm::SmallVector<const uint64_t *, 8> sources;
  for (const Source &source : op.sources) {
    known = warp.require(op, source, known, "the operand");
    sources.push_back(warp.read(source, scratch));
  }
  unsigned size = data.elementBytes * data.elements;
  unsigned registerBytes =
      data.isWide ? 8 : size_t(size) * (data.isCas ? 2 : 1) / op.sources.size();
  LaneMask done = 0;
  for (unsigned lane : lanesOf(known)) {
    SpaceAddress where = data.space ? SpaceAddress{*data.space, addresses[lane]}
                                    : resolveGeneric(addresses[lane]);
    std::unique_lock<std::mutex> lock(
        warp.getCluster().getContext().globalAtomics, std::defer_lock);
    if (where.space == StateSpace::Global)
      lock.lock();
    llvm::ArrayRef<uint8_t> old = warp.load(op, lane, where, size, size);
    if (old.empty())
      continue;
    llvm::SmallVector<uint8_t, 32> bytes(old);
    AtomicFunction function =
        where.space == StateSpace::Shared ? data.sharedFunction : data.function;
    if (data.isWide)
      applyWide(data, lane, sources, bytes);
    else
      applyElements(data, function, registerBytes, lane, sources, bytes);
    for (auto [index, result] : llvm::enumerate(op.results)) {
      uint64_t value = 0;
      std::memcpy(&value, old.data() + index * registerBytes, registerBytes);
      if (!result.isSink)
        warp.write(result)[lane] = value;
    }
    // What stays as it was is no news for those who wait.
    if (llvm::ArrayRef<uint8_t>(bytes) == old) {
      warp.release(op, where, size);
    } else {
      llvm::MutableArrayRef<uint8_t> to =
          warp.store(op, lane, where, size, size);
      // Constants and parameters can be read only.
      if (to.empty())
        continue;
      llvm::copy(bytes, to.begin());
    }
    done |= LaneMask(1) << lane;
  }
  for (auto count : {&Profile::sectorsRead, &Profile::sectorsWritten})
    warp.noteSectors(addresses, known, data.space, size, count);
  for (const Result &result : op.results)
    warp.define(result, active, done);
  warp.noteSynchronised(done);
  return Step::Yield;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static llvm::Error addSources(Decoder &decoder, Op &op, const Operand &operand,
                              Type type, bool isWide) {
  for (const Operand &element : decoder.getElements(operand)) {
    llvm::Expected<Source> source = decoder.getSource(element, type);
    if (!source)
      return source.takeError();
    op.sources.push_back(*source);
    if (isWide)
      op.sources.push_back(decoder.getHigh(*source));
  }
  return llvm::Error::success();
}

llvm::Error decodeAtomic(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  auto data = std::make_unique<AtomicData>();
  Type type = instruction.getTypes()[0];
  llvm::StringRef name = instruction.getModifier(
      {"and", "or", "xor", "exch", "add", "inc", "dec", "min", "max", "cas"});
  data->isCas = name == "cas";
  data->isWide = type == Type::B128;
  data->function = findAtomicFunction(name, type);
  data->sharedFunction = findAtomicFunction(name, type, /*isShared=*/true);
  if (!data->isWide && !data->function)
    return makeError(instruction.location,
                     "'" + instruction.getSpelling() + "' is not modelled");
  if (instruction.has("global"))
    data->space = StateSpace::Global;
  else if (!instruction
                .getModifier({"shared", "shared::cta", "shared::cluster"})
                .empty())
    data->space = StateSpace::Shared;

  llvm::ArrayRef<Operand> operands = instruction.operands;
  if (instruction.form->words.front() == "atom") {
    for (const Operand &element : decoder.getElements(operands.front())) {
      llvm::Expected<Result> result = decoder.getResult(element);
      if (!result)
        return result.takeError();
      op.results.push_back(*result);
      if (data->isWide)
        op.results.push_back(result->isSink ? *result
                                            : decoder.getHigh(*result));
    }
    operands = operands.drop_front();
  }
  llvm::Expected<AddressOperand> address = decoder.getAddress(operands.front());
  if (!address)
    return address.takeError();
  op.addresses.push_back(std::move(*address));
  operands = operands.drop_front();
  size_t registers = decoder.getElements(operands.front()).size();
  for (const Operand &operand : operands.take_front(data->isCas ? 2 : 1))
    if (llvm::Error error =
            addSources(decoder, op, operand, type, data->isWide))
      return error;
  bool isPair = type == Type::F16x2 || type == Type::BF16x2;
  data->elementBytes = isPair ? 2 : getBytes(type);
  data->elements = registers * (isPair ? 2 : 1);
  op.data = std::move(data);
  setStrong(op, /*isStrong=*/true);
  op.handler = runAtomic;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

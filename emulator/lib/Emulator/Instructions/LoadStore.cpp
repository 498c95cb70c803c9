//===- LoadStore.cpp - Loads, stores and hints ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/Decoder.h"

#include "Emulator/Machine/Cluster.h"
#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

namespace {
struct MemoryAccessData : OpData {
  /// The space of the address; none where the address is generic.
  std::optional<StateSpace> space;
  unsigned elementBytes = 0;
  unsigned elements = 1;
  bool isSigned = false;
  /// Whether other threads may change what the load reads.
  bool isPolling = false;
  /// The offset in the frame of a `.param` variable of a function.
  std::optional<uint64_t> frameOffset;

  unsigned getBytes() const { return elementBytes * elements; }
  SpaceAddress getWhere(uint64_t address) const {
    return space ? SpaceAddress{*space, address} : resolveGeneric(address);
  }
};
} // namespace

/// Up to eight bytes as a number.
static uint64_t readBytes(const uint8_t *bytes, unsigned size) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, size);
  return value;
}

/// The values of one lane's results. Elements of 16 bytes have two results.
static void setValues(Warp &warp, const Op &op, const MemoryAccessData &data,
                      unsigned lane, const uint8_t *bytes) {
  unsigned step = std::min(data.elementBytes, 8u);
  unsigned bits = step * 8;
  for (const Result &result : op.results) {
    uint64_t value = readBytes(bytes, step);
    bytes += step;
    if (result.isSink)
      continue;
    if (data.isSigned && result.bits > bits) {
      value = static_cast<uint64_t>(
          static_cast<int64_t>(value << (64 - bits)) >> (64 - bits));
      if (result.bits < 64)
        value &= (uint64_t(1) << result.bits) - 1;
    }
    warp.write(result)[lane] = value;
  }
}

/// A load at an address that is the same in all lanes, as that of a parameter.
static Step runUniformLoad(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MemoryAccessData>();
  LaneValues scratch;
  unsigned first = llvm::countr_zero(active);
  uint64_t address =
      warp.read(op.addresses[0].base, scratch)[first] + op.addresses[0].offset;
  llvm::ArrayRef<uint8_t> bytes = warp.load(op, first, data.getWhere(address),
                                            data.getBytes(), data.getBytes());
  if (!bytes.empty())
    for (unsigned lane : lanesOf(active))
      setValues(warp, op, data, lane, bytes.data());
  for (const Result &result : op.results)
    warp.define(result, active, bytes.empty() ? 0 : kAllLanes);
  return Step::Next;
}

static Step runMemoryLoad(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MemoryAccessData>();
  LaneValues addresses;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  LaneMask loaded = 0;
  for (unsigned lane : lanesOf(known)) {
    llvm::ArrayRef<uint8_t> bytes =
        warp.load(op, lane, data.getWhere(addresses[lane]), data.getBytes(),
                  data.getBytes());
    if (bytes.empty())
      continue;
    loaded |= LaneMask(1) << lane;
    setValues(warp, op, data, lane, bytes.data());
  }
  warp.noteBanks(addresses, known, data.space, data.getBytes());
  warp.noteSectors(addresses, known, data.space, data.getBytes(),
                   &Profile::sectorsRead);
  for (const Result &result : op.results)
    warp.define(result, active, loaded);
  if (!data.isPolling)
    return Step::Next;
  warp.noteSynchronised(active);
  return Step::Yield;
}

static Step runFrameLoad(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MemoryAccessData>();
  Frame &frame = warp.getFrame();
  for (unsigned lane : lanesOf(active))
    setValues(warp, op, data, lane,
              frame.bytes.data() + lane * frame.bytesPerLane +
                  *data.frameOffset);
  for (const Result &result : op.results)
    warp.define(result, active);
  return Step::Next;
}

/// The bytes of one lane's sources.
static void getValues(const Op &op, const MemoryAccessData &data, unsigned lane,
                      llvm::ArrayRef<const uint64_t *> values, uint8_t *bytes) {
  unsigned step = std::min(data.elementBytes, 8u);
  for (const uint64_t *value : values) {
    std::memcpy(bytes, &value[lane], step);
    bytes += step;
  }
}

static Step runMemoryStore(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MemoryAccessData>();
  LaneValues addresses;
  LaneMask known = warp.readAddresses(op, op.addresses[0], active, addresses);
  // What is stored is a register or an immediate: nothing needs the scratch.
  LaneValues scratch;
  llvm::SmallVector<const uint64_t *, 8> values;
  LaneMask defined = kAllLanes;
  for (const Source &source : op.sources) {
    values.push_back(warp.read(source, scratch));
    defined &= warp.getDefined(source);
  }
  for (unsigned lane : lanesOf(known)) {
    SpaceAddress where = data.getWhere(addresses[lane]);
    llvm::MutableArrayRef<uint8_t> bytes =
        warp.store(op, lane, where, data.getBytes(), data.getBytes());
    if (bytes.empty())
      continue;
    getValues(op, data, lane, values, bytes.data());
    if (defined >> lane & 1)
      continue;
    // Undefined bytes may lie in memory that the program alone sees.
    if (where.space == StateSpace::Global)
      for (const Source &source : op.sources)
        warp.require(op, source, LaneMask(1) << lane, "the value stored");
    else
      warp.forget(op, lane, where, data.getBytes());
  }
  warp.noteBanks(addresses, known, data.space, data.getBytes());
  warp.noteSectors(addresses, known, data.space, data.getBytes(),
                   &Profile::sectorsWritten);
  return Step::Next;
}

static Step runFrameStore(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<MemoryAccessData>();
  Frame &frame = warp.getFrame();
  LaneValues scratch;
  uint64_t offset = *data.frameOffset;
  for (const Source &source : op.sources) {
    const uint64_t *values = warp.read(source, scratch);
    unsigned step = std::min(data.elementBytes, 8u);
    for (unsigned lane : lanesOf(active))
      std::memcpy(frame.bytes.data() + lane * frame.bytesPerLane + offset,
                  &values[lane], step);
    offset += step;
  }
  return Step::Next;
}

/// prefetch, applypriority, discard: the address must be defined.
static Step runHint(Warp &warp, const Op &op, LaneMask active) {
  LaneValues addresses;
  warp.readAddresses(op, op.addresses[0], active, addresses);
  return Step::Next;
}

/// createpolicy: a value of no meaning.
static Step runPolicy(Warp &warp, const Op &op, LaneMask active) {
  for (unsigned lane : lanesOf(active))
    warp.write(op.results[0])[lane] = 0;
  warp.define(op.results[0], active);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static std::optional<StateSpace>
getAccessedSpace(const Instruction &instruction) {
  llvm::StringRef name = instruction.getModifier(
      {"global", "shared", "shared::cta", "shared::cluster", "local", "const",
       "param", "param::entry", "param::func"});
  return llvm::StringSwitch<std::optional<StateSpace>>(name)
      .Case("global", StateSpace::Global)
      .Cases({"shared", "shared::cta", "shared::cluster"}, StateSpace::Shared)
      .Case("local", StateSpace::Local)
      .Case("const", StateSpace::Const)
      .Cases({"param", "param::entry", "param::func"}, StateSpace::Param)
      .Default(std::nullopt);
}

static bool isStrong(const Instruction &instruction) {
  return !instruction
              .getModifier(
                  {"volatile", "relaxed", "acquire", "release", "mmio"})
              .empty();
}

void setStrong(Op &op, bool isStrong) {
  const Instruction &instruction = *op.instruction;
  bool isBoth = instruction.has("acq_rel");
  op.isStrong = isStrong;
  op.acquires = isBoth || instruction.has("acquire");
  op.releases = isBoth || instruction.has("release");
  op.scope = getScope(instruction);
}

MemoryScope getScope(const Instruction &instruction) {
  if (instruction.has("cta"))
    return MemoryScope::Cta;
  return instruction.has("cluster") ? MemoryScope::Cluster : MemoryScope::Grid;
}

static std::unique_ptr<MemoryAccessData>
makeAccess(const Instruction &instruction) {
  auto data = std::make_unique<MemoryAccessData>();
  Type type = instruction.getTypes()[0];
  data->space = getAccessedSpace(instruction);
  data->elementBytes = getBytes(type);
  data->isSigned = getInfo(type).kind == TypeKind::Signed;
  return data;
}

/// The address of an access, or its place in the frame.
static llvm::Error decodeAddress(Decoder &decoder, Op &op,
                                 MemoryAccessData &data,
                                 const Operand &operand) {
  const Operand &base = operand.elements[0];
  if (data.space == StateSpace::Param && base.kind == OperandKind::Symbol)
    if (std::optional<uint64_t> offset = decoder.getFrameOffset(base.symbol)) {
      data.frameOffset = *offset + base.offset + operand.offset;
      uint64_t end = decoder.getFunction().frameBytes;
      if (*data.frameOffset > end || data.getBytes() > end - *data.frameOffset)
        return makeError(operand.location,
                         "expected the access to lie inside '" + base.name +
                             "'");
      return llvm::Error::success();
    }
  llvm::Expected<AddressOperand> address = decoder.getAddress(operand);
  if (!address)
    return address.takeError();
  op.addresses.push_back(std::move(*address));
  return llvm::Error::success();
}

static llvm::Error decodeLoad(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  std::unique_ptr<MemoryAccessData> data = makeAccess(instruction);
  data->isPolling = isStrong(instruction);
  setStrong(op, data->isPolling);
  llvm::ArrayRef<Operand> elements =
      decoder.getElements(instruction.operands[0]);
  data->elements = elements.size();
  for (const Operand &element : elements) {
    llvm::Expected<Result> result = decoder.getResult(element);
    if (!result)
      return result.takeError();
    op.results.push_back(*result);
    if (data->elementBytes == 16)
      op.results.push_back(result->isSink ? *result : decoder.getHigh(*result));
  }
  if (llvm::Error error =
          decodeAddress(decoder, op, *data, instruction.operands[1]))
    return error;
  bool isUniform =
      !op.addresses.empty() && op.addresses[0].base.kind == Source::Constant &&
      (data->space == StateSpace::Param || data->space == StateSpace::Const);
  op.handler = data->frameOffset ? runFrameLoad
               : isUniform       ? runUniformLoad
                                 : runMemoryLoad;
  op.data = std::move(data);
  return llvm::Error::success();
}

static llvm::Error decodeStore(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  std::unique_ptr<MemoryAccessData> data = makeAccess(instruction);
  setStrong(op, isStrong(instruction));
  llvm::ArrayRef<Operand> elements =
      decoder.getElements(instruction.operands[1]);
  data->elements = elements.size();
  for (const Operand &element : elements) {
    llvm::Expected<Source> source =
        decoder.getSource(element, instruction.getTypes()[0]);
    if (!source)
      return source.takeError();
    op.sources.push_back(*source);
    if (data->elementBytes == 16)
      op.sources.push_back(decoder.getHigh(*source));
  }
  if (llvm::Error error =
          decodeAddress(decoder, op, *data, instruction.operands[0]))
    return error;
  op.handler = data->frameOffset ? runFrameStore : runMemoryStore;
  op.data = std::move(data);
  return llvm::Error::success();
}

llvm::Error decodeMemory(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef opcode = instruction.form->words.front();
  if (opcode == "ld" || opcode == "ldu")
    return decodeLoad(decoder, op);
  if (opcode == "st")
    return decodeStore(decoder, op);
  if (opcode == "createpolicy") {
    llvm::Expected<Result> result = decoder.getResult(instruction.operands[0]);
    if (!result)
      return result.takeError();
    op.results.push_back(*result);
    op.handler = runPolicy;
    return llvm::Error::success();
  }
  llvm::Expected<AddressOperand> address =
      decoder.getAddress(instruction.operands[0]);
  if (!address)
    return address.takeError();
  op.addresses.push_back(std::move(*address));
  op.handler = runHint;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

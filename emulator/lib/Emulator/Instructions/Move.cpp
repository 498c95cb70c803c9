//===- Move.cpp - Moves and address conversions ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/LaneOperation.h"

#include "Emulator/Machine/Cluster.h"
#include "Emulator/Memory/AddressWindow.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// mov
//===----------------------------------------------------------------------===//

/// Each result takes its own source.
static Step executeCopies(Warp &warp, const Op &op, LaneMask active) {
  LaneValues scratch;
  for (auto [result, source] : llvm::zip(op.results, op.sources)) {
    const uint64_t *from = warp.read(source, scratch);
    uint64_t *to = warp.write(result);
    if (active == kAllLanes)
      std::memmove(to, from, sizeof(LaneValues));
    else
      for (unsigned lane : lanesOf(active))
        to[lane] = from[lane];
    warp.define(result, active, warp.getDefined(source));
  }
  return Step::Next;
}

static llvm::Error decodeValueMove(Decoder &decoder, Op &op, Type type) {
  const Instruction &instruction = *op.instruction;
  if (llvm::Error error = decodeOperands(decoder, op))
    return error;
  const Operand &from = instruction.operands[1];
  if (type == Type::B128) {
    Result result = op.results[0];
    op.results.push_back(result.isSink ? result : decoder.getHigh(result));
    op.sources.push_back(decoder.getHigh(op.sources[0]));
  }
  op.handler = executeCopies;
  // A special register or an address may be wider than the type.
  if (from.kind != OperandKind::Special && from.kind != OperandKind::Symbol)
    return llvm::Error::success();
  uint64_t mask = getLowBits(getInfo(type).bits);
  if (type == Type::Pred || mask == ~uint64_t(0))
    return llvm::Error::success();
  return setLanes(op, [=](uint64_t a) { return a & mask; });
}

namespace {
/// Registers of `bits` bits that share one of a multiple of them.
struct VectorData : OpData {
  unsigned bits;
};
} // namespace

/// `mov.b32 d, {a, b}`: a in the low bits. An element that is not defined may
/// be the unused part of a vector, so one that is makes the whole defined.
static Step executePack(Warp &warp, const Op &op, LaneMask active) {
  unsigned bits = op.get<VectorData>().bits;
  size_t perSlot = op.sources.size() / op.results.size();
  LaneValues values[2] = {};
  LaneMask defined[2] = {};
  for (auto [i, source] : llvm::enumerate(op.sources)) {
    LaneValues scratch;
    const uint64_t *from = warp.read(source, scratch);
    size_t slot = i / perSlot;
    unsigned shift = i % perSlot * bits;
    uint64_t mask = getLowBits(bits);
    for (unsigned lane = 0; lane < kWarpSize; ++lane)
      values[slot][lane] |= (from[lane] & mask) << shift;
    defined[slot] |= warp.getDefined(source);
  }
  for (auto [i, result] : llvm::enumerate(op.results)) {
    uint64_t *to = warp.write(result);
    for (unsigned lane : lanesOf(active))
      to[lane] = values[i][lane];
    warp.define(result, active, defined[i]);
  }
  return Step::Next;
}

/// `mov.b32 {a, b}, d`.
static Step executeUnpack(Warp &warp, const Op &op, LaneMask active) {
  unsigned bits = op.get<VectorData>().bits;
  size_t perSlot = op.results.size() / op.sources.size();
  LaneValues copies[2];
  LaneMask defined[2];
  for (auto [i, source] : llvm::enumerate(op.sources)) {
    LaneValues scratch;
    // Each source is copied, since a result may be its register.
    std::memcpy(copies[i], warp.read(source, scratch), sizeof(LaneValues));
    defined[i] = warp.getDefined(source);
  }
  uint64_t mask = getLowBits(bits);
  for (auto [i, result] : llvm::enumerate(op.results)) {
    if (result.isSink)
      continue;
    size_t slot = i / perSlot;
    unsigned shift = i % perSlot * bits;
    uint64_t *to = warp.write(result);
    for (unsigned lane : lanesOf(active))
      to[lane] = copies[slot][lane] >> shift & mask;
    warp.define(result, active, defined[slot]);
  }
  return Step::Next;
}

static llvm::Error decodeVectorMove(Decoder &decoder, Op &op, Type type) {
  const Instruction &instruction = *op.instruction;
  llvm::ArrayRef<Operand> elements =
      decoder.getElements(instruction.operands[1]);
  auto data = std::make_unique<VectorData>();
  data->bits = getInfo(type).bits / elements.size();
  llvm::Expected<Result> result = decoder.getResult(instruction.operands[0]);
  if (!result)
    return result.takeError();
  op.results.push_back(*result);
  if (type == Type::B128)
    op.results.push_back(result->isSink ? *result : decoder.getHigh(*result));
  for (const Operand &element : elements) {
    if (element.kind == OperandKind::Sink)
      return makeError(element.location, "expected a register to read");
    llvm::Expected<Source> source = decoder.getSource(element, element.type);
    if (!source)
      return source.takeError();
    op.sources.push_back(*source);
  }
  op.data = std::move(data);
  op.handler = executePack;
  return llvm::Error::success();
}

static llvm::Error decodeUnpack(Decoder &decoder, Op &op, Type type) {
  const Instruction &instruction = *op.instruction;
  llvm::ArrayRef<Operand> elements =
      decoder.getElements(instruction.operands[0]);
  auto data = std::make_unique<VectorData>();
  data->bits = getInfo(type).bits / elements.size();
  for (const Operand &element : elements) {
    llvm::Expected<Result> result = decoder.getResult(element);
    if (!result)
      return result.takeError();
    op.results.push_back(*result);
  }
  llvm::Expected<Source> source =
      decoder.getSource(instruction.operands[1], type);
  if (!source)
    return source.takeError();
  op.sources.push_back(*source);
  if (type == Type::B128)
    op.sources.push_back(decoder.getHigh(*source));
  op.data = std::move(data);
  op.handler = executeUnpack;
  return llvm::Error::success();
}

static llvm::Error decodeMov(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  Type type = instruction.getTypes().front();
  if (instruction.operands[1].kind == OperandKind::Vector)
    return decodeVectorMove(decoder, op, type);
  if (instruction.operands[0].kind == OperandKind::Vector)
    return decodeUnpack(decoder, op, type);
  return decodeValueMove(decoder, op, type);
}

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

static StateSpace getConvertedSpace(const Instruction &instruction) {
  for (const Modifier &modifier : instruction.modifiers) {
    llvm::StringRef space = modifier.text.split("::").first;
    if (space == "shared")
      return StateSpace::Shared;
    if (space == "local")
      return StateSpace::Local;
    if (space == "param")
      return StateSpace::Param;
    if (space == "const")
      return StateSpace::Const;
  }
  return StateSpace::Global;
}

namespace {
struct SpaceData : OpData {
  StateSpace space = StateSpace::Global;
  /// Addresses are generic ones, not in `space`.
  bool isGeneric = false;
  /// `.shared::cluster`: of any CTA of the cluster.
  bool isCluster = false;
};
} // namespace

/// Where `compute(lane, value, faults)` fails, the result is undefined.
template <typename Compute>
static Step executeAddress(Warp &warp, const Op &op, LaneMask active,
                           Compute compute) {
  LaneValues scratch;
  const uint64_t *from = warp.read(op.sources[0], scratch);
  LaneMask defined = kAllLanes;
  for (const Source &source : op.sources)
    defined &= warp.getDefined(source);
  uint64_t *to = warp.write(op.results[0]);
  LaneMask good = 0;
  for (unsigned lane : lanesOf(active & defined)) {
    llvm::SmallVector<Fault, 1> faults;
    std::optional<uint64_t> value = compute(lane, from[lane], faults);
    warp.report(op, lane, faults);
    if (!value)
      continue;
    to[lane] = *value;
    good |= LaneMask(1) << lane;
  }
  warp.define(op.results[0], active, good);
  return Step::Next;
}

static Step executeFromGeneric(Warp &warp, const Op &op, LaneMask active) {
  StateSpace space = op.get<SpaceData>().space;
  return executeAddress(warp, op, active,
                        [=](unsigned, uint64_t value, Faults &faults) {
                          return fromGeneric(space, value, faults);
                        });
}

static llvm::Error decodeCvta(Op &op) {
  StateSpace space = getConvertedSpace(*op.instruction);
  // Global addresses are generic ones.
  if (!op.instruction->has("to"))
    return setLanes(op, [=](uint64_t a) { return toGeneric(space, a); });
  auto data = std::make_unique<SpaceData>();
  data->space = space;
  op.data = std::move(data);
  op.handler = executeFromGeneric;
  return llvm::Error::success();
}

/// PTX ISA, "isspacep": .shared is .shared::cta, the window of the own CTA.
static Step executeIsSpace(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<SpaceData>();
  unsigned rank = warp.getCta().getRank();
  return executeAddress(
      warp, op, active,
      [&](unsigned, uint64_t value, Faults &) -> std::optional<uint64_t> {
        SpaceAddress found = resolveGeneric(value);
        return found.space == data.space &&
               (data.space != StateSpace::Shared || data.isCluster ||
                getCtaRank(found.address) == rank);
      });
}

/// The shared address that a source stands for.
static std::optional<uint64_t> getShared(const SpaceData &data, uint64_t value,
                                         Faults &faults) {
  return data.isGeneric ? fromGeneric(StateSpace::Shared, value, faults)
                        : value;
}

static Step executeMapA(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<SpaceData>();
  LaneValues scratch;
  const uint64_t *ranks = warp.read(op.sources[1], scratch);
  return executeAddress(warp, op, active,
                        [&](unsigned lane, uint64_t value,
                            Faults &faults) -> std::optional<uint64_t> {
                          std::optional<uint64_t> shared =
                              getShared(data, value, faults);
                          if (shared)
                            shared = mapToCta(*shared, ranks[lane]);
                          if (shared && data.isGeneric)
                            return toGeneric(StateSpace::Shared, *shared);
                          return shared;
                        });
}

static Step executeGetRank(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<SpaceData>();
  return executeAddress(
      warp, op, active,
      [&](unsigned, uint64_t value, Faults &faults) -> std::optional<uint64_t> {
        std::optional<uint64_t> shared = getShared(data, value, faults);
        if (shared)
          return getCtaRank(*shared);
        return std::nullopt;
      });
}

llvm::Error decodeMove(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef name = instruction.form->name;
  if (name == "mov")
    return decodeMov(decoder, op);
  if (llvm::Error error = decodeOperands(decoder, op))
    return error;
  if (name == "cvta")
    return decodeCvta(op);
  auto data = std::make_unique<SpaceData>();
  data->space = getConvertedSpace(instruction);
  data->isCluster = instruction.has("shared::cluster");
  // mapa and getctarank take generic addresses where they name no space.
  data->isGeneric = !data->isCluster;
  op.data = std::move(data);
  op.handler = name == "isspacep" ? executeIsSpace
               : name == "mapa"   ? executeMapA
                                  : executeGetRank;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

//===- WarpExchange.cpp - Exchange between the lanes of a warp ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA: shfl.sync, vote.sync, match.sync, redux.sync, elect.sync,
// activemask. The members of the mask have come together: they are `active`.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/LaneOperation.h"

#include "Emulator/Arithmetic/FloatMinMax.h"
#include "Emulator/Arithmetic/IntegerOps.h"
#include "Emulator/Machine/Cluster.h"

#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

/// Writes the values of active lanes.
static void writeLanes(Warp &warp, const Result &result, LaneMask active,
                       const LaneValues &values, LaneMask defined) {
  uint64_t *to = warp.write(result);
  for (unsigned lane : lanesOf(active))
    to[lane] = values[lane];
  warp.define(result, active, defined);
}

/// Writes one value to all active lanes.
static void writeAll(Warp &warp, const Result &result, LaneMask active,
                     uint64_t value, bool isDefined) {
  uint64_t *to = warp.write(result);
  for (unsigned lane : lanesOf(active))
    to[lane] = value;
  warp.define(result, active, isDefined ? kAllLanes : 0);
}

//===----------------------------------------------------------------------===//
// shfl.sync
//===----------------------------------------------------------------------===//

enum class ShuffleMode : uint8_t { Up, Down, Butterfly, Index };

namespace {
struct ShuffleData : OpData {
  ShuffleMode mode;
};

/// Where a lane reads.
struct ShuffleSource {
  unsigned lane;
  /// Whether that is in its segment; else it reads itself.
  bool isInside;
};
} // namespace

/// b is a lane or a distance; c holds the clamp in bits 4:0 and the mask of the
/// segment's number in bits 12:8.
static ShuffleSource getShuffleSource(ShuffleMode mode, unsigned lane,
                                      uint64_t b, uint64_t c) {
  unsigned distance = b & 31, clamp = c & 31, segment = c >> 8 & 31;
  unsigned first = lane & segment;
  unsigned last = first | (clamp & ~segment);
  int from = static_cast<int>(lane);
  bool isInside = false;
  switch (mode) {
  case ShuffleMode::Up:
    from -= static_cast<int>(distance);
    isInside = from >= static_cast<int>(last);
    break;
  case ShuffleMode::Down:
    from += static_cast<int>(distance);
    isInside = from <= static_cast<int>(last);
    break;
  case ShuffleMode::Butterfly:
    from ^= static_cast<int>(distance);
    isInside = from <= static_cast<int>(last);
    break;
  case ShuffleMode::Index:
    from = static_cast<int>(first | (distance & ~segment));
    isInside = from <= static_cast<int>(last);
    break;
  }
  return {isInside ? static_cast<unsigned>(from) : lane, isInside};
}

/// What a lane reads from one that does not take part is undefined.
static Step executeShuffle(Warp &warp, const Op &op, LaneMask active) {
  ShuffleMode mode = op.get<ShuffleData>().mode;
  LaneValues scratch[3];
  const uint64_t *a = warp.read(op.sources[0], scratch[0]);
  const uint64_t *b = warp.read(op.sources[1], scratch[1]);
  const uint64_t *c = warp.read(op.sources[2], scratch[2]);
  LaneMask control =
      warp.getDefined(op.sources[1]) & warp.getDefined(op.sources[2]);
  LaneMask readable = active & warp.getDefined(op.sources[0]);
  LaneValues values, holds;
  LaneMask defined = 0;
  for (unsigned lane : lanesOf(active)) {
    ShuffleSource source = getShuffleSource(mode, lane, b[lane], c[lane]);
    values[lane] = a[source.lane];
    holds[lane] = source.isInside;
    defined |= (readable >> source.lane & 1) << lane;
  }
  writeLanes(warp, op.results[0], active, values, defined & control);
  if (op.results.size() > 1)
    writeLanes(warp, op.results[1], active, holds, control);
  return Step::Next;
}

static llvm::Error decodeShuffle(Op &op) {
  auto data = std::make_unique<ShuffleData>();
  data->mode = llvm::StringSwitch<ShuffleMode>(
                   op.instruction->getModifier({"up", "down", "bfly", "idx"}))
                   .Case("up", ShuffleMode::Up)
                   .Case("down", ShuffleMode::Down)
                   .Case("bfly", ShuffleMode::Butterfly)
                   .Default(ShuffleMode::Index);
  op.data = std::move(data);
  op.handler = executeShuffle;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// vote.sync
//===----------------------------------------------------------------------===//

/// The result of `combine(votes, active)`.
template <typename Combine>
static Step executeVote(Warp &warp, const Op &op, LaneMask active,
                        Combine combine) {
  LaneMask votes = warp.getPredicate(op.sources[0], active);
  bool isDefined = (active & ~warp.getDefined(op.sources[0])) == 0;
  writeAll(warp, op.results[0], active, combine(votes), isDefined);
  return Step::Next;
}

static Handler getVote(const Instruction &instruction) {
  if (instruction.has("ballot"))
    return [](Warp &warp, const Op &op, LaneMask active) {
      return executeVote(warp, op, active,
                         [](LaneMask votes) -> uint64_t { return votes; });
    };
  if (instruction.has("all"))
    return [](Warp &warp, const Op &op, LaneMask active) {
      return executeVote(warp, op, active, [=](LaneMask votes) -> uint64_t {
        return votes == active;
      });
    };
  if (instruction.has("any"))
    return [](Warp &warp, const Op &op, LaneMask active) {
      return executeVote(warp, op, active,
                         [](LaneMask votes) -> uint64_t { return votes != 0; });
    };
  return [](Warp &warp, const Op &op, LaneMask active) {
    return executeVote(warp, op, active, [=](LaneMask votes) -> uint64_t {
      return votes == active || votes == 0;
    });
  };
}

//===----------------------------------------------------------------------===//
// match.sync
//===----------------------------------------------------------------------===//

/// Each lane's mask of those that have its value.
static Step executeMatchAny(Warp &warp, const Op &op, LaneMask active) {
  LaneValues scratch, values;
  const uint64_t *a = warp.read(op.sources[0], scratch);
  for (unsigned lane : lanesOf(active)) {
    LaneMask same = 0;
    for (unsigned other : lanesOf(active))
      same |= LaneMask(a[other] == a[lane]) << other;
    values[lane] = same;
  }
  bool isDefined = (active & ~warp.getDefined(op.sources[0])) == 0;
  writeLanes(warp, op.results[0], active, values, isDefined ? kAllLanes : 0);
  return Step::Next;
}

/// The members where all values are the same, else 0.
static Step executeMatchAll(Warp &warp, const Op &op, LaneMask active) {
  LaneValues scratch;
  const uint64_t *a = warp.read(op.sources[0], scratch);
  uint64_t first = a[llvm::countr_zero(active)];
  bool isSame = true;
  for (unsigned lane : lanesOf(active))
    isSame &= a[lane] == first;
  bool isDefined = (active & ~warp.getDefined(op.sources[0])) == 0;
  writeAll(warp, op.results[0], active, isSame ? active : 0, isDefined);
  if (op.results.size() > 1)
    writeAll(warp, op.results[1], active, isSame, isDefined);
  return Step::Next;
}

//===----------------------------------------------------------------------===//
// redux.sync
//===----------------------------------------------------------------------===//

using Reduction = uint64_t (*)(uint64_t a, uint64_t b,
                               const MinMaxModifiers &modifiers);

namespace {
struct ReduxData : OpData {
  Reduction reduce;
  MinMaxModifiers modifiers;
  bool isFloat;
};
} // namespace

static Step executeRedux(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<ReduxData>();
  LaneValues scratch;
  const uint64_t *a = warp.read(op.sources[0], scratch);
  unsigned first = llvm::countr_zero(active);
  uint64_t result = a[first];
  // A single value is converted too: NaN becomes the instruction's NaN, and
  // .abs takes the magnitude.
  if (data.isFloat)
    result = data.reduce(result, result, data.modifiers);
  for (unsigned lane : lanesOf(active & (active - 1)))
    result = data.reduce(result, a[lane], data.modifiers);
  bool isDefined = (active & ~warp.getDefined(op.sources[0])) == 0;
  writeAll(warp, op.results[0], active, result, isDefined);
  return Step::Next;
}

template <typename T>
static Reduction getOrderReduction(bool isMin) {
  if (isMin)
    return [](uint64_t a, uint64_t b, const MinMaxModifiers &) {
      return minInteger<T>(a, b);
    };
  return [](uint64_t a, uint64_t b, const MinMaxModifiers &) {
    return maxInteger<T>(a, b);
  };
}

static Reduction getReduction(const Instruction &instruction) {
  bool isMin = instruction.has("min");
  if (instruction.has("f32"))
    return isMin ? static_cast<Reduction>(minFloat<F32>)
                 : static_cast<Reduction>(maxFloat<F32>);
  if (isMin || instruction.has("max"))
    return instruction.has("s32") ? getOrderReduction<int32_t>(isMin)
                                  : getOrderReduction<uint32_t>(isMin);
  if (instruction.has("add"))
    return [](uint64_t a, uint64_t b, const MinMaxModifiers &) {
      return addInteger<uint32_t>(a, b);
    };
  if (instruction.has("and"))
    return
        [](uint64_t a, uint64_t b, const MinMaxModifiers &) { return a & b; };
  if (instruction.has("or"))
    return
        [](uint64_t a, uint64_t b, const MinMaxModifiers &) { return a | b; };
  return [](uint64_t a, uint64_t b, const MinMaxModifiers &) { return a ^ b; };
}

static llvm::Error decodeRedux(Op &op) {
  const Instruction &instruction = *op.instruction;
  auto data = std::make_unique<ReduxData>();
  data->reduce = getReduction(instruction);
  data->isFloat = instruction.has("f32");
  data->modifiers.abs = instruction.has("abs");
  data->modifiers.propagateNaN = instruction.has("NaN");
  op.data = std::move(data);
  op.handler = executeRedux;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// elect.sync, activemask
//===----------------------------------------------------------------------===//

/// Which member leads is the machine's choice, but always the same one of a
/// mask: here the lowest, or one that the seed draws.
static unsigned getLeader(Cluster &cluster, LaneMask members) {
  if (!cluster.isAdversarial())
    return llvm::countr_zero(members);
  std::mt19937_64 random(cluster.getContext().options.seed ^ uint64_t(members)
                                                                 << 32);
  for (uint64_t skip = random() % llvm::popcount(members); skip; --skip)
    members &= members - 1;
  return llvm::countr_zero(members);
}

static Step executeElect(Warp &warp, const Op &op, LaneMask active) {
  unsigned leader = getLeader(warp.getCluster(), active);
  LaneValues holds;
  for (unsigned lane : lanesOf(active))
    holds[lane] = lane == leader;
  writeAll(warp, op.results[0], active, leader, /*isDefined=*/true);
  writeLanes(warp, op.results[1], active, holds, kAllLanes);
  return Step::Next;
}

static Step executeActiveMask(Warp &warp, const Op &op, LaneMask active) {
  writeAll(warp, op.results[0], active, active, /*isDefined=*/true);
  return Step::Next;
}

llvm::Error decodeWarp(Decoder &decoder, Op &op) {
  if (llvm::Error error = decodeOperands(decoder, op))
    return error;
  llvm::StringRef name = op.instruction->form->name;
  if (name == "activemask") {
    op.handler = executeActiveMask;
    return llvm::Error::success();
  }
  // The last operand of all others is the mask of the members.
  op.convergence = Convergence::Members;
  op.memberMask = op.sources.pop_back_val();
  if (name == "shfl.sync")
    return decodeShuffle(op);
  if (name == "redux.sync")
    return decodeRedux(op);
  op.handler = name == "vote.sync"        ? getVote(*op.instruction)
               : name == "match.any.sync" ? executeMatchAny
               : name == "match.all.sync" ? executeMatchAll
                                          : executeElect;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

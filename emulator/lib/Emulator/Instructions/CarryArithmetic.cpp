//===- CarryArithmetic.cpp - Extended-precision integer arithmetic --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// PTX ISA, "Extended-Precision Integer Arithmetic Instructions": add.cc, addc,
// sub.cc, subc, mad.cc, madc. The flag is a slot of the frame, which an op that
// reads it has as its last source and one that writes it as its second result.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/ScalarInstructions.h"

#include "Emulator/Arithmetic/IntegerOps.h"

namespace blockscale::emulator {

using CarryFunction = WithCarry (*)(const uint64_t *sources, bool carry);

namespace {
struct CarryData : OpData {
  CarryFunction function;
  unsigned arity;
  bool readsCarry;
};
} // namespace

static Step executeCarry(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<CarryData>();
  LaneValues scratch[4];
  const uint64_t *sources[4];
  LaneMask defined = kAllLanes;
  for (auto [i, source] : llvm::enumerate(op.sources)) {
    sources[i] = warp.read(source, scratch[i]);
    defined &= warp.getDefined(source);
  }
  LaneValues values, carries;
  for (unsigned lane : lanesOf(active)) {
    uint64_t own[3] = {};
    for (unsigned i = 0; i < data.arity; ++i)
      own[i] = sources[i][lane];
    WithCarry result =
        data.function(own, data.readsCarry && sources[data.arity][lane]);
    values[lane] = result.value;
    carries[lane] = result.carry;
  }
  const uint64_t *computed[] = {values, carries};
  for (auto [result, from] : llvm::zip(op.results, computed)) {
    uint64_t *to = warp.write(result);
    for (unsigned lane : lanesOf(active))
      to[lane] = from[lane];
    warp.define(result, active, defined);
  }
  return Step::Next;
}

template <typename T>
static CarryFunction getFunction(llvm::StringRef opcode, bool isHi) {
  if (opcode.starts_with("add"))
    return [](const uint64_t *s, bool carry) {
      return addCarry<T>(s[0], s[1], carry);
    };
  if (opcode.starts_with("sub"))
    return [](const uint64_t *s, bool borrow) {
      return subBorrow<T>(s[0], s[1], borrow);
    };
  if (isHi)
    return [](const uint64_t *s, bool carry) {
      return madHiCarry<T>(s[0], s[1], s[2], carry);
    };
  return [](const uint64_t *s, bool carry) {
    return madLoCarry<T>(s[0], s[1], s[2], carry);
  };
}

static CarryFunction findCarryFunction(const Instruction &instruction) {
  llvm::StringRef opcode = instruction.form->words.front();
  bool isHi = instruction.has("hi");
  switch (instruction.getTypes().back()) {
  case Type::U32:
    return getFunction<uint32_t>(opcode, isHi);
  case Type::S32:
    return getFunction<int32_t>(opcode, isHi);
  case Type::U64:
    return getFunction<uint64_t>(opcode, isHi);
  case Type::S64:
    return getFunction<int64_t>(opcode, isHi);
  default:
    return nullptr;
  }
}

llvm::Error decodeCarry(Decoder &decoder, Op &op) {
  const Instruction &instruction = *op.instruction;
  auto data = std::make_unique<CarryData>();
  data->function = findCarryFunction(instruction);
  if (!data->function)
    return makeNotModelled(op);
  data->arity = op.sources.size();
  data->readsCarry = instruction.form->words.front().ends_with("c");
  if (data->readsCarry)
    op.sources.push_back(decoder.getCarrySource());
  if (instruction.form->name.ends_with(".cc") || instruction.has("cc"))
    op.results.push_back(decoder.getCarryResult());
  op.data = std::move(data);
  op.handler = executeCarry;
  return llvm::Error::success();
}

} // namespace blockscale::emulator

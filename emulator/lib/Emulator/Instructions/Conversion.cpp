//===- Conversion.cpp - Conversion of values (cvt) ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/ScalarInstructions.h"

#include "Emulator/Arithmetic/Convert.h"
#include "Emulator/Arithmetic/FloatFormats.h"

namespace blockscale::emulator {

using Bits = uint64_t;

static ConvertModifiers getConvertModifiers(const Instruction &instruction) {
  ConvertModifiers modifiers;
  modifiers.ftz = instruction.has("ftz");
  modifiers.sat = instruction.has("sat");
  modifiers.satfinite = instruction.has("satfinite");
  modifiers.relu = instruction.has("relu");
  llvm::StringRef rounding = instruction.getModifier(
      {"rn", "rz", "rm", "rp", "rna", "rs", "rni", "rzi", "rmi", "rpi"});
  if (rounding.empty())
    return modifiers;
  modifiers.integral = rounding.size() == 3 && rounding.back() == 'i';
  modifiers.rounding = rounding == "rna"    ? Rounding::NearestAway
                       : rounding == "rs"   ? Rounding::Stochastic
                       : rounding[1] == 'z' ? Rounding::Zero
                       : rounding[1] == 'm' ? Rounding::Down
                       : rounding[1] == 'p' ? Rounding::Up
                                            : Rounding::NearestEven;
  return modifiers;
}

static bool isInteger(Type type) {
  TypeKind kind = getInfo(type).kind;
  return kind == TypeKind::Signed || kind == TypeKind::Unsigned;
}

/// Takes the low bits of the narrower type and extends them as the one says
/// whose they are; PTX then extends a result to a wider register by its type.
static llvm::Error decodeExtension(Op &op, Type to, Type from, Bits mask) {
  const TypeInfo &toInfo = getInfo(to), &fromInfo = getInfo(from);
  const TypeInfo &narrow = toInfo.bits <= fromInfo.bits ? toInfo : fromInfo;
  if (toInfo.kind == TypeKind::Unsigned)
    mask &= getLowBits(toInfo.bits);
  if (narrow.kind == TypeKind::Unsigned) {
    mask &= getLowBits(narrow.bits);
    return setLanes(op, [=](Bits a) { return a & mask; });
  }
  unsigned shift = 64 - narrow.bits;
  return setLanes(op, [=](Bits a) {
    auto top = static_cast<int64_t>(a << shift);
    return static_cast<Bits>(top >> shift) & mask;
  });
}

static llvm::Error decodeConvertPack(Op &op) {
  const Instruction &instruction = *op.instruction;
  // cvt.pack.sat.TYPE.s32{.b32}: types of less than eight bits are none else.
  llvm::StringRef type = instruction.getModifier(
      {"u16", "s16", "u8", "s8", "u4", "s4", "u2", "s2"});
  unsigned bits = 0;
  type.drop_front().getAsInteger(10, bits);
  bool isSigned = type.front() == 's';
  if (op.sources.size() == 2)
    return setLanes(op, [=](Bits a, Bits b) {
      return packSaturated(a, b, 0, bits, isSigned);
    });
  return setLanes(op, [=](Bits a, Bits b, Bits c) {
    return packSaturated(a, b, c, bits, isSigned);
  });
}

namespace {
struct ConvertData : OpData {
  ConvertFunction function;
  ConvertModifiers modifiers;
  Bits mask;
};
} // namespace

/// cvt.rs.TOx4.f32 d, {a, b, e, f}, rbits
static Step executeFour(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<ConvertData>();
  LaneValues scratch[5];
  const uint64_t *sources[5];
  LaneMask defined = kAllLanes;
  for (unsigned i = 0; i < 5; ++i) {
    sources[i] = warp.read(op.sources[i], scratch[i]);
    defined &= warp.getDefined(op.sources[i]);
  }
  uint64_t *d = warp.write(op.results[0]);
  for (unsigned lane : lanesOf(active)) {
    uint64_t values[5];
    for (unsigned i = 0; i < 5; ++i)
      values[i] = sources[i][lane];
    d[lane] = data.function(values, data.modifiers) & data.mask;
  }
  warp.define(op.results[0], active, defined);
  return Step::Next;
}

static llvm::Error decodeFunction(Op &op, ConvertFunction function,
                                  const ConvertModifiers &modifiers,
                                  Bits mask) {
  switch (op.sources.size()) {
  case 1:
    return setLanes(op, [=](Bits a) { return function(&a, modifiers) & mask; });
  case 2:
    return setLanes(op, [=](Bits a, Bits b) {
      Bits sources[] = {a, b};
      return function(sources, modifiers) & mask;
    });
  case 3:
    return setLanes(op, [=](Bits a, Bits b, Bits c) {
      Bits sources[] = {a, b, c};
      return function(sources, modifiers) & mask;
    });
  default:
    break;
  }
  auto data = std::make_unique<ConvertData>();
  data->function = function;
  data->modifiers = modifiers;
  data->mask = mask;
  op.data = std::move(data);
  op.handler = executeFour;
  return llvm::Error::success();
}

llvm::Error decodeConvert(Op &op) {
  const Instruction &instruction = *op.instruction;
  if (instruction.form->name == "cvt.pack")
    return decodeConvertPack(op);
  llvm::SmallVector<Type, 4> types = instruction.getTypes();
  Type to = types[0], from = types[1];
  ConvertModifiers modifiers = getConvertModifiers(instruction);
  Bits mask = getLowBits(op.results[0].isSink ? 64 : op.results[0].bits);
  if (isInteger(to) && isInteger(from) && !modifiers.sat)
    return decodeExtension(op, to, from, mask);
  if (to == Type::F32 && from == Type::BF16 && !modifiers.ftz)
    return setLanes(op, [=](Bits a) { return (a & 0xFFFF) << 16; });
  ConvertFunction function = findConvert(to, from, op.sources.size());
  if (!function)
    return makeNotModelled(op);
  return decodeFunction(op, function, modifiers, mask);
}

} // namespace blockscale::emulator

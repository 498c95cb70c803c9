//===- IntegerArithmetic.cpp - Integer, logic and bit instructions --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/ScalarInstructions.h"

#include "Emulator/Arithmetic/BitOps.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

using Bits = uint64_t;

//===----------------------------------------------------------------------===//
// Instructions of many types
//===----------------------------------------------------------------------===//

/// add to max: of scalars and of each half of packed ones.
template <typename T>
static llvm::Error decodeSimple(Op &op, llvm::StringRef opcode) {
  bool relu = op.instruction->has("relu");
  if (opcode == "add")
    return setLanes(op, [](Bits a, Bits b) { return addInteger<T>(a, b); });
  if (opcode == "sub")
    return setLanes(op, [](Bits a, Bits b) { return subInteger<T>(a, b); });
  if (opcode == "min")
    return relu ? setLanes(op, [](Bits a,
                                  Bits b) { return minInteger<T>(a, b, true); })
                : setLanes(op,
                           [](Bits a, Bits b) { return minInteger<T>(a, b); });
  if (opcode == "max")
    return relu ? setLanes(op, [](Bits a,
                                  Bits b) { return maxInteger<T>(a, b, true); })
                : setLanes(op,
                           [](Bits a, Bits b) { return maxInteger<T>(a, b); });
  return makeNotModelled(op);
}

template <typename T>
static llvm::Error decodePacked(Op &op, llvm::StringRef opcode) {
  bool relu = op.instruction->has("relu");
  if (opcode == "add")
    return setLanes(
        op, [](Bits a, Bits b) { return mapHalves(addInteger<T>, a, b); });
  if (opcode == "min")
    return setLanes(op, [=](Bits a, Bits b) {
      return mapHalves(
          [=](Bits x, Bits y) { return minInteger<T>(x, y, relu); }, a, b);
    });
  if (opcode == "max")
    return setLanes(op, [=](Bits a, Bits b) {
      return mapHalves(
          [=](Bits x, Bits y) { return maxInteger<T>(x, y, relu); }, a, b);
    });
  return makeNotModelled(op);
}

template <typename T>
static llvm::Error decodeIntegerProduct(Op &op, llvm::StringRef opcode) {
  const Instruction &instruction = *op.instruction;
  bool isMul = opcode == "mul";
  if (instruction.has("lo"))
    return isMul ? setLanes(op, [](Bits a, Bits b) { return mulLo<T>(a, b); })
                 : setLanes(op, [](Bits a, Bits b, Bits c) {
                     return madLo<T>(a, b, c);
                   });
  if (instruction.has("hi"))
    return isMul ? setLanes(op, [](Bits a, Bits b) { return mulHi<T>(a, b); })
                 : setLanes(op, [](Bits a, Bits b, Bits c) {
                     return madHi<T>(a, b, c);
                   });
  if constexpr (sizeof(T) <= 4)
    if (instruction.has("wide"))
      return isMul
                 ? setLanes(op, [](Bits a, Bits b) { return mulWide<T>(a, b); })
                 : setLanes(op, [](Bits a, Bits b, Bits c) {
                     return madWide<T>(a, b, c);
                   });
  return makeNotModelled(op);
}

template <typename T>
static llvm::Error decodeBits(Op &op, llvm::StringRef opcode) {
  if (opcode == "and")
    return setLanes(op, [](Bits a, Bits b) { return a & b; });
  if (opcode == "or")
    return setLanes(op, [](Bits a, Bits b) { return a | b; });
  if (opcode == "xor")
    return setLanes(op, [](Bits a, Bits b) { return a ^ b; });
  if (opcode == "not")
    return setLanes(op, [](Bits a) { return toBits(static_cast<T>(~a)); });
  if (opcode == "shl")
    return setLanes(op, [](Bits a, Bits b) { return shiftLeft<T>(a, b); });
  if (opcode == "shr")
    return setLanes(op, [](Bits a, Bits b) { return shiftRight<T>(a, b); });
  if (opcode == "cnot")
    return setLanes(op, [](Bits a) { return cnot<T>(a); });
  if (opcode == "popc")
    return setLanes(op, [](Bits a) { return popCount<T>(a); });
  if (opcode == "clz")
    return setLanes(op, [](Bits a) { return countLeadingZeros<T>(a); });
  if (opcode == "brev")
    return setLanes(op, [](Bits a) { return reverseBits<T>(a); });
  if (opcode == "bfind") {
    bool shiftAmount = op.instruction->has("shiftamt");
    return setLanes(op, [=](Bits a) { return findHighBit<T>(a, shiftAmount); });
  }
  if (opcode == "bfe")
    return setLanes(
        op, [](Bits a, Bits b, Bits c) { return extractField<T>(a, b, c); });
  if (opcode == "bfi")
    return setLanes(op, [](Bits a, Bits b, Bits position, Bits length) {
      return insertField<T>(a, b, position, length);
    });
  return makeNotModelled(op);
}

template <typename T>
static llvm::Error decodeTyped(Op &op, llvm::StringRef opcode) {
  if (llvm::is_contained({"add", "sub", "min", "max"}, opcode))
    return decodeSimple<T>(op, opcode);
  if (opcode == "mul" || opcode == "mad")
    return decodeIntegerProduct<T>(op, opcode);
  if (opcode == "sad")
    return setLanes(op, [](Bits a, Bits b, Bits c) { return sad<T>(a, b, c); });
  if (opcode == "div")
    return setLanes(op, [](Bits a, Bits b) { return divInteger<T>(a, b); });
  if (opcode == "rem")
    return setLanes(op, [](Bits a, Bits b) { return remInteger<T>(a, b); });
  if (opcode == "abs")
    return setLanes(op, [](Bits a) { return absInteger<T>(a); });
  if (opcode == "neg")
    return setLanes(op, [](Bits a) { return negInteger<T>(a); });
  return decodeBits<T>(op, opcode);
}

static llvm::Error decodePredicate(Op &op, llvm::StringRef opcode) {
  if (opcode == "not")
    return setLanes(op, [](Bits a) { return a ^ 1; });
  return decodeBits<uint8_t>(op, opcode);
}

//===----------------------------------------------------------------------===//
// Instructions of 32 bits
//===----------------------------------------------------------------------===//

static llvm::Error decodeSaturated(Op &op, llvm::StringRef opcode) {
  if (opcode == "add")
    return setLanes(op, addSatS32);
  if (opcode == "sub")
    return setLanes(op, subSatS32);
  if (opcode == "mad")
    return setLanes(op, madHiSatS32);
  // mad24.hi.sat
  return setLanes(op, [](Bits a, Bits b, Bits c) {
    return addSatS32(mul24<int32_t>(a, b, /*isHi=*/true), c);
  });
}

template <typename T>
static llvm::Error decode24(Op &op, llvm::StringRef opcode) {
  bool isHi = op.instruction->has("hi");
  if (opcode == "mul24")
    return setLanes(op, [=](Bits a, Bits b) { return mul24<T>(a, b, isHi); });
  return setLanes(op, [=](Bits a, Bits b, Bits c) {
    return addInteger<T>(mul24<T>(a, b, isHi), c);
  });
}

static llvm::Error decodeDotProduct(Op &op, llvm::StringRef opcode) {
  llvm::SmallVector<Type, 4> types = op.instruction->getTypes();
  bool aIsSigned = types[0] == Type::S32, bIsSigned = types[1] == Type::S32;
  bool isHi = op.instruction->has("hi");
  if (opcode == "dp4a")
    return setLanes(op, [=](Bits a, Bits b, Bits c) {
      return dp4a(a, b, c, aIsSigned, bIsSigned);
    });
  return setLanes(op, [=](Bits a, Bits b, Bits c) {
    return dp2a(a, b, c, aIsSigned, bIsSigned, isHi);
  });
}

namespace {
/// `prmt` by a constant: which of a and b have bytes in the result.
struct PermuteData : OpData {
  bool usesA = false, usesB = false;
};
} // namespace

/// The result is defined where a source is of which it takes a byte: the others
/// may be the undefined part of a vector.
static Step executePermute(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<PermuteData>();
  LaneValues scratch[3];
  const uint64_t *a = warp.read(op.sources[0], scratch[0]);
  const uint64_t *b = warp.read(op.sources[1], scratch[1]);
  const uint64_t *c = warp.read(op.sources[2], scratch[2]);
  uint64_t *d = warp.write(op.results[0]);
  for (unsigned lane : lanesOf(active))
    d[lane] = permuteBytes(a[lane], b[lane], c[lane]);
  warp.define(op.results[0], active,
              (data.usesA ? warp.getDefined(op.sources[0]) : 0) |
                  (data.usesB ? warp.getDefined(op.sources[1]) : 0));
  return Step::Next;
}

static llvm::Error decodePermute(Op &op) {
  const Instruction &instruction = *op.instruction;
  const Operand &selector = instruction.operands[3];
  std::optional<PermuteMode> mode =
      llvm::StringSwitch<std::optional<PermuteMode>>(
          instruction.getModifier({"f4e", "b4e", "rc8", "ecl", "ecr", "rc16"}))
          .Case("f4e", PermuteMode::Forward4)
          .Case("b4e", PermuteMode::Backward4)
          .Case("rc8", PermuteMode::Replicate8)
          .Case("ecl", PermuteMode::EdgeLeft)
          .Case("ecr", PermuteMode::EdgeRight)
          .Case("rc16", PermuteMode::Replicate16)
          .Default(std::nullopt);
  if (mode)
    return setLanes(op, [mode = *mode](Bits a, Bits b, Bits c) {
      return permuteBytes(a, b, c, mode);
    });
  if (selector.kind != OperandKind::Integer)
    return setLanes(
        op, [](Bits a, Bits b, Bits c) { return permuteBytes(a, b, c); });
  auto data = std::make_unique<PermuteData>();
  for (unsigned i = 0; i < 4; ++i)
    (selector.value >> 4 * i & 4 ? data->usesB : data->usesA) = true;
  op.data = std::move(data);
  op.handler = executePermute;
  return llvm::Error::success();
}

static llvm::Error decodeFunnelShift(Op &op) {
  bool wrap = op.instruction->has("wrap");
  if (op.instruction->has("l"))
    return setLanes(op, [=](Bits a, Bits b, Bits c) {
      return funnelShiftLeft(a, b, c, wrap);
    });
  return setLanes(op, [=](Bits a, Bits b, Bits c) {
    return funnelShiftRight(a, b, c, wrap);
  });
}

namespace {
struct Lop3Data : OpData {
  unsigned table = 0;
  bool isAnd = false;
};
} // namespace

/// lop3.BoolOp d|p, a, b, c, immLut, q: p = (d != 0) BoolOp q.
static Step executeLop3Predicate(Warp &warp, const Op &op, LaneMask active) {
  const auto &data = op.get<Lop3Data>();
  LaneValues scratch[3];
  const uint64_t *s[3];
  LaneMask defined = kAllLanes;
  for (unsigned i = 0; i < 3; ++i) {
    s[i] = warp.read(op.sources[i], scratch[i]);
    defined &= warp.getDefined(op.sources[i]);
  }
  // Behind the three values and the table.
  const Source &third = op.sources[4];
  LaneMask q = warp.getPredicate(third, active);
  LaneMask definedPredicate = defined & warp.getDefined(third);
  LaneValues values, holds;
  for (unsigned lane : lanesOf(active)) {
    values[lane] = lop3(s[0][lane], s[1][lane], s[2][lane], data.table);
    bool isSet = values[lane] != 0, other = q >> lane & 1;
    holds[lane] = data.isAnd ? isSet && other : isSet || other;
  }
  uint64_t *d = warp.write(op.results[0]);
  for (unsigned lane : lanesOf(active))
    d[lane] = values[lane];
  uint64_t *p = warp.write(op.results[1]);
  for (unsigned lane : lanesOf(active))
    p[lane] = holds[lane];
  warp.define(op.results[0], active, defined);
  warp.define(op.results[1], active, definedPredicate);
  return Step::Next;
}

static llvm::Error decodeLop3(Op &op) {
  auto table = static_cast<unsigned>(op.instruction->operands[4].value & 0xFF);
  if (op.results.size() == 1) {
    // The terms that compilers emit most are plain functions.
    switch (table) {
    case 0x80:
      return setLanes(op, [](Bits a, Bits b, Bits c) { return a & b & c; });
    case 0xFE:
      return setLanes(op, [](Bits a, Bits b, Bits c) { return a | b | c; });
    case 0x96:
      return setLanes(op, [](Bits a, Bits b, Bits c) { return a ^ b ^ c; });
    case 0xF8:
      return setLanes(op, [](Bits a, Bits b, Bits c) { return a | (b & c); });
    case 0xEA:
      return setLanes(op, [](Bits a, Bits b, Bits c) { return (a & b) | c; });
    default:
      return setLanes(
          op, [=](Bits a, Bits b, Bits c) { return lop3(a, b, c, table); });
    }
  }
  auto data = std::make_unique<Lop3Data>();
  data->table = table;
  data->isAnd = op.instruction->has("and");
  op.data = std::move(data);
  op.handler = executeLop3Predicate;
  return llvm::Error::success();
}

/// Decodes instructions whose form has only one type; nothing where the opcode
/// is not one of them.
static std::optional<llvm::Error> decodeWord(Op &op, llvm::StringRef opcode) {
  const Instruction &instruction = *op.instruction;
  bool wrap = instruction.has("wrap");
  bool isSigned = instruction.has("s32");
  if (instruction.has("sat"))
    return decodeSaturated(op, opcode);
  if (opcode == "mul24" || opcode == "mad24")
    return isSigned ? decode24<int32_t>(op, opcode)
                    : decode24<uint32_t>(op, opcode);
  if (opcode == "dp4a" || opcode == "dp2a")
    return decodeDotProduct(op, opcode);
  if (opcode == "szext")
    return setLanes(
        op, [=](Bits a, Bits b) { return extendField(a, b, wrap, isSigned); });
  if (opcode == "bmsk")
    return setLanes(op, [=](Bits a, Bits b) { return makeMask(a, b, wrap); });
  if (opcode == "shf")
    return decodeFunnelShift(op);
  if (opcode == "fns")
    return setLanes(op, findNthSet);
  if (opcode == "prmt")
    return decodePermute(op);
  if (opcode == "lop3")
    return decodeLop3(op);
  return std::nullopt;
}

llvm::Error decodeInteger(Op &op) {
  llvm::StringRef opcode = op.instruction->form->words.front();
  if (std::optional<llvm::Error> error = decodeWord(op, opcode))
    return std::move(*error);
  switch (op.instruction->getTypes().back()) {
  case Type::Pred:
    return decodePredicate(op, opcode);
  case Type::B16:
  case Type::U16:
    return decodeTyped<uint16_t>(op, opcode);
  case Type::B32:
  case Type::U32:
    return decodeTyped<uint32_t>(op, opcode);
  case Type::B64:
  case Type::U64:
    return decodeTyped<uint64_t>(op, opcode);
  case Type::S16:
    return decodeTyped<int16_t>(op, opcode);
  case Type::S32:
    return decodeTyped<int32_t>(op, opcode);
  case Type::S64:
    return decodeTyped<int64_t>(op, opcode);
  case Type::U16x2:
    return decodePacked<uint16_t>(op, opcode);
  case Type::S16x2:
    return decodePacked<int16_t>(op, opcode);
  default:
    return makeNotModelled(op);
  }
}

} // namespace blockscale::emulator

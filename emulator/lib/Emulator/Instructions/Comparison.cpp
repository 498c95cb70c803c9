//===- Comparison.cpp - Comparison and selection --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Instructions/ScalarInstructions.h"

#include "Emulator/Arithmetic/Compare.h"

#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

using Bits = uint64_t;

//===----------------------------------------------------------------------===//
// Comparisons of a value or of a pair
//===----------------------------------------------------------------------===//

/// Bit 0 and, of pairs, bit 1.
using Relation = unsigned (*)(Comparison comparison, bool ftz, Bits a, Bits b);

template <typename T>
static unsigned compareValues(Comparison comparison, bool, Bits a, Bits b) {
  return compareInteger<T>(comparison, a, b);
}
template <typename F>
static unsigned compareFloats(Comparison comparison, bool ftz, Bits a, Bits b) {
  return compareFloat<F>(comparison, a, b, ftz);
}
template <typename F>
static unsigned comparePairs(Comparison comparison, bool ftz, Bits a, Bits b) {
  return compareFloats<F>(comparison, ftz, a & 0xFFFF, b & 0xFFFF) |
         compareFloats<F>(comparison, ftz, a >> 16, b >> 16) << 1;
}

static bool isPairOfHalves(Type type) {
  return type == Type::F16x2 || type == Type::BF16x2;
}

static Relation findRelation(Type type) {
  switch (type) {
  case Type::B16:
  case Type::U16:
    return compareValues<uint16_t>;
  case Type::B32:
  case Type::U32:
    return compareValues<uint32_t>;
  case Type::B64:
  case Type::U64:
    return compareValues<uint64_t>;
  case Type::S16:
    return compareValues<int16_t>;
  case Type::S32:
    return compareValues<int32_t>;
  case Type::S64:
    return compareValues<int64_t>;
  case Type::F16:
    return compareFloats<F16>;
  case Type::BF16:
    return compareFloats<BF16>;
  case Type::F32:
    return compareFloats<F32>;
  case Type::F64:
    return compareFloats<F64>;
  case Type::F16x2:
    return comparePairs<F16>;
  case Type::BF16x2:
    return comparePairs<BF16>;
  default:
    return nullptr;
  }
}

static Comparison getComparison(const Instruction &instruction) {
  // The first modifier; `lo` to `hs` are of unsigned numbers.
  return llvm::StringSwitch<Comparison>(instruction.modifiers.front().text)
      .Case("eq", Comparison::EQ)
      .Case("ne", Comparison::NE)
      .Cases({"lt", "lo"}, Comparison::LT)
      .Cases({"le", "ls"}, Comparison::LE)
      .Cases({"gt", "hi"}, Comparison::GT)
      .Cases({"ge", "hs"}, Comparison::GE)
      .Case("equ", Comparison::EQU)
      .Case("neu", Comparison::NEU)
      .Case("ltu", Comparison::LTU)
      .Case("leu", Comparison::LEU)
      .Case("gtu", Comparison::GTU)
      .Case("geu", Comparison::GEU)
      .Case("num", Comparison::NUM)
      .Default(Comparison::NAN_);
}

static BoolOp getBoolOp(const Instruction &instruction) {
  return llvm::StringSwitch<BoolOp>(
             instruction.getModifier({"and", "or", "xor"}))
      .Case("and", BoolOp::And)
      .Case("or", BoolOp::Or)
      .Case("xor", BoolOp::Xor)
      .Default(BoolOp::None);
}

//===----------------------------------------------------------------------===//
// setp
//===----------------------------------------------------------------------===//

namespace {
/// Plain values, to be copied into functions.
struct CompareTraits {
  Relation relation;
  Comparison comparison;
  bool ftz;
  BoolOp boolOp;
  bool isPair;
};

struct CompareData : OpData {
  explicit CompareData(const CompareTraits &traits) : traits(traits) {}
  CompareTraits traits;
};
} // namespace

/// With two results or a third predicate. PTX ISA, "setp": p is the comparison,
/// q its negation; of pairs, p is that of the low halves, q of the high ones.
static Step executeSetp(Warp &warp, const Op &op, LaneMask active) {
  const CompareTraits &data = op.get<CompareData>().traits;
  bool hasThird = op.sources.size() == 3;
  LaneValues scratch[2];
  const uint64_t *a = warp.read(op.sources[0], scratch[0]);
  const uint64_t *b = warp.read(op.sources[1], scratch[1]);
  LaneMask thirds =
      hasThird ? warp.getPredicate(op.sources[2], active) : LaneMask(0);
  LaneMask defined =
      warp.getDefined(op.sources[0]) & warp.getDefined(op.sources[1]);
  if (hasThird)
    defined &= warp.getDefined(op.sources[2]);
  LaneValues values[2];
  for (unsigned lane : lanesOf(active)) {
    unsigned relation =
        data.relation(data.comparison, data.ftz, a[lane], b[lane]);
    bool first = relation & 1;
    bool second = data.isPair ? (relation & 2) != 0 : !first;
    bool third = thirds >> lane & 1;
    values[0][lane] = combine(data.boolOp, first, third);
    values[1][lane] = combine(data.boolOp, second, third);
  }
  for (auto [result, from] : llvm::zip(op.results, values)) {
    uint64_t *to = warp.write(result);
    for (unsigned lane : lanesOf(active))
      to[lane] = from[lane];
    warp.define(result, active, defined);
  }
  return Step::Next;
}

/// One comparison and one result: a handler for each comparison.
template <typename T>
static llvm::Error decodePlainSetp(Op &op, Comparison comparison) {
  switch (comparison) {
  case Comparison::EQ:
    return setLanes(op, [](Bits a, Bits b) -> Bits { return T(a) == T(b); });
  case Comparison::NE:
    return setLanes(op, [](Bits a, Bits b) -> Bits { return T(a) != T(b); });
  case Comparison::LT:
    return setLanes(op, [](Bits a, Bits b) -> Bits { return T(a) < T(b); });
  case Comparison::LE:
    return setLanes(op, [](Bits a, Bits b) -> Bits { return T(a) <= T(b); });
  case Comparison::GT:
    return setLanes(op, [](Bits a, Bits b) -> Bits { return T(a) > T(b); });
  default:
    return setLanes(op, [](Bits a, Bits b) -> Bits { return T(a) >= T(b); });
  }
}

/// `includes` as arithmetic on the host's comparisons of f32.
static llvm::Error decodeF32Setp(Op &op, Comparison comparison) {
  bool less = includes(comparison, Comparison::Less);
  bool equal = includes(comparison, Comparison::Equal);
  bool greater = includes(comparison, Comparison::Greater);
  bool unordered = includes(comparison, Comparison::Unordered);
  return setLanes(op, [=](Bits a, Bits b) -> Bits {
    float x = asFloat(a), y = asFloat(b);
    return (less & (x < y)) | (equal & (x == y)) | (greater & (x > y)) |
           (unordered & ((x != x) | (y != y)));
  });
}

static llvm::Error decodeSetp(Op &op, Type type, const CompareTraits &data) {
  if (op.results.size() == 1 && op.sources.size() == 2) {
    switch (type) {
    case Type::B16:
    case Type::U16:
      return decodePlainSetp<uint16_t>(op, data.comparison);
    case Type::B32:
    case Type::U32:
      return decodePlainSetp<uint32_t>(op, data.comparison);
    case Type::B64:
    case Type::U64:
      return decodePlainSetp<uint64_t>(op, data.comparison);
    case Type::S16:
      return decodePlainSetp<int16_t>(op, data.comparison);
    case Type::S32:
      return decodePlainSetp<int32_t>(op, data.comparison);
    case Type::S64:
      return decodePlainSetp<int64_t>(op, data.comparison);
    case Type::F32:
      if (!data.ftz)
        return decodeF32Setp(op, data.comparison);
      break;
    default:
      break;
    }
  }
  op.data = std::make_unique<CompareData>(data);
  op.handler = executeSetp;
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// set
//===----------------------------------------------------------------------===//

/// What `set` gives for true in each result type. PTX ISA, "set": 1.0, or all
/// ones; a pair that is compared into an integer sets halves of it.
static std::optional<uint64_t> getTrue(Type type, bool isPair) {
  switch (type) {
  case Type::F16:
  case Type::F16x2:
    return getSetFloat<F16>(true);
  case Type::BF16:
  case Type::BF16x2:
    return getSetFloat<BF16>(true);
  case Type::F32:
    return getSetFloat<F32>(true);
  case Type::U16:
  case Type::S16:
    return 0xFFFF;
  case Type::U32:
  case Type::S32:
    return isPair ? 0xFFFF : 0xFFFFFFFF;
  default:
    return std::nullopt;
  }
}

static llvm::Error decodeSet(Op &op, Type type, const CompareTraits &data) {
  std::optional<uint64_t> found = getTrue(type, data.isPair);
  if (!found)
    return makeNotModelled(op);
  auto apply = [data, isTrue = *found](Bits a, Bits b, bool third) -> Bits {
    unsigned relation = data.relation(data.comparison, data.ftz, a, b);
    Bits low = combine(data.boolOp, relation & 1, third) ? isTrue : 0;
    bool high = data.isPair && combine(data.boolOp, relation & 2, third);
    return high ? low | isTrue << 16 : low;
  };
  if (op.sources.size() == 2)
    return setLanes(op, [=](Bits a, Bits b) { return apply(a, b, false); });
  Bits negation = op.sources[2].isNegated;
  return setLanes(
      op, [=](Bits a, Bits b, Bits c) { return apply(a, b, c != negation); });
}

//===----------------------------------------------------------------------===//
// Selection
//===----------------------------------------------------------------------===//

/// Whether the first source is taken, by the value of the third.
using Selector = bool (*)(uint64_t c);

/// The source that is not taken need not be defined.
template <Selector selects>
static Step executeSelection(Warp &warp, const Op &op, LaneMask active) {
  LaneValues scratch[3];
  const uint64_t *a = warp.read(op.sources[0], scratch[0]);
  const uint64_t *b = warp.read(op.sources[1], scratch[1]);
  const uint64_t *c = warp.read(op.sources[2], scratch[2]);
  LaneMask taken = 0;
  LaneValues values;
  for (unsigned lane = 0; lane < kWarpSize; ++lane) {
    bool takesFirst = selects(c[lane]);
    values[lane] = takesFirst ? a[lane] : b[lane];
    taken |= LaneMask(takesFirst) << lane;
  }
  LaneMask defined = (taken & warp.getDefined(op.sources[0])) |
                     (~taken & warp.getDefined(op.sources[1]));
  defined &= warp.getDefined(op.sources[2]);
  uint64_t *d = warp.write(op.results[0]);
  if (active == kAllLanes)
    std::memcpy(d, values, sizeof(values));
  else
    for (unsigned lane : lanesOf(active))
      d[lane] = values[lane];
  warp.define(op.results[0], active, defined);
  return Step::Next;
}

static bool selectsByPredicate(uint64_t c) { return c != 0; }
static bool selectsByF32(uint64_t c) {
  return selectsFirstF32(c, /*ftz=*/false);
}
static bool selectsByF32Ftz(uint64_t c) {
  return selectsFirstF32(c, /*ftz=*/true);
}

static llvm::Error decodeTest(Op &op) {
  const Instruction &instruction = *op.instruction;
  auto test = llvm::StringSwitch<FloatTest>(instruction.modifiers.front().text)
                  .Case("finite", FloatTest::Finite)
                  .Case("infinite", FloatTest::Infinite)
                  .Case("number", FloatTest::Number)
                  .Case("notanumber", FloatTest::NotANumber)
                  .Case("normal", FloatTest::Normal)
                  .Default(FloatTest::Subnormal);
  if (instruction.has("f64"))
    return setLanes(op,
                    [=](Bits a) -> Bits { return testFloat<F64>(test, a); });
  return setLanes(op, [=](Bits a) -> Bits { return testFloat<F32>(test, a); });
}

llvm::Error decodeCompare(Op &op) {
  const Instruction &instruction = *op.instruction;
  llvm::StringRef opcode = instruction.form->words.front();
  llvm::SmallVector<Type, 4> types = instruction.getTypes();
  if (opcode == "testp")
    return decodeTest(op);
  if (opcode == "selp") {
    op.handler = executeSelection<selectsByPredicate>;
    return llvm::Error::success();
  }
  if (opcode == "slct") {
    op.handler = types.back() == Type::S32 ? executeSelection<selectsFirstS32>
                 : instruction.has("ftz")  ? executeSelection<selectsByF32Ftz>
                                           : executeSelection<selectsByF32>;
    return llvm::Error::success();
  }
  CompareTraits data;
  data.relation = findRelation(types.back());
  if (!data.relation)
    return makeNotModelled(op);
  data.comparison = getComparison(instruction);
  data.ftz = instruction.has("ftz");
  data.boolOp = getBoolOp(instruction);
  data.isPair = isPairOfHalves(types.back());
  return opcode == "setp" ? decodeSetp(op, types.back(), data)
                          : decodeSet(op, types.front(), data);
}

} // namespace blockscale::emulator

//===- PtxInteger.cpp - Integer instructions by name ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxVectors.h"

#include "blockscale/Emulator/BitOps.h"
#include "blockscale/Emulator/Compare.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSwitch.h"

using namespace blockscale::emulator;
using llvm::ArrayRef;
using llvm::StringRef;

using Sources = const uint64_t *;

/// Instructions whose result has the type T.
template <typename T>
static Evaluator findTyped(StringRef name) {
  return llvm::StringSwitch<Evaluator>(name)
      .Case("add", [](Sources s) { return addInteger<T>(s[0], s[1]); })
      .Case("sub", [](Sources s) { return subInteger<T>(s[0], s[1]); })
      .Case("mul.lo", [](Sources s) { return mulLo<T>(s[0], s[1]); })
      .Case("mul.hi", [](Sources s) { return mulHi<T>(s[0], s[1]); })
      .Case("mad.lo", [](Sources s) { return madLo<T>(s[0], s[1], s[2]); })
      .Case("mad.hi", [](Sources s) { return madHi<T>(s[0], s[1], s[2]); })
      .Case("sad", [](Sources s) { return sad<T>(s[0], s[1], s[2]); })
      .Case("div", [](Sources s) { return divInteger<T>(s[0], s[1]); })
      .Case("rem", [](Sources s) { return remInteger<T>(s[0], s[1]); })
      .Case("min", [](Sources s) { return minInteger<T>(s[0], s[1]); })
      .Case("max", [](Sources s) { return maxInteger<T>(s[0], s[1]); })
      .Case("min.relu",
            [](Sources s) { return minInteger<T>(s[0], s[1], true); })
      .Case("max.relu",
            [](Sources s) { return maxInteger<T>(s[0], s[1], true); })
      .Case("abs", [](Sources s) { return absInteger<T>(s[0]); })
      .Case("neg", [](Sources s) { return negInteger<T>(s[0]); })
      .Case("shl", [](Sources s) { return shiftLeft<T>(s[0], s[1]); })
      .Case("shr", [](Sources s) { return shiftRight<T>(s[0], s[1]); })
      .Case("cnot", [](Sources s) { return cnot<T>(s[0]); })
      .Case("popc", [](Sources s) { return popCount<T>(s[0]); })
      .Case("clz", [](Sources s) { return countLeadingZeros<T>(s[0]); })
      .Case("brev", [](Sources s) { return reverseBits<T>(s[0]); })
      .Case("bfind", [](Sources s) { return findHighBit<T>(s[0], false); })
      .Case("bfind.shiftamt",
            [](Sources s) { return findHighBit<T>(s[0], true); })
      .Case("bfe", [](Sources s) { return extractField<T>(s[0], s[1], s[2]); })
      .Case("bfi",
            [](Sources s) { return insertField<T>(s[0], s[1], s[2], s[2]); })
      .Default(nullptr);
}

template <typename T>
static Evaluator findWide(StringRef name) {
  if (name == "mul.wide")
    return [](Sources s) { return mulWide<T>(s[0], s[1]); };
  if (name == "mad.wide")
    return [](Sources s) { return madWide<T>(s[0], s[1], s[2]); };
  return nullptr;
}

template <typename T>
static Evaluator findCompare(StringRef name) {
  Comparison comparison = llvm::StringSwitch<Comparison>(name)
                              .Case("setp.eq", Comparison::EQ)
                              .Case("setp.ne", Comparison::NE)
                              .Case("setp.lt", Comparison::LT)
                              .Case("setp.le", Comparison::LE)
                              .Case("setp.gt", Comparison::GT)
                              .Default(Comparison::GE);
  return [=](Sources s) { return compareInteger<T>(comparison, s[0], s[1]); };
}

template <typename T>
static Evaluator find(StringRef name) {
  if (name.starts_with("setp"))
    return findCompare<T>(name);
  if constexpr (sizeof(T) <= 4)
    if (Evaluator wide = findWide<T>(name))
      return wide;
  return findTyped<T>(name);
}

template <typename T>
static Evaluator findPacked(StringRef name) {
  Evaluator half = findTyped<T>(name);
  return [half](Sources s) {
    return mapHalves(
        [&](uint64_t a, uint64_t b) {
          uint64_t sources[] = {a, b, 0};
          return half(sources);
        },
        s[0], s[1]);
  };
}

/// Instructions of 32 bits alone, by their whole text.
static Evaluator findWord(ArrayRef<StringRef> words, const std::string &text) {
  bool wrap = llvm::is_contained(words, "wrap");
  bool isHi = llvm::is_contained(words, "hi");
  bool isSigned = words.back() == "s32";
  if (text == "add.sat.s32")
    return [](Sources s) { return addSatS32(s[0], s[1]); };
  if (text == "sub.sat.s32")
    return [](Sources s) { return subSatS32(s[0], s[1]); };
  if (text == "mad.hi.sat.s32")
    return [](Sources s) { return madHiSatS32(s[0], s[1], s[2]); };
  if (words[0] == "mul24")
    return [=](Sources s) {
      return isSigned ? mul24<int32_t>(s[0], s[1], isHi)
                      : mul24<uint32_t>(s[0], s[1], isHi);
    };
  if (words[0] == "dp4a" || words[0] == "dp2a") {
    bool isDp4a = words[0] == "dp4a";
    bool aIsSigned = words[words.size() - 2] == "s32";
    return [=](Sources s) {
      return isDp4a ? dp4a(s[0], s[1], s[2], aIsSigned, isSigned)
                    : dp2a(s[0], s[1], s[2], aIsSigned, isSigned, isHi);
    };
  }
  if (words[0] == "szext")
    return [=](Sources s) { return extendField(s[0], s[1], wrap, isSigned); };
  if (words[0] == "bmsk")
    return [=](Sources s) { return makeMask(s[0], s[1], wrap); };
  if (words[0] == "shf") {
    auto *shift = words[1] == "l" ? funnelShiftLeft : funnelShiftRight;
    return [=](Sources s) { return shift(s[0], s[1], s[2], wrap); };
  }
  if (words[0] == "fns")
    return [](Sources s) { return findNthSet(s[0], s[1], s[2]); };
  if (text == "prmt.b32")
    return [](Sources s) { return permuteBytes(s[0], s[1], s[2]); };
  if (words[0] == "prmt") {
    auto mode = llvm::StringSwitch<PermuteMode>(words.back())
                    .Case("f4e", PermuteMode::Forward4)
                    .Case("b4e", PermuteMode::Backward4)
                    .Case("rc8", PermuteMode::Replicate8)
                    .Case("ecl", PermuteMode::EdgeLeft)
                    .Case("ecr", PermuteMode::EdgeRight)
                    .Default(PermuteMode::Replicate16);
    return [=](Sources s) { return permuteBytes(s[0], s[1], s[2], mode); };
  }
  return nullptr;
}

Evaluator
blockscale::emulator::findIntegerEvaluator(ArrayRef<StringRef> words) {
  if (Evaluator word = findWord(words, llvm::join(words, ".")))
    return word;
  std::string name = llvm::join(words.drop_back(), ".");
  StringRef type = words.back();
  if (type == "u16x2")
    return findPacked<uint16_t>(name);
  if (type == "s16x2")
    return findPacked<int16_t>(name);
  if (type == "u16" || type == "b16")
    return find<uint16_t>(name);
  if (type == "u32" || type == "b32")
    return find<uint32_t>(name);
  if (type == "u64" || type == "b64")
    return find<uint64_t>(name);
  if (type == "s16")
    return find<int16_t>(name);
  if (type == "s32")
    return find<int32_t>(name);
  if (type == "s64")
    return find<int64_t>(name);
  return nullptr;
}

//===- PtxVectors.cpp - Arrays of a GPU, and instructions by name ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxVectors.h"

#include "blockscale/Emulator/Convert.h"
#include "blockscale/Emulator/IntegerOps.h"

#include "llvm/ADT/STLExtras.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>

using namespace blockscale::emulator;
using llvm::ArrayRef;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Arrays
//===----------------------------------------------------------------------===//

static std::string getFolder(const std::string &archive) {
  return std::string(BLOCKSCALE_EMULATOR_ARRAYS) + "/" + archive;
}

NpyNumbers blockscale::emulator::readNumbers(const std::string &archive,
                                             const std::string &name) {
  std::string path = getFolder(archive) + "/" + name + ".npy";
  std::ifstream file(path, std::ios::binary);
  std::string content((std::istreambuf_iterator<char>(file)),
                      std::istreambuf_iterator<char>());
  // Version 1: six bytes of magic, two of version, the header's length, header.
  NpyNumbers result;
  size_t header = content.size() < 10
                      ? 0
                      : 10 + static_cast<uint8_t>(content[8]) +
                            256 * static_cast<uint8_t>(content[9]);
  StringRef text = StringRef(content).take_front(header);
  auto [before, shape] = text.split("'shape': (");
  size_t type = text.find("'descr': '");
  if (shape.empty() || type == StringRef::npos || header > content.size() ||
      !text.contains("'fortran_order': False")) {
    ADD_FAILURE() << "no array in C order at " << path;
    return result;
  }
  result.bytes = static_cast<unsigned>(text[type + 12] - '0');
  StringRef first, second;
  std::tie(first, second) = shape.split(')').first.split(',');
  size_t outer = 0, inner = 0;
  first.trim().getAsInteger(10, outer);
  bool isFlat = second.trim().empty() || second.trim().getAsInteger(10, inner);
  result.rows = isFlat ? 1 : outer;
  result.columns = isFlat ? outer : inner;
  if (content.size() - header != result.rows * result.columns * result.bytes) {
    ADD_FAILURE() << "wrong size of " << path;
    return NpyNumbers();
  }
  for (size_t at = header; at < content.size(); at += result.bytes) {
    uint64_t value = 0;
    for (unsigned i = result.bytes; i-- > 0;)
      value = value << 8 | static_cast<uint8_t>(content[at + i]);
    result.values.push_back(value);
  }
  return result;
}

std::vector<std::string>
blockscale::emulator::listNumbers(const std::string &archive) {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto &entry :
       std::filesystem::directory_iterator(getFolder(archive), error))
    names.push_back(entry.path().stem().string());
  llvm::sort(names);
  return names;
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

static unsigned getBytesOfResult(Type type) {
  return std::max(getBytes(type), 2u);
}

static Evaluator findPackEvaluator(ArrayRef<StringRef> words) {
  // cvt.pack.sat.TYPE.s32{.b32}
  unsigned bits = 0;
  words[3].drop_front().getAsInteger(10, bits);
  bool isSigned = words[3][0] == 's', hasThird = words.size() > 5;
  return [=](const uint64_t *s) {
    return packSaturated(s[0], s[1], hasThird ? s[2] : 0, bits, isSigned);
  };
}

Evaluator
blockscale::emulator::findConvertEvaluator(ArrayRef<StringRef> words) {
  if (words[1] == "pack")
    return findPackEvaluator(words);
  std::optional<Type> from = findType(words.back());
  std::optional<Type> to = findType(words.drop_back().back());
  if (!from || !to)
    return nullptr;
  ConvertModifiers modifiers;
  for (StringRef word : words.drop_front().drop_back(2)) {
    if (word == "ftz")
      modifiers.ftz = true;
    else if (word == "sat")
      modifiers.sat = true;
    else if (word == "satfinite")
      modifiers.satfinite = true;
    else if (word == "relu")
      modifiers.relu = true;
    else if (word == "rna")
      modifiers.rounding = Rounding::NearestAway;
    else {
      modifiers.rounding = word[1] == 'n'   ? Rounding::NearestEven
                           : word[1] == 'z' ? Rounding::Zero
                           : word[1] == 'm' ? Rounding::Down
                                            : Rounding::Up;
      modifiers.integral = word.size() == 3;
    }
  }
  bool isPair = getInfo(*to).kind == TypeKind::Packed && *from == Type::F32;
  ConvertFunction function = findConvert(*to, *from, isPair ? 2 : 1);
  if (!function)
    return nullptr;
  uint64_t mask = ~uint64_t{0} >> (64 - 8 * getBytesOfResult(*to));
  return [=](const uint64_t *s) { return function(s, modifiers) & mask; };
}

Evaluator blockscale::emulator::findEvaluator(StringRef instruction) {
  llvm::SmallVector<StringRef> words;
  instruction.split(words, '.');
  if (words[0] == "cvt")
    return findConvertEvaluator(words);
  StringRef last = words.back();
  if (last == "f16" || last == "bf16" || last == "f32" || last == "f64")
    return findFloatEvaluator(words);
  return findIntegerEvaluator(words);
}

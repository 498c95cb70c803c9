//===- PtxVectors.cpp - Arrays of a GPU, and instructions alone -----------===//
//------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxVectors.h"

#include "KernelTest.h"

#include "blockscale/Emulator/InstructionSet.h"

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

/// An instruction of a mnemonic with nothing but its types.
static Instruction parseMnemonic(StringRef mnemonic) {
  Instruction instruction;
  llvm::SmallVector<StringRef, 6> words;
  mnemonic.split(words, '.');
  instruction.opcode = words.front();
  for (StringRef word : llvm::drop_begin(words))
    instruction.modifiers.push_back({Location(), word});
  return instruction;
}

/// Registers are of 16 bits at least.
static unsigned getRegisterBits(Type type) {
  return std::max(getInfo(type).bits, 16u);
}

/// The body of a kernel that executes the instruction as a form has it, with
/// the sources in %x0 to %x2, the last of them for all that follow, and the
/// result, zero extended, in %d.
static std::string makeBody(const Instruction &instruction,
                            const InstructionForm &form) {
  std::string declarations, before, after, operands;
  unsigned number = 0, source = 0;
  llvm::SmallVector<Type, 4> types = instruction.getTypes();
  for (const OperandSpec &spec : form.operands) {
    Type type = getOperandType(spec, types).value_or(Type::B64);
    std::string name = "%o" + std::to_string(number++);
    std::string bits = std::to_string(getRegisterBits(type));
    bool isPredicate = type == Type::Pred;
    declarations +=
        ".reg ." + (isPredicate ? "pred " : "b" + bits + " ") + name + ";\n";
    operands += (operands.empty() ? " " : ", ") + name;
    if (spec.kind == 'd') {
      after += isPredicate    ? "selp.b64 %d, 1, 0, " + name + ";\n"
               : bits == "64" ? "mov.b64 %d, " + name + ";\n"
                              : "cvt.u64.u" + bits + " %d, " + name + ";\n";
      continue;
    }
    std::string from = "%x" + std::to_string(std::min(source++, 2u));
    before += bits == "64"
                  ? "mov.b64 " + name + ", " + from + ";\n"
                  : "cvt.u" + bits + ".u64 " + name + ", " + from + ";\n";
  }
  return declarations + before + instruction.getSpelling() + operands + ";\n" +
         after;
}

/// Loads the kernel of the first form that takes the instruction.
static bool loadInstruction(KernelRunner &runner, StringRef mnemonic) {
  Instruction instruction = parseMnemonic(mnemonic);
  for (const InstructionForm &form : getInstructionForms()) {
    if (form.words.front() != instruction.opcode)
      continue;
    std::string text = R"(
      .entry vectors(.param .b64 from, .param .b64 to, .param .b64 pitch) {
      .reg .b64 %x<3>, %d, %from, %to, %pitch;
      .reg .b32 %t, %n, %c;
      mov.u32 %t, %tid.x;
      mov.u32 %n, %ntid.x;
      mov.u32 %c, %ctaid.x;
      mad.lo.u32 %t, %c, %n, %t;
      ld.param.b64 %from, [from];
      ld.param.b64 %to, [to];
      ld.param.b64 %pitch, [pitch];
      mad.wide.u32 %from, %t, 8, %from;
      mad.wide.u32 %to, %t, 8, %to;
      ld.global.b64 %x0, [%from];
      add.u64 %from, %from, %pitch;
      ld.global.b64 %x1, [%from];
      add.u64 %from, %from, %pitch;
      ld.global.b64 %x2, [%from];
    )" + makeBody(instruction, form) +
                       "st.global.b64 [%to], %d;\nret;\n}";
    if (runner.load(text).empty())
      return true;
  }
  return false;
}

std::vector<uint64_t>
blockscale::emulator::runInstruction(StringRef mnemonic,
                                     const NpyNumbers &sources) {
  constexpr size_t kThreads = 256;
  KernelRunner runner;
  if (!loadInstruction(runner, mnemonic)) {
    ADD_FAILURE() << "no form takes " << mnemonic.str();
    return {};
  }
  size_t blocks = (sources.columns + kThreads - 1) / kThreads;
  size_t columns = blocks * kThreads;
  std::vector<uint64_t> padded(3 * columns);
  for (size_t i = 0; i < 3; ++i)
    for (size_t column = 0; column < sources.columns; ++column)
      padded[i * columns + column] =
          sources
              .values[std::min(i, sources.rows - 1) * sources.columns + column];
  uint64_t from = runner.add("from", padded);
  uint64_t to = runner.addEmpty("to", columns * 8);
  runner.shape.block = {kThreads, 1, 1};
  runner.shape.grid = {static_cast<uint32_t>(blocks), 1, 1};
  EXPECT_EQ(runner.run("vectors", from, to, uint64_t(columns * 8)), "");
  EXPECT_EQ(runner.getFindings(), "") << mnemonic.str();
  return runner.get<uint64_t>("to");
}

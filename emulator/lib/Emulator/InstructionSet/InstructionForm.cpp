//===- InstructionForm.cpp - Parser of the table's notation ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/InstructionForm.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <deque>
#include <map>

namespace blockscale::emulator {

static constexpr std::pair<llvm::StringLiteral, llvm::StringLiteral> kSets[] = {
    {"int", "u16|u32|u64|s16|s32|s64"},
    {"any", "u8|s8|u16|u32|u64|s16|s32|s64"},
    {"int32", "u32|u64|s32|s64"},
    {"memory", "b8|b16|b32|b64|b128|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64"},
    {"plain", "b16|b32|b64|u16|u32|u64|s16|s32|s64|f32|f64"},
    {"rnd", "rn|rz|rm|rp"},
    {"sem", "relaxed|acquire|release|acq_rel"},
    {"scope", "cta|cluster|gpu|sys"},
    {"vec", "v2|v4|v8"},
    {"order", "eq|ne|lt|le|gt|ge"},
    {"fcmp", "eq|ne|lt|le|gt|ge|equ|neu|ltu|leu|gtu|geu|num|nan"},
    {"bool", "and|or|xor"},
    {"shared", "shared|shared::cta|shared::cluster"},
    {"cta", "shared|shared::cta"},
    {"L1", "L1::evict_normal|L1::evict_unchanged|L1::evict_first|"
           "L1::evict_last|L1::no_allocate"},
    {"L2", "L2::evict_normal|L2::evict_first|L2::evict_last"},
    {"prefetch", "L2::64B|L2::128B|L2::256B"},
    {"dim", "1d|2d|3d|4d|5d"},
    {"group", "cta_group::1|cta_group::2"},
    {"collector", "collector::a::fill|collector::a::use|"
                  "collector::a::lastuse|collector::a::discard"},
};

namespace {

/// Names of wgmma's shapes are made, so they need a home.
struct Storage {
  std::deque<std::string> strings;
  std::vector<InstructionForm> forms;
};

class NotationReader {
public:
  NotationReader(Storage &storage, InstructionForm &form)
      : storage(storage), form(form) {}

  void readModifiers(llvm::StringRef text);
  void readOperand(llvm::StringRef text);

private:
  void readSet(llvm::StringRef name, ModifierGroup &group);
  static std::optional<Type> readType(llvm::StringRef text, OperandSpec &spec);

  Storage &storage;
  InstructionForm &form;
};

} // namespace

/// `$rnd`, or `$m64k16`: m64n8k16 to m64n256k16.
void NotationReader::readSet(llvm::StringRef name, ModifierGroup &group) {
  if (name.consume_front("m64k")) {
    for (unsigned n = 8; n <= 256; n += 8)
      group.choices.push_back(storage.strings.emplace_back(
          ("m64n" + llvm::Twine(n) + "k" + name).str()));
    return;
  }
  for (auto [set, choices] : kSets)
    if (set == name)
      llvm::SplitString(choices, group.choices, "|");
}

void NotationReader::readModifiers(llvm::StringRef text) {
  bool isOptional = false;
  unsigned links = 0, link = 0;
  while (!text.empty()) {
    if (text.consume_front("{")) {
      isOptional = true;
      link = text.take_until([](char c) { return c == '}'; }).count('.') > 1
                 ? ++links
                 : 0;
    } else if (text.consume_front("}")) {
      isOptional = false;
      link = 0;
    } else {
      llvm::StringRef item = text.drop_front().take_until(
          [](char c) { return c == '.' || c == '{' || c == '}'; });
      text = text.drop_front(1 + item.size());
      ModifierGroup &group = form.groups.emplace_back();
      group.isOptional = isOptional;
      group.link = link;
      for (llvm::StringRef choice : llvm::split(item, '|'))
        if (choice.consume_front("$"))
          readSet(choice, group);
        else
          group.choices.push_back(choice);
    }
  }
}

/// `u32`, `0`, `0+`; a `w` behind it. The index goes into the spec.
std::optional<Type> NotationReader::readType(llvm::StringRef text,
                                             OperandSpec &spec) {
  unsigned index = 0;
  if (text.consume_back("w"))
    spec.allowsWider = true;
  if (text.consume_back("+"))
    spec.isDoubled = true;
  if (!text.getAsInteger(10, index)) {
    spec.typeIndex = index;
    return std::nullopt;
  }
  return findType(text);
}

void NotationReader::readOperand(llvm::StringRef text) {
  OperandSpec &spec = form.operands.emplace_back();
  spec.kind = text.front();
  spec.isOptional = text.consume_back("?");
  auto [head, types] = text.drop_front().split(':');
  head.getAsInteger(10, spec.count);
  auto [type, pairType] = types.split('|');
  if (!pairType.empty()) {
    spec.pair = pairType.consume_front("|") ? OperandSpec::MustPair
                                            : OperandSpec::MayPair;
    spec.pairType = findType(pairType);
  }
  if (!type.empty())
    spec.type = readType(type, spec);
}

static const Storage &getStorage() {
  static const Storage storage = [] {
    Storage made;
    // The order of the table is kept among the forms of an opcode.
    std::map<llvm::StringRef, std::vector<InstructionForm>> byOpcode;
    for (llvm::ArrayRef<InstructionEntry> family :
         {getIntegerInstructions(), getFloatInstructions(),
          getConversionInstructions(), getMemoryInstructions(),
          getControlInstructions(), getAsyncInstructions(),
          getMatrixInstructions(), getTensorInstructions()})
      for (const InstructionEntry &entry : family) {
        InstructionForm form;
        form.name = entry.name;
        llvm::SplitString(entry.name, form.words, ".");
        NotationReader reader(made, form);
        reader.readModifiers(entry.modifiers);
        llvm::SmallVector<llvm::StringRef, 8> operands;
        llvm::SplitString(entry.operands, operands, " ");
        for (llvm::StringRef operand : operands)
          reader.readOperand(operand);
        byOpcode[form.words.front()].push_back(std::move(form));
      }
    for (auto &[opcode, forms] : byOpcode)
      llvm::append_range(made.forms, forms);
    return made;
  }();
  return storage;
}

llvm::ArrayRef<InstructionForm> getInstructionForms() {
  return getStorage().forms;
}

} // namespace blockscale::emulator

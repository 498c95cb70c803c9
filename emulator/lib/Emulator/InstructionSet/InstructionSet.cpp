//===- InstructionSet.cpp - Table of the instructions ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/InstructionSet.h"

#include "Emulator/InstructionSet/OperandVerifier.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

#include <set>

namespace blockscale::emulator {

/// How far the modifiers of an instruction fit a form.
struct ModifierMatch {
  /// Modifiers that fit, from the first; all of them where `isWhole`.
  unsigned matched = 0;
  bool isWhole = false;
  /// What would have fitted next.
  llvm::SmallVector<llvm::StringRef, 8> expected;
};

/// The forms of an opcode: they stand side by side.
static llvm::ArrayRef<InstructionForm> findForms(llvm::StringRef opcode) {
  llvm::ArrayRef<InstructionForm> forms = getInstructionForms();
  const auto *begin =
      llvm::partition_point(forms, [&](const InstructionForm &form) {
        return form.words.front() < opcode;
      });
  const auto *end = begin;
  while (end != forms.end() && end->words.front() == opcode)
    ++end;
  return {begin, end};
}

/// Types keep their order, which tells the destination's from the source's.
static bool isTypeName(llvm::StringRef name) {
  static constexpr llvm::StringLiteral kFragmentTypes[] = {
      "e4m3", "e5m2", "e2m3", "e3m2", "e2m1", "ue8m0", "ue4m3"};
  return findType(name) || llvm::is_contained(kFragmentTypes, name);
}

/// The words of the name in order, then each modifier to the first group that
/// has it and is free.
static ModifierMatch matchModifiers(const Instruction &instruction,
                                    const InstructionForm &form) {
  ModifierMatch match;
  size_t words = form.words.size() - 1;
  for (size_t i = 0; i < words; ++i) {
    llvm::StringRef word = form.words[i + 1];
    if (i == instruction.modifiers.size() ||
        instruction.modifiers[i].text != word) {
      match.expected.push_back(word);
      return match;
    }
    ++match.matched;
  }
  size_t firstType = 0;
  llvm::SmallVector<bool, 8> isTaken(form.groups.size(), false);
  auto isLinkTaken = [&](unsigned link) {
    for (auto [i, group] : llvm::enumerate(form.groups))
      if (isTaken[i] && link != 0 && group.link == link)
        return true;
    return false;
  };
  // A type behind which another type already stands.
  auto isPassed = [&](size_t i) {
    return i < firstType && isTypeName(form.groups[i].choices.front());
  };
  auto expectFree = [&](bool isNeeded) {
    for (auto [i, group] : llvm::enumerate(form.groups))
      if (!isTaken[i] && !isPassed(i) &&
          (!isNeeded || !group.isOptional || isLinkTaken(group.link)))
        match.expected.append(group.choices.begin(), group.choices.end());
  };
  for (const Modifier &modifier :
       llvm::drop_begin(instruction.modifiers, words)) {
    bool isFound = false, isType = isTypeName(modifier.text);
    for (size_t i = isType ? firstType : 0; i < form.groups.size(); ++i) {
      if (isTaken[i] ||
          !llvm::is_contained(form.groups[i].choices, modifier.text))
        continue;
      isTaken[i] = isFound = true;
      if (isType)
        firstType = i + 1;
      break;
    }
    if (!isFound) {
      expectFree(/*isNeeded=*/false);
      return match;
    }
    ++match.matched;
  }
  expectFree(/*isNeeded=*/true);
  match.isWhole = match.expected.empty();
  return match;
}

/// "add.rn" of "add.rn.foo", for `count` of 1.
static std::string spellFirst(const Instruction &instruction, unsigned count) {
  std::string spelling = instruction.opcode.str();
  for (const Modifier &modifier :
       llvm::ArrayRef(instruction.modifiers).take_front(count))
    (spelling += '.') += modifier.text;
  return spelling;
}

std::optional<Type> getOperandType(const OperandSpec &spec,
                                   llvm::ArrayRef<Type> types) {
  std::optional<Type> type = spec.type;
  if (spec.typeIndex && *spec.typeIndex < types.size())
    type = types[*spec.typeIndex];
  if (!type || !spec.isDoubled)
    return type;
  switch (*type) {
  case Type::U16:
    return Type::U32;
  case Type::S16:
    return Type::S32;
  case Type::U32:
    return Type::U64;
  default:
    return Type::S64;
  }
}

static llvm::Error failUnknownOpcode(const Instruction &instruction) {
  std::set<llvm::StringRef> known;
  for (const InstructionForm &form : getInstructionForms())
    known.insert(form.words.front());
  return makeError(instruction.location,
                   "unknown instruction '" + instruction.opcode +
                       "'; known are " + llvm::join(known, ", "));
}

llvm::Error verifyInstruction(Instruction &instruction) {
  llvm::ArrayRef<InstructionForm> forms = findForms(instruction.opcode);
  if (forms.empty())
    return failUnknownOpcode(instruction);

  // The best failure is the one behind the most modifiers, then operands.
  unsigned mostModifiers = 0;
  std::set<std::string> expected;
  OperandMismatch nearest;
  bool modifiersFit = false;
  for (const InstructionForm &form : forms) {
    ModifierMatch match = matchModifiers(instruction, form);
    if (match.isWhole) {
      OperandMismatch mismatch = matchOperands(instruction, form);
      if (mismatch.message.empty()) {
        instruction.form = &form;
        return llvm::Error::success();
      }
      if (!modifiersFit || mismatch.fitness > nearest.fitness)
        nearest = std::move(mismatch);
      modifiersFit = true;
      continue;
    }
    if (match.matched > mostModifiers)
      expected.clear();
    if (match.matched >= mostModifiers) {
      mostModifiers = match.matched;
      for (llvm::StringRef choice : match.expected)
        expected.insert("." + choice.str());
    }
  }
  if (modifiersFit)
    return makeError(nearest.location, nearest.message);

  std::string before = spellFirst(instruction, mostModifiers);
  if (mostModifiers == instruction.modifiers.size())
    return makeError(instruction.location, "missing modifier of '" + before +
                                               "'; known are " +
                                               llvm::join(expected, ", "));
  const Modifier &unknown = instruction.modifiers[mostModifiers];
  if (expected.empty())
    return makeError(unknown.location, "unknown modifier '." + unknown.text +
                                           "' of '" + before +
                                           "', which takes no more of them");
  return makeError(unknown.location, "unknown modifier '." + unknown.text +
                                         "' of '" + before + "'; known are " +
                                         llvm::join(expected, ", "));
}

llvm::Error verifyInstructions(Module &module) {
  constexpr unsigned kMaxErrors = 20;
  unsigned count = 0;
  llvm::Error errors = llvm::Error::success();
  auto report = [&](llvm::Error error) {
    if (count++ < kMaxErrors)
      errors = llvm::joinErrors(std::move(errors), std::move(error));
    else
      llvm::consumeError(std::move(error));
  };
  for (Function &function : module.functions)
    for (Instruction &instruction : function.instructions) {
      if (llvm::Error error = verifyInstruction(instruction)) {
        report(std::move(error));
        continue;
      }
      if (instruction.opcode != "call")
        continue;
      OperandMismatch mismatch = matchCall(module, function, instruction);
      if (!mismatch.message.empty())
        report(makeError(mismatch.location, mismatch.message));
    }
  return errors;
}

} // namespace blockscale::emulator

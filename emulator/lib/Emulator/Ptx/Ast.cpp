//===- Ast.cpp - PTX modules as parsed ------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Ast.h"

namespace blockscale::emulator {

llvm::StringRef
Instruction::getModifier(std::initializer_list<llvm::StringRef> choices) const {
  for (const Modifier &modifier : modifiers)
    for (llvm::StringRef choice : choices)
      if (modifier.text == choice)
        return modifier.text;
  return {};
}

llvm::SmallVector<Type, 4> Instruction::getTypes() const {
  llvm::SmallVector<Type, 4> types;
  for (const Modifier &modifier : modifiers)
    if (std::optional<Type> type = findType(modifier.text))
      types.push_back(*type);
  return types;
}

std::string Instruction::getSpelling() const {
  std::string spelling = opcode.str();
  for (const Modifier &modifier : modifiers)
    (spelling += '.') += modifier.text;
  return spelling;
}

const PerformanceDirective *
Function::getDirective(llvm::StringRef directive) const {
  for (const PerformanceDirective &candidate : directives)
    if (candidate.name == directive)
      return &candidate;
  return nullptr;
}

} // namespace blockscale::emulator

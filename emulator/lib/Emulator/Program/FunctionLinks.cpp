//===- FunctionLinks.cpp - Functions that names stand for -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Program/FunctionLinks.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// Follows the aliases of a module: who names an alias means the function.
static void substituteAliases(Module &module) {
  auto substitute = [&](Symbol &symbol) {
    // An alias of an alias: no more steps than there are aliases.
    for (size_t i = 0; i < module.aliases.size(); ++i)
      for (const auto &[alias, aliasee] : module.aliases)
        if (symbol.kind == SymbolKind::Function &&
            symbol.index == alias.symbol.index)
          symbol = aliasee.symbol;
  };
  auto visit = [&](auto &&self, Operand &operand) -> void {
    substitute(operand.symbol);
    for (Operand &element : operand.elements)
      self(self, element);
  };
  if (module.aliases.empty())
    return;
  for (Function &function : module.functions)
    for (Instruction &instruction : function.instructions)
      for (Operand &operand : instruction.operands)
        visit(visit, operand);
}

/// A declaration stands for the definition of its name.
static void substituteDeclarations(Module &module) {
  llvm::DenseMap<llvm::StringRef, uint32_t> definitions;
  for (auto [index, function] : llvm::enumerate(module.functions))
    if (function.hasBody)
      definitions[function.name] = index;
  auto visit = [&](auto &&self, Operand &operand) -> void {
    if (operand.symbol.kind == SymbolKind::Function)
      if (auto it =
              definitions.find(module.functions[operand.symbol.index].name);
          it != definitions.end())
        operand.symbol.index = it->second;
    for (Operand &element : operand.elements)
      self(self, element);
  };
  for (Function &function : module.functions) {
    for (Instruction &instruction : function.instructions)
      for (Operand &operand : instruction.operands)
        visit(visit, operand);
    for (TargetList &list : function.targetLists)
      for (Operand &target : list.targets)
        visit(visit, target);
  }
}

void linkFunctions(Module &module) {
  substituteAliases(module);
  substituteDeclarations(module);
}

} // namespace blockscale::emulator

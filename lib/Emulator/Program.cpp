//===- Program.cpp - Modules ready for execution --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Program.h"

#include "Decoder.h"
#include "ProgramLayout.h"

#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// Addresses of functions, away from every window of data.
static constexpr uint64_t kFunctionBase = 0x0500'0000'0000;
static constexpr uint64_t kFunctionStride = 16;

uint64_t Program::getAddress(uint32_t function) {
  return kFunctionBase + function * kFunctionStride;
}

const ProgramFunction *Program::findFunction(uint64_t address) const {
  uint64_t distance = address - kFunctionBase;
  if (distance % kFunctionStride != 0 ||
      distance / kFunctionStride >= functions.size())
    return nullptr;
  return &functions[distance / kFunctionStride];
}

const ProgramFunction &Program::getFunctionOf(uint32_t op) const {
  // Functions follow each other; a declaration is empty.
  auto next = llvm::upper_bound(
      functions, op,
      [](uint32_t op, const ProgramFunction &f) { return op < f.end; });
  return next == functions.end() ? functions.back() : *next;
}

const ProgramFunction *Program::findKernel(llvm::StringRef name) const {
  auto it = llvm::find_if(functions, [&](const ProgramFunction &f) {
    return f.function->isEntry && f.function->hasBody &&
           f.function->name == name;
  });
  return it == functions.end() ? nullptr : &*it;
}

llvm::SmallVector<llvm::StringRef> Program::getKernelNames() const {
  llvm::SmallVector<llvm::StringRef> names;
  for (const ProgramFunction &f : functions)
    if (f.function->isEntry && f.function->hasBody)
      names.push_back(f.function->name);
  return names;
}

uint32_t Program::addConstant(uint64_t value) {
  auto [it, isNew] = constantIndices.try_emplace(
      value, static_cast<uint32_t>(constants.size()));
  if (isNew) {
    constants.emplace_back();
    constants.back().fill(value);
  }
  return it->second;
}

//===----------------------------------------------------------------------===//
// From modules
//===----------------------------------------------------------------------===//

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

llvm::Expected<std::unique_ptr<Program>> Program::create(Module parsed,
                                                         Device &device) {
  std::unique_ptr<Program> program(new Program(std::move(parsed)));
  Module &module = program->module;
  substituteAliases(module);
  substituteDeclarations(module);

  VariableLayout moduleVariables;
  if (llvm::Error error = allocateVariables(module, moduleVariables, device))
    return std::move(error);
  program->functions.resize(module.functions.size());
  for (auto [function, laidOut] :
       llvm::zip(module.functions, program->functions))
    layOutFunction(function, laidOut);
  layOutShared(module, moduleVariables, program->functions);

  for (ProgramFunction &function : program->functions) {
    function.entry = program->ops.size();
    Decoder decoder(*program, function, moduleVariables);
    for (const Instruction &instruction : function.function->instructions) {
      llvm::Expected<Op> op = decoder.decode(instruction);
      if (!op)
        function.notModelled.push_back(llvm::toString(op.takeError()));
      program->ops.push_back(op ? std::move(*op) : Op());
    }
    // A jump past the last instruction returns.
    if (function.function->hasBody)
      program->ops.push_back(makeReturn());
    function.end = program->ops.size();
  }
  return std::move(program);
}

} // namespace blockscale::emulator

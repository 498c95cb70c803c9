//===- Decoder.cpp - From modules to programs -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Decoder.h"
#include "ProgramLayout.h"

#include "blockscale/Emulator/InstructionSet.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSwitch.h"

namespace blockscale::emulator {

/// The family of an opcode; all others compute.
static DecodeFunction getFamily(llvm::StringRef opcode) {
  return llvm::StringSwitch<DecodeFunction>(opcode)
      .Cases({"mov", "cvta", "isspacep", "mapa", "getctarank"}, decodeMove)
      .Cases({"ld", "st", "ldu", "prefetch", "prefetchu"}, decodeMemory)
      .Cases({"applypriority", "discard", "createpolicy"}, decodeMemory)
      .Cases({"atom", "red"}, decodeAtomic)
      .Cases({"bra", "brx", "call", "ret", "exit", "trap"}, decodeControl)
      .Cases({"brkpt", "pmevent", "nanosleep"}, decodeControl)
      .Cases({"setmaxnreg", "griddepcontrol"}, decodeControl)
      .Cases({"shfl", "vote", "match", "redux"}, decodeWarp)
      .Cases({"elect", "activemask"}, decodeWarp)
      .Cases({"bar", "barrier", "fence", "membar"}, decodeBarrier)
      .Case("mbarrier", decodeMBarrier)
      .Cases({"cp", "tensormap", "clusterlaunchcontrol"}, decodeAsync)
      .Case("tcgen05", decodeTensor)
      .Cases({"ldmatrix", "stmatrix", "movmatrix"}, decodeMatrix)
      .Cases({"mma", "wgmma"}, decodeMatrix)
      .Default(decodeScalar);
}

static llvm::Error decodeFamily(Decoder &decoder, Op &op) {
  llvm::StringRef name = op.instruction->form->name;
  // They complete on a barrier, or in the async proxy.
  if (name == "st.async" || name == "red.async" || name == "st.bulk")
    return decodeAsync(decoder, op);
  return getFamily(op.instruction->form->words.front())(decoder, op);
}

llvm::Expected<Op> Decoder::decode(const Instruction &instruction) {
  Op op;
  op.instruction = &instruction;
  if (instruction.guard) {
    llvm::Expected<Source> guard = getSource(*instruction.guard, Type::Pred);
    if (!guard)
      return guard.takeError();
    op.isGuarded = true;
    op.guard = *guard;
  }
  if (instruction.has("aligned"))
    op.convergence = Convergence::Warp;
  if (llvm::Error error = decodeFamily(*this, op))
    return std::move(error);
  return std::move(op);
}

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

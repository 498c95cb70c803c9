//===- CallVerifier.cpp - Check of calls against functions ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/InstructionSet/OperandVerifier.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// The parts of `call (results), callee, (arguments), prototype`.
struct CallParts {
  const Operand *results = nullptr;
  const Operand *callee = nullptr;
  const Operand *arguments = nullptr;
  const Operand *prototype = nullptr;
};

static bool splitCall(const Instruction &call, CallParts &parts) {
  llvm::ArrayRef<Operand> operands = call.operands;
  auto takeList = [&](const Operand *&list) {
    if (operands.empty() || operands.front().kind != OperandKind::List)
      return;
    list = &operands.front();
    operands = operands.drop_front();
  };
  takeList(parts.results);
  if (operands.empty())
    return false;
  parts.callee = &operands.front();
  operands = operands.drop_front();
  takeList(parts.arguments);
  if (!operands.empty()) {
    parts.prototype = &operands.front();
    operands = operands.drop_front();
  }
  return operands.empty();
}

OperandMismatch matchCall(const Module &module, const Function &caller,
                          const Instruction &call) {
  auto fail = [](Location location, const llvm::Twine &message) {
    return OperandMismatch{location, message.str(), 0};
  };
  CallParts parts;
  if (!splitCall(call, parts))
    return fail(call.location, "expected a call to have the form '(results), "
                               "function, (arguments), prototype'");

  const std::vector<Variable> *results = nullptr, *parameters = nullptr;
  const Operand &callee = *parts.callee;
  if (callee.kind == OperandKind::Symbol &&
      callee.symbol.kind == SymbolKind::Function) {
    const Function &named = module.functions[callee.symbol.index];
    if (named.isEntry)
      return fail(callee.location,
                  "expected '" + callee.name +
                      "' to be a device function, but it is a kernel");
    results = &named.results;
    parameters = &named.parameters;
  } else if (callee.kind == OperandKind::Register &&
             getInfo(callee.type).bits == 64) {
    if (!parts.prototype || parts.prototype->kind != OperandKind::Symbol)
      return fail(callee.location, "expected a prototype or a list of targets "
                                   "behind the call of '" +
                                       callee.name + "'");
    const Operand &prototype = *parts.prototype;
    const Symbol &symbol = prototype.symbol;
    if (symbol.kind == SymbolKind::Prototype) {
      results = &caller.prototypes[symbol.index].results;
      parameters = &caller.prototypes[symbol.index].parameters;
    } else if (symbol.kind == SymbolKind::TargetList &&
               caller.targetLists[symbol.index].isCall) {
      const Symbol &target =
          caller.targetLists[symbol.index].targets.front().symbol;
      if (target.kind != SymbolKind::Function)
        return {};
      results = &module.functions[target.index].results;
      parameters = &module.functions[target.index].parameters;
    } else {
      return fail(prototype.location, "expected '" + prototype.name +
                                          "' to be a prototype or a list of "
                                          "targets");
    }
  } else {
    return fail(callee.location, "expected '" + callee.name +
                                     "' to be a function or a register of 64 "
                                     "bits");
  }

  auto count = [](const Operand *list) {
    return list ? list->elements.size() : 0;
  };
  // `.b8 name[]` takes what further arguments there are.
  bool isVariadic = !parameters->empty() && parameters->back().bytes == 0 &&
                    !parameters->back().extents.empty();
  if (isVariadic ? count(parts.arguments) + 1 < parameters->size()
                 : count(parts.arguments) != parameters->size())
    return fail(call.location, "expected " + llvm::Twine(parameters->size()) +
                                   " arguments of '" + callee.name +
                                   "', but got " +
                                   llvm::Twine(count(parts.arguments)));
  if (count(parts.results) != results->size())
    return fail(call.location, "expected " + llvm::Twine(results->size()) +
                                   " results of '" + callee.name +
                                   "', but got " +
                                   llvm::Twine(count(parts.results)));
  return {};
}

} // namespace blockscale::emulator

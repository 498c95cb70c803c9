//===- Validation.cpp - Resolution of names -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Validation.h"

#include "Emulator/Ptx/SpecialRegisters.h"

#include "Emulator/Ptx/ScopeTable.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

namespace {

class Resolver {
public:
  explicit Resolver(Module &module) : module(module) {}

  llvm::Error run();

private:
  void report(Location location, const llvm::Twine &message);
  void reportTwice(Location location, llvm::StringRef name, Location earlier);

  void declareModuleNames();
  void resolveInitialValues(Variable &variable);
  void resolveFunction(Function &function);
  void declareFunctionNames(Function &function, ScopeTable &table);
  void checkExtent(const Variable &variable);

  void resolveOperand(Operand &operand, uint32_t scope, ScopeTable &table);
  void resolveRegister(Operand &operand, const RegisterDeclaration &declaration,
                       uint32_t member);
  bool resolveSpecial(Operand &operand);
  bool resolveModuleName(llvm::StringRef name, Symbol &symbol) const;

  Module &module;
  Function *function = nullptr;
  llvm::StringMap<Symbol> moduleNames;
  llvm::Error errors = llvm::Error::success();
  unsigned errorCount = 0;
};

} // namespace

void Resolver::report(Location location, const llvm::Twine &message) {
  constexpr unsigned kMaxErrors = 20;
  if (errorCount++ < kMaxErrors)
    errors = llvm::joinErrors(std::move(errors), makeError(location, message));
}

void Resolver::reportTwice(Location location, llvm::StringRef name,
                           Location earlier) {
  report(location, "expected '" + name +
                       "' to be declared once, but it is declared in line " +
                       llvm::Twine(earlier.line) + " too");
}

llvm::Error Resolver::run() {
  declareModuleNames();
  for (Variable &variable : module.variables)
    resolveInitialValues(variable);
  for (auto &[alias, aliasee] : module.aliases)
    for (Operand *operand : {&alias, &aliasee})
      if (!resolveModuleName(operand->name, operand->symbol) ||
          operand->symbol.kind != SymbolKind::Function)
        report(operand->location,
               "undeclared function '" + operand->name + "'");
  for (Function &candidate : module.functions)
    if (candidate.hasBody)
      resolveFunction(candidate);
  return std::move(errors);
}

void Resolver::declareModuleNames() {
  for (auto [i, variable] : llvm::enumerate(module.variables)) {
    checkExtent(variable);
    Symbol symbol{SymbolKind::ModuleVariable, static_cast<uint32_t>(i)};
    auto [earlier, isNew] = moduleNames.try_emplace(variable.name, symbol);
    if (isNew)
      continue;
    // `.extern` announces what another line defines.
    const Variable &first = module.variables[earlier->second.index];
    if (variable.linkage == Linkage::Extern)
      continue;
    if (first.linkage != Linkage::Extern)
      reportTwice(variable.location, variable.name, first.location);
    earlier->second = symbol;
  }
  for (auto [i, declared] : llvm::enumerate(module.functions)) {
    Symbol symbol{SymbolKind::Function, static_cast<uint32_t>(i)};
    auto [earlier, isNew] = moduleNames.try_emplace(declared.name, symbol);
    if (isNew)
      continue;
    if (earlier->second.kind != SymbolKind::Function) {
      reportTwice(declared.location, declared.name,
                  module.variables[earlier->second.index].location);
      continue;
    }
    const Function &first = module.functions[earlier->second.index];
    if (declared.hasBody && first.hasBody)
      reportTwice(declared.location, declared.name, first.location);
    if (declared.parameters.size() != first.parameters.size() ||
        declared.results.size() != first.results.size())
      report(declared.location,
             "expected '" + declared.name +
                 "' to have the parameters of its declaration in line " +
                 llvm::Twine(first.location.line));
    if (declared.hasBody)
      earlier->second = symbol;
  }
}

void Resolver::checkExtent(const Variable &variable) {
  if (variable.bytes == 0 && variable.linkage != Linkage::Extern)
    report(variable.location, "expected '" + variable.name +
                                  "' to have a size: only '.extern' arrays "
                                  "may be unsized");
}

bool Resolver::resolveModuleName(llvm::StringRef name, Symbol &symbol) const {
  auto found = moduleNames.find(name);
  if (found == moduleNames.end())
    return false;
  symbol = found->second;
  return true;
}

void Resolver::resolveInitialValues(Variable &variable) {
  for (InitialValue &value : variable.initialValues)
    if (value.kind == OperandKind::Symbol &&
        !resolveModuleName(value.name, value.symbol))
      report(value.location, "undeclared name '" + value.name + "'");
}

void Resolver::declareFunctionNames(Function &owner, ScopeTable &table) {
  auto declare = [&](llvm::StringRef name, uint32_t scope,
                     const ScopedName &declared) {
    if (const ScopedName *earlier = table.declare(name, scope, declared))
      reportTwice(declared.location, name, earlier->location);
  };
  auto declareAll = [&](const auto &list, SymbolKind kind) {
    for (auto [i, entry] : llvm::enumerate(list)) {
      ScopedName name;
      name.location = entry.location;
      name.symbol = {kind, static_cast<uint32_t>(i)};
      declare(entry.name, entry.scope, name);
    }
  };
  auto declareParameters = [&](const std::vector<Variable> &list,
                               SymbolKind kind) {
    for (auto [i, entry] : llvm::enumerate(list)) {
      // Parameters in registers are among the function's registers.
      if (entry.isRegister)
        continue;
      ScopedName name;
      name.location = entry.location;
      name.symbol = {kind, static_cast<uint32_t>(i)};
      declare(entry.name, 0, name);
    }
  };
  declareParameters(owner.results, SymbolKind::Result);
  declareParameters(owner.parameters, SymbolKind::Parameter);
  for (auto [i, entry] : llvm::enumerate(owner.registers)) {
    ScopedName name;
    name.location = entry.location;
    name.isRegister = true;
    name.registerDeclaration = i;
    if (!entry.range)
      declare(entry.name, entry.scope, name);
    else if (const ScopedName *earlier = table.declareRange(entry, name))
      reportTwice(entry.location, entry.name, earlier->location);
  }
  declareAll(owner.variables, SymbolKind::LocalVariable);
  declareAll(owner.labels, SymbolKind::Label);
  declareAll(owner.targetLists, SymbolKind::TargetList);
  declareAll(owner.prototypes, SymbolKind::Prototype);
}

void Resolver::resolveFunction(Function &owner) {
  function = &owner;
  ScopeTable table(owner);
  declareFunctionNames(owner, table);
  for (Variable &variable : owner.variables) {
    checkExtent(variable);
    resolveInitialValues(variable);
  }
  for (TargetList &list : owner.targetLists)
    for (Operand &target : list.targets) {
      resolveOperand(target, list.scope, table);
      SymbolKind expected =
          list.isCall ? SymbolKind::Function : SymbolKind::Label;
      if (target.symbol.kind != expected &&
          target.symbol.kind != SymbolKind::None)
        report(target.location, "expected '" + target.name + "' to be a " +
                                    (list.isCall ? "function" : "label"));
    }
  for (Instruction &instruction : owner.instructions) {
    if (instruction.guard) {
      Operand &guard = *instruction.guard;
      guard.kind = OperandKind::Symbol;
      resolveOperand(guard, instruction.scope, table);
      if (guard.kind == OperandKind::Register && guard.type != Type::Pred)
        report(guard.location, "expected the guard '" + guard.name +
                                   "' to be a predicate, but it has type '." +
                                   getInfo(guard.type).name + "'");
      else if (guard.kind != OperandKind::Register &&
               (guard.kind == OperandKind::Special ||
                guard.symbol.kind != SymbolKind::None))
        report(guard.location,
               "expected the guard '" + guard.name + "' to be a predicate");
    }
    for (Operand &operand : instruction.operands)
      resolveOperand(operand, instruction.scope, table);
  }
}

/// Operands nest at most as deep as coordinates in an address.
void Resolver::resolveOperand(Operand &operand, uint32_t scope,
                              ScopeTable &table) {
  for (Operand &element : operand.elements)
    resolveOperand(element, scope, table);
  if (operand.kind != OperandKind::Symbol)
    return;
  uint32_t member = 0;
  const ScopedName *found =
      table.find(operand.name, scope, operand.location, member);
  if (found && found->isRegister) {
    resolveRegister(operand, function->registers[found->registerDeclaration],
                    member);
    return;
  }
  if (found) {
    operand.symbol = found->symbol;
  } else if (operand.name.starts_with("%") && resolveSpecial(operand)) {
    return;
  } else if (!resolveModuleName(operand.name, operand.symbol)) {
    if (table.hasLabel(operand.name))
      report(operand.location, "expected the label '" + operand.name +
                                   "' to be in this scope or one around it");
    else if (operand.name.starts_with("%"))
      report(operand.location, "undeclared register '" + operand.name + "'");
    else
      report(operand.location, "undeclared name '" + operand.name + "'");
    return;
  }
  if (operand.component)
    report(operand.location, "expected '" + operand.name +
                                 "' to be a vector register, to have a "
                                 "component");
}

void Resolver::resolveRegister(Operand &operand,
                               const RegisterDeclaration &declaration,
                               uint32_t member) {
  uint32_t first = declaration.firstIndex + member * declaration.components;
  operand.kind = OperandKind::Register;
  operand.type = declaration.type;
  operand.registerIndex = first;
  if (operand.offset != 0)
    report(operand.location, "expected no offset behind the register '" +
                                 operand.name + "' outside of an address");
  if (declaration.components == 1) {
    if (operand.component)
      report(operand.location, "expected '" + operand.name +
                                   "' to be a vector register, to have a "
                                   "component");
    return;
  }
  if (operand.component) {
    uint32_t component = llvm::StringRef("xyzw").find(operand.component);
    if (component >= declaration.components)
      report(operand.location, "expected a component of '" + operand.name +
                                   "', which has " +
                                   llvm::Twine(declaration.components));
    else
      operand.registerIndex += component;
    return;
  }
  Operand element = operand;
  operand.kind = OperandKind::Vector;
  for (uint32_t i = 0; i < declaration.components; ++i) {
    element.component = "xyzw"[i];
    element.registerIndex = first + i;
    operand.elements.push_back(element);
  }
}

bool Resolver::resolveSpecial(Operand &operand) {
  for (auto [i, special] : llvm::enumerate(getSpecialRegisters())) {
    if (special.name != operand.name)
      continue;
    operand.kind = OperandKind::Special;
    operand.specialIndex = i;
    operand.type = special.type;
    if (special.isVector != (operand.component != 0))
      report(operand.location,
             special.isVector
                 ? "expected a component of '" + operand.name +
                       "', such as '.x'"
                 : "expected no component behind '" + operand.name + "'");
    return true;
  }
  return false;
}

llvm::Error resolveNames(Module &module) { return Resolver(module).run(); }

} // namespace blockscale::emulator

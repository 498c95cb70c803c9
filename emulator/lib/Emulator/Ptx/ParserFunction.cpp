//===- ParserFunction.cpp - Kernels, device functions and their bodies ----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/ParserImpl.h"

#include "llvm/ADT/STLExtras.h"

namespace blockscale::emulator {

/// Deeper scopes are refused, for what walks up from a scope to the body.
static constexpr uint32_t kMaxScopeDepth = 256;

/// `.reg` parameters are registers of the body.
static void declareParameterRegisters(Function &function,
                                      std::vector<Variable> &parameters) {
  for (Variable &parameter : parameters) {
    if (!parameter.isRegister)
      continue;
    parameter.registerIndex = function.registerCount;
    RegisterDeclaration declaration;
    declaration.location = parameter.location;
    declaration.name = parameter.name;
    declaration.type = parameter.type;
    declaration.components = parameter.components;
    declaration.firstIndex = function.registerCount;
    function.registerCount += declaration.getCount();
    function.registers.push_back(declaration);
  }
}

/// Everything from the name, or results, of a function on.
bool Parser::parseFunction(Linkage linkage, bool isEntry) {
  Function function;
  function.linkage = linkage;
  function.isEntry = isEntry;
  if (consumeIfDotted(".attribute")) {
    if (expect("(", "after '.attribute'"))
      return true;
    while (!token.is(")")) {
      if (token.kind == TokenKind::End || token.kind == TokenKind::Invalid)
        return failExpected("')' at the end of the attribute");
      consume();
    }
    consume();
  }
  if (!isEntry && token.is("(") && parseParameters(function.results))
    return true;
  function.location = token.location;
  if (parseName(function.name, "the name of a function"))
    return true;
  if (token.is("(") && parseParameters(function.parameters))
    return true;
  declareParameterRegisters(function, function.results);
  declareParameterRegisters(function, function.parameters);
  for (bool parsed = true; parsed;)
    if (parsePerformanceDirective(function, parsed))
      return true;
  if (token.is("{")) {
    function.hasBody = true;
    if (parseBody(function))
      return true;
  } else if (!consumeIf(";")) {
    return failExpected("'{' or ';' after the head of a function");
  }
  module.functions.push_back(std::move(function));
  return false;
}

/// `(.param .b32 a, .param .align 8 .b8 b[16])`
bool Parser::parseParameters(std::vector<Variable> &parameters) {
  if (expect("(", "before the parameters"))
    return true;
  if (consumeIf(")"))
    return false;
  do {
    if (parseParameter(parameters.emplace_back()))
      return true;
  } while (consumeIf(","));
  return expect(")", "after the parameters");
}

/// `.reqntid 128, 1, 1`, `.noreturn`, `.pragma "..."`.
bool Parser::parsePerformanceDirective(Function &function, bool &parsed) {
  struct Known {
    llvm::StringLiteral name;
    unsigned least, most;
  };
  static constexpr Known kKnown[] = {
      {".maxntid", 1, 3},         {".reqntid", 1, 3},
      {".minnctapersm", 1, 1},    {".maxnctapersm", 1, 1},
      {".maxnreg", 1, 1},         {".noreturn", 0, 0},
      {".explicitcluster", 0, 0}, {".reqnctapercluster", 1, 3},
      {".maxclusterrank", 1, 1},  {".blocksareclusters", 0, 0},
      {".abi_preserve", 1, 1},    {".abi_preserve_control", 1, 1},
  };
  parsed = true;
  if (consumeIfDotted(".pragma"))
    return skipPragma() || expect(";", "after the pragma");
  const Known *known = llvm::find_if(
      kKnown, [&](const Known &entry) { return token.isDotted(entry.name); });
  parsed = known != std::end(kKnown);
  if (!parsed)
    return false;
  PerformanceDirective directive;
  directive.location = token.location;
  directive.name = token.text.drop_front();
  consume();
  while (directive.values.size() < known->most) {
    uint64_t value = 0;
    if (directive.values.size() >= known->least && !consumeIf(","))
      break;
    if (parseNumber(value, 0, UINT32_MAX, "the value of the directive"))
      return true;
    directive.values.push_back(static_cast<uint32_t>(value));
  }
  function.directives.push_back(std::move(directive));
  return false;
}

/// The statements between braces. Scopes are kept on no stack but the chain of
/// parents, so that their depth costs nothing.
bool Parser::parseBody(Function &function) {
  scope = 0;
  uint32_t nesting = 0;
  function.scopes.push_back({token.location, 0});
  consume();
  for (;;) {
    if (token.is("{")) {
      if (++nesting > kMaxScopeDepth)
        return failExpected("at most " + llvm::Twine(kMaxScopeDepth) +
                            " nested scopes");
      function.scopes.push_back({token.location, scope});
      scope = function.scopes.size() - 1;
      consume();
    } else if (token.is("}")) {
      consume();
      if (nesting-- == 0)
        return false;
      scope = function.scopes[scope].parent;
    } else if (parseStatement(function)) {
      return true;
    }
  }
}

bool Parser::parseStatement(Function &function) {
  if (token.kind == TokenKind::Word) {
    Lexer ahead = lexer;
    return ahead.next().is(":") ? parseLabel(function)
                                : parseInstruction(function);
  }
  if (token.is("@"))
    return parseInstruction(function);
  bool skipped = false;
  if (skipDebugDirective(skipped))
    return true;
  if (skipped)
    return false;
  if (consumeIfDotted(".reg"))
    return parseRegisters(function);
  Linkage linkage = takeLinkage().value_or(Linkage::Internal);
  std::optional<StateSpace> space = takeSpace();
  if (!space)
    return failExpected("an instruction, a label, a declaration or '}'");
  return parseVariables(function.variables, *space, linkage, scope);
}

/// `name:`, alone or before a list of targets or a prototype.
bool Parser::parseLabel(Function &function) {
  Token name = token;
  consume();
  consume();
  if (consumeIfDotted(".branchtargets"))
    return parseTargetList(function, name, /*isCall=*/false);
  if (consumeIfDotted(".calltargets"))
    return parseTargetList(function, name, /*isCall=*/true);
  if (consumeIfDotted(".callprototype"))
    return parsePrototype(function, name);
  Label label;
  label.location = name.location;
  label.name = name.text;
  label.scope = scope;
  label.instruction = function.instructions.size();
  function.labels.push_back(label);
  return false;
}

/// `a, b;`
bool Parser::parseTargetList(Function &function, const Token &name,
                             bool isCall) {
  TargetList list;
  list.location = name.location;
  list.name = name.text;
  list.scope = scope;
  list.isCall = isCall;
  do {
    Operand &target = list.targets.emplace_back();
    target.kind = OperandKind::Symbol;
    target.location = token.location;
    if (parseName(target.name, "the name of a target"))
      return true;
  } while (consumeIf(","));
  function.targetLists.push_back(std::move(list));
  return expect(";", "after the targets");
}

/// `(.param .b32 _) _ (.param .b64 _) .noreturn;`
bool Parser::parsePrototype(Function &function, const Token &name) {
  Prototype prototype;
  prototype.location = name.location;
  prototype.name = name.text;
  prototype.scope = scope;
  llvm::StringRef placeholder;
  if (token.is("(") && parseParameters(prototype.results))
    return true;
  if (parseName(placeholder, "'_' of the prototype"))
    return true;
  if (token.is("(") && parseParameters(prototype.parameters))
    return true;
  Function unused;
  for (bool parsed = true; parsed;)
    if (parsePerformanceDirective(unused, parsed))
      return true;
  function.prototypes.push_back(std::move(prototype));
  return expect(";", "after the prototype");
}

} // namespace blockscale::emulator

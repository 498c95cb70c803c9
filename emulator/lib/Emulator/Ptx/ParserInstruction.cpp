//===- ParserInstruction.cpp - Instructions and their operands ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/ParserImpl.h"

namespace blockscale::emulator {

/// More than any instruction has; they bound what later passes walk.
static constexpr size_t kMaxModifiers = 32;
static constexpr size_t kMaxOperands = 256;

/// `@!%p opcode.modifier... operand, ...;`
bool Parser::parseInstruction(Function &function) {
  Instruction instruction;
  instruction.scope = scope;
  if (token.is("@") && parseGuard(instruction))
    return true;
  instruction.location = token.location;
  if (parseName(instruction.opcode, "an instruction"))
    return true;
  while (token.kind == TokenKind::Dotted) {
    if (instruction.modifiers.size() == kMaxModifiers)
      return failExpected("at most " + llvm::Twine(kMaxModifiers) +
                          " modifiers");
    instruction.modifiers.push_back({token.location, token.text.drop_front()});
    consume();
  }
  bool isCall = instruction.opcode == "call";
  if (!token.is(";")) {
    do {
      if (instruction.operands.size() == kMaxOperands)
        return failExpected("at most " + llvm::Twine(kMaxOperands) +
                            " operands");
      if (parseOperand(instruction.operands.emplace_back(), isCall))
        return true;
    } while (consumeIf(","));
  }
  if (expect(";", "after '" + instruction.opcode + "'"))
    return true;
  function.instructions.push_back(std::move(instruction));
  return false;
}

bool Parser::parseGuard(Instruction &instruction) {
  consume();
  Operand guard;
  guard.kind = OperandKind::Register;
  guard.isNegated = consumeIf("!");
  guard.location = token.location;
  if (parseName(guard.name, "a predicate after '@'"))
    return true;
  instruction.guard = std::move(guard);
  return false;
}

bool Parser::parseOperand(Operand &operand, bool inCall) {
  operand.location = token.location;
  if (token.is("["))
    return parseAddress(operand);
  if (token.is("{"))
    return parseVector(operand);
  if (token.is("(") && inCall)
    return parseList(operand);
  if (token.kind == TokenKind::Word && token.text != "WARP_SZ")
    return parseNamedOperand(operand);
  Lexer ahead = lexer;
  if (token.is("!") && ahead.next().kind == TokenKind::Word) {
    consume();
    operand.isNegated = true;
    return parseNamedOperand(operand);
  }
  bool isSign = token.is("+") || token.is("-") || token.is("!") ||
                token.is("~") || token.is("(");
  if (token.kind == TokenKind::Punctuation && !isSign)
    return failExpected("an operand or ';'");
  return parseImmediate(operand);
}

/// `%r1`, `%tid.x`, `%p|%q`, `_`, `symbol+4`. What kind of thing a name is
/// follows from the declarations: here it is a Symbol.
bool Parser::parseNamedOperand(Operand &operand) {
  operand.kind = OperandKind::Symbol;
  if (parseName(operand.name, "the name of an operand"))
    return true;
  if (operand.name == "_")
    operand.kind = OperandKind::Sink;
  if (token.kind == TokenKind::Dotted) {
    static constexpr llvm::StringLiteral kComponents = ".x.y.z.w.r.g.b.a";
    size_t at = token.text.size() == 2 ? kComponents.find(token.text)
                                       : llvm::StringRef::npos;
    if (at == llvm::StringRef::npos)
      return failExpected("a component such as '.x'");
    operand.component = "xyzw"[at / 2 % 4];
    consume();
  }
  if (token.is("|")) {
    Operand second, first = std::move(operand);
    consume();
    second.location = token.location;
    second.kind = OperandKind::Symbol;
    if (parseName(second.name, "the second register of the pair"))
      return true;
    if (second.name == "_")
      second.kind = OperandKind::Sink;
    operand = Operand();
    operand.kind = OperandKind::Pair;
    operand.location = first.location;
    operand.elements.push_back(std::move(first));
    operand.elements.push_back(std::move(second));
    return false;
  }
  if (token.is("+") || token.is("-"))
    return parseOffset(operand.offset);
  return false;
}

/// `+4`, `-4`, `+-4`: a sum, the sign of its first term included.
bool Parser::parseOffset(int64_t &offset) {
  Location location = token.location;
  Constant constant;
  if (parseConstant(constant))
    return true;
  if (constant.kind != OperandKind::Integer)
    return fail(location, "expected an integer offset, but got a float");
  offset = static_cast<int64_t>(constant.value);
  return false;
}

bool Parser::parseImmediate(Operand &operand) {
  Constant constant;
  if (parseConstant(constant))
    return true;
  operand.kind = constant.kind;
  operand.isUnsigned = constant.isUnsigned;
  operand.value = constant.value;
  return false;
}

/// `{a, b}` of names and constants.
bool Parser::parseVector(Operand &operand) {
  operand.kind = OperandKind::Vector;
  consume();
  do {
    Operand &element = operand.elements.emplace_back();
    element.location = token.location;
    if (operand.elements.size() > kMaxOperands)
      return failExpected("at most " + llvm::Twine(kMaxOperands) +
                          " elements of a vector");
    bool isName = token.kind == TokenKind::Word && token.text != "WARP_SZ";
    if (isName ? parseNamedOperand(element) : parseImmediate(element))
      return true;
  } while (consumeIf(","));
  return expect("}", "after the elements of a vector");
}

/// `[base]`, `[base+4]`, `[map, {x, y}]`.
bool Parser::parseAddress(Operand &operand) {
  operand.kind = OperandKind::Address;
  consume();
  Operand &base = operand.elements.emplace_back();
  base.location = token.location;
  if (token.kind == TokenKind::Word) {
    if (parseNamedOperand(base))
      return true;
    if (base.kind != OperandKind::Symbol)
      return fail(base.location, "expected a register, a variable or an "
                                 "integer as the base of an address");
    operand.offset = base.offset;
    base.offset = 0;
  } else {
    if (parseImmediate(base))
      return true;
    if (base.kind != OperandKind::Integer)
      return fail(base.location, "expected a register, a variable or an "
                                 "integer as the base of an address");
  }
  if (consumeIf(",")) {
    if (!token.is("{"))
      return failExpected("'{' before the coordinates");
    Operand &coordinates = operand.elements.emplace_back();
    coordinates.location = token.location;
    if (parseVector(coordinates))
      return true;
  }
  return expect("]", "after the address");
}

/// `(a, b)` of a call.
bool Parser::parseList(Operand &operand) {
  operand.kind = OperandKind::List;
  consume();
  if (consumeIf(")"))
    return false;
  do {
    Operand &element = operand.elements.emplace_back();
    element.location = token.location;
    bool isName = token.kind == TokenKind::Word && token.text != "WARP_SZ";
    if (isName ? parseNamedOperand(element) : parseImmediate(element))
      return true;
  } while (consumeIf(","));
  return expect(")", "after the arguments");
}

} // namespace blockscale::emulator

//===- ParserConstant.cpp - Constant expressions of PTX -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

// PTX ISA, section "Constants": C's operators on 64-bit integers, signed unless
// an operand is unsigned; comparisons and logic give a signed 0 or 1.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/ParserImpl.h"

namespace blockscale::emulator {

/// Deeper nesting is refused: what parses recurses.
static constexpr unsigned kMaxDepth = 100;

/// How tightly a binary operator binds, from 1; 0 for what is none.
static unsigned getPrecedence(const Token &token) {
  if (token.kind != TokenKind::Punctuation)
    return 0;
  static constexpr std::pair<llvm::StringLiteral, unsigned> kOperators[] = {
      {"||", 1}, {"&&", 2}, {"|", 3}, {"^", 4},  {"&", 5},  {"==", 6},
      {"!=", 6}, {"<", 7},  {">", 7}, {"<=", 7}, {">=", 7}, {"<<", 8},
      {">>", 8}, {"+", 9},  {"-", 9}, {"*", 10}, {"/", 10}, {"%", 10}};
  for (auto [text, precedence] : kOperators)
    if (token.text == text)
      return precedence;
  return 0;
}

/// binary, or binary ? constant : constant.
bool Parser::parseConstant(Constant &constant) {
  if (++depth > kMaxDepth)
    return fail(token.location, "expected constant expressions to be nested "
                                "at most " +
                                    llvm::Twine(kMaxDepth) + " deep");
  if (parseBinary(constant, 1))
    return true;
  if (consumeIf("?")) {
    Constant yes, no;
    if (parseConstant(yes) || expect(":", "in the constant expression") ||
        parseConstant(no))
      return true;
    constant = constant.value ? yes : no;
  }
  --depth;
  return false;
}

bool Parser::parseBinary(Constant &left, unsigned precedence) {
  if (parseUnary(left))
    return true;
  while (unsigned found = getPrecedence(token)) {
    if (found < precedence)
      break;
    Token op = token;
    consume();
    Constant right;
    if (++depth > kMaxDepth)
      return fail(op.location, "expected constant expressions to be nested "
                               "at most " +
                                   llvm::Twine(kMaxDepth) + " deep");
    if (parseBinary(right, found + 1) || applyBinary(left, right, op))
      return true;
    --depth;
  }
  return false;
}

bool Parser::applyBinary(Constant &left, const Constant &right,
                         const Token &op) {
  if (left.kind != OperandKind::Integer || right.kind != OperandKind::Integer)
    return fail(op.location, "expected integers on both sides of " +
                                 describe(op) + ", but got a float");
  bool isUnsigned = left.isUnsigned || right.isUnsigned;
  uint64_t a = left.value, b = right.value;
  auto sa = static_cast<int64_t>(a), sb = static_cast<int64_t>(b);
  llvm::StringRef text = op.text;
  auto less = [&](bool swapped) {
    if (isUnsigned)
      return swapped ? b < a : a < b;
    return swapped ? sb < sa : sa < sb;
  };

  bool isTruth = true;
  uint64_t value = 0;
  if (text == "||")
    value = a || b;
  else if (text == "&&")
    value = a && b;
  else if (text == "==")
    value = a == b;
  else if (text == "!=")
    value = a != b;
  else if (text == "<")
    value = less(false);
  else if (text == ">")
    value = less(true);
  else if (text == "<=")
    value = !less(true);
  else if (text == ">=")
    value = !less(false);
  else
    isTruth = false;
  if (isTruth) {
    left = {OperandKind::Integer, false, value};
    return false;
  }

  if (text == "|") {
    value = a | b;
  } else if (text == "^") {
    value = a ^ b;
  } else if (text == "&") {
    value = a & b;
  } else if (text == "+") {
    value = a + b;
  } else if (text == "-") {
    value = a - b;
  } else if (text == "*") {
    value = a * b;
  } else if (text == "<<" || text == ">>") {
    isUnsigned = left.isUnsigned;
    if (text == "<<")
      value = b < 64 ? a << b : 0;
    else if (isUnsigned)
      value = b < 64 ? a >> b : 0;
    else
      value = static_cast<uint64_t>(sa >> (b < 64 ? b : 63));
  } else {
    bool isDivision = text == "/";
    if (b == 0)
      return fail(op.location, "expected a divisor other than 0");
    // The one signed quotient that does not fit wraps around.
    if (isUnsigned)
      value = isDivision ? a / b : a % b;
    else if (sb == -1)
      value = isDivision ? 0 - a : 0;
    else
      value = static_cast<uint64_t>(isDivision ? sa / sb : sa % sb);
  }
  left = {OperandKind::Integer, isUnsigned, value};
  return false;
}

/// Signs, `!`, `~` and casts before a primary.
bool Parser::parseUnary(Constant &constant) {
  llvm::SmallVector<Token, 4> prefixes;
  for (;;) {
    if (token.is("+") || token.is("-") || token.is("!") || token.is("~")) {
      prefixes.push_back(token);
      consume();
      continue;
    }
    Lexer ahead = lexer;
    Token type = token.is("(") ? ahead.next() : Token();
    if (!type.isDotted(".s64") && !type.isDotted(".u64"))
      break;
    consume();
    prefixes.push_back(token);
    consume();
    if (expect(")", "after the type of a cast"))
      return true;
  }
  if (parsePrimary(constant))
    return true;
  while (!prefixes.empty()) {
    Token prefix = prefixes.pop_back_val();
    bool isFloat = constant.kind != OperandKind::Integer;
    if (prefix.is("-") && isFloat)
      constant.value ^= uint64_t(1)
                        << (constant.kind == OperandKind::Single ? 31 : 63);
    else if (prefix.is("+"))
      continue;
    else if (isFloat)
      return fail(prefix.location, "expected an integer after " +
                                       describe(prefix) + ", but got a float");
    else if (prefix.is("-"))
      constant.value = 0 - constant.value;
    else if (prefix.is("~"))
      constant.value = ~constant.value;
    else if (prefix.is("!"))
      constant = {OperandKind::Integer, false, constant.value == 0};
    else
      constant.isUnsigned = prefix.isDotted(".u64");
  }
  return false;
}

bool Parser::parsePrimary(Constant &constant) {
  if (consumeIf("("))
    return parseConstant(constant) ||
           expect(")", "at the end of the constant expression");
  constant = {OperandKind::Integer, token.isUnsigned, token.value};
  if (token.kind == TokenKind::Single)
    constant.kind = OperandKind::Single;
  else if (token.kind == TokenKind::Double)
    constant.kind = OperandKind::Double;
  else if (token.kind == TokenKind::Word && token.text == "WARP_SZ")
    constant.value = 32;
  else if (token.kind != TokenKind::Integer)
    return failExpected("a constant");
  consume();
  return false;
}

} // namespace blockscale::emulator

//===- Lexer.cpp - Tokens of PTX text -------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/Lexer.h"

#include "llvm/ADT/APFloat.h"
#include "llvm/ADT/StringExtras.h"

namespace blockscale::emulator {

static bool isWordStart(char c) {
  return llvm::isAlpha(c) || c == '_' || c == '$';
}

static bool isWordPart(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$';
}

static size_t countWhile(llvm::StringRef text, size_t from,
                         bool (*test)(char)) {
  while (from < text.size() && test(text[from]))
    ++from;
  return from;
}

static bool isDigit(char c) { return llvm::isDigit(c); }
static bool isHexDigit(char c) { return llvm::isHexDigit(c); }
static bool isAlnum(char c) { return llvm::isAlnum(c); }

std::string describe(const Token &token) {
  constexpr size_t kShown = 40;
  if (token.kind == TokenKind::End)
    return "the end of the text";
  std::string text;
  llvm::raw_string_ostream os(text);
  llvm::printEscapedString(token.text.take_front(kShown), os);
  if (token.text.size() > kShown)
    os << "...";
  return "'" + text + "'";
}

void Lexer::advance(size_t length) {
  for (char c : rest.take_front(length)) {
    if (c == '\n') {
      ++location.line;
      location.column = 1;
    } else {
      ++location.column;
    }
  }
  rest = rest.drop_front(length);
}

/// White space and comments. False where a comment has no end.
bool Lexer::skipBlank() {
  while (!rest.empty()) {
    if (llvm::isSpace(rest.front())) {
      advance(1);
    } else if (rest.starts_with("//")) {
      advance(std::min(rest.find('\n'), rest.size()));
    } else if (rest.starts_with("/*")) {
      size_t end = rest.find("*/", 2);
      if (end == llvm::StringRef::npos)
        return false;
      advance(end + 2);
    } else {
      break;
    }
  }
  return true;
}

Token Lexer::fail(Token token, const char *reason) {
  token.kind = TokenKind::Invalid;
  error = reason;
  rest = {};
  return token;
}

Token Lexer::take(Token token, TokenKind kind, size_t length) {
  token.kind = kind;
  token.text = rest.take_front(length);
  advance(length);
  return token;
}

/// `0f` or `0d` and exactly `digits` hexadecimal digits: the bits of a value.
Token Lexer::lexHexFloat(Token token, size_t digits) {
  size_t end = countWhile(rest, 2, isHexDigit);
  token.text = rest.take_front(end);
  if (end != digits + 2 || (end < rest.size() && isWordPart(rest[end])))
    return fail(token, digits == 8
                           ? "expected 8 hexadecimal digits after '0f'"
                           : "expected 16 hexadecimal digits after '0d'");
  rest.substr(2, digits).getAsInteger(16, token.value);
  return take(token, digits == 8 ? TokenKind::Single : TokenKind::Double, end);
}

Token Lexer::lexDecimalFloat(Token token) {
  size_t end = countWhile(rest, 0, isDigit);
  if (end < rest.size() && rest[end] == '.')
    end = countWhile(rest, end + 1, isDigit);
  if (end < rest.size() && (rest[end] == 'e' || rest[end] == 'E')) {
    ++end;
    if (end < rest.size() && (rest[end] == '+' || rest[end] == '-'))
      ++end;
    size_t exponent = end;
    end = countWhile(rest, end, isDigit);
    token.text = rest.take_front(end);
    if (end == exponent)
      return fail(token, "expected a decimal floating-point number");
  }
  token.text = rest.take_front(end);
  llvm::APFloat value(llvm::APFloat::IEEEdouble());
  auto status =
      value.convertFromString(token.text, llvm::APFloat::rmNearestTiesToEven);
  if (!status) {
    llvm::consumeError(status.takeError());
    return fail(token, "expected a decimal floating-point number");
  }
  token.value = value.bitcastToAPInt().getZExtValue();
  return take(token, TokenKind::Double, end);
}

Token Lexer::lexNumber(Token token) {
  char second = rest.size() > 1 ? rest[1] : 0;
  bool zero = rest.front() == '0';
  if (zero && (second == 'f' || second == 'F'))
    return lexHexFloat(token, 8);
  if (zero && (second == 'd' || second == 'D'))
    return lexHexFloat(token, 16);
  bool hex = zero && (second == 'x' || second == 'X');
  size_t digits = countWhile(rest, 0, isDigit);
  if (!hex && digits < rest.size() &&
      (rest[digits] == '.' || rest[digits] == 'e' || rest[digits] == 'E'))
    return lexDecimalFloat(token);

  size_t end = countWhile(rest, 0, isAlnum);
  token.text = rest.take_front(end);
  llvm::StringRef body = token.text;
  bool suffix = body.consume_back("U");
  unsigned radix = 10;
  if (hex) {
    radix = 16;
    body = body.drop_front(2);
  } else if (zero && (second == 'b' || second == 'B')) {
    radix = 2;
    body = body.drop_front(2);
  } else if (zero && body.size() > 1) {
    radix = 8;
    body = body.drop_front(1);
  }
  if (body.getAsInteger(radix, token.value))
    return fail(token, "expected an integer of at most 64 bits");
  token.isUnsigned = suffix || token.value > INT64_MAX;
  return take(token, TokenKind::Integer, end);
}

Token Lexer::next() {
  Token token;
  if (error) {
    token.location = location;
    token.kind = TokenKind::Invalid;
    return token;
  }
  bool closed = skipBlank();
  token.location = location;
  if (!closed) {
    token.text = rest.take_front(2);
    return fail(token, "expected '*/' at the end of the comment");
  }
  if (rest.empty())
    return token;

  char c = rest.front();
  char second = rest.size() > 1 ? rest[1] : 0;
  if (isWordStart(c) || (c == '%' && isWordPart(second)))
    return take(token, TokenKind::Word, countWhile(rest, 1, isWordPart));
  if (isDigit(c))
    return lexNumber(token);
  if (c == '.' && isWordPart(second)) {
    size_t end = countWhile(rest, 1, isWordPart);
    while (rest.substr(end).starts_with("::") && end + 2 < rest.size() &&
           isWordPart(rest[end + 2]))
      end = countWhile(rest, end + 2, isWordPart);
    return take(token, TokenKind::Dotted, end);
  }
  if (c == '"') {
    size_t end = rest.find_first_of("\"\n", 1);
    if (end == llvm::StringRef::npos || rest[end] == '\n') {
      token.text = rest.take_front(std::min(end, rest.size()));
      return fail(token, "expected '\"' at the end of the string");
    }
    return take(token, TokenKind::String, end + 1);
  }
  for (const char *pair : {"<<", ">>", "<=", ">=", "==", "!=", "&&", "||"})
    if (rest.starts_with(pair))
      return take(token, TokenKind::Punctuation, 2);
  if (llvm::StringRef("(){}[]<>,;:|@!+-*/%&^~?=").contains(c))
    return take(token, TokenKind::Punctuation, 1);
  token.text = rest.take_front(1);
  return fail(token, "expected a token of PTX");
}

} // namespace blockscale::emulator

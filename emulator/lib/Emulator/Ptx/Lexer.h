//===- Lexer.h - Tokens of PTX text -----------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_PTX_LEXER_H
#define BLOCKSCALE_LIB_EMULATOR_PTX_LEXER_H

#include "blockscale/Emulator/Diagnostic.h"

#include "llvm/ADT/StringRef.h"

namespace blockscale::emulator {

enum class TokenKind : uint8_t {
  End,
  /// Text that is no token; `Lexer::getError` says why.
  Invalid,
  /// A name: `mov`, `%r1`, `$L__BB0_1`, `_`.
  Word,
  /// A directive or modifier with its dot: `.reg`, `.shared::cta`, `.32x128b`.
  Dotted,
  /// 64 bits; `isUnsigned` for a suffix U or a value past the signed range.
  Integer,
  /// `0f3F800000`: the 32 bits of the value.
  Single,
  /// `0d...` and decimal floats: the 64 bits of the value.
  Double,
  /// A string with its quotes.
  String,
  /// One operator or bracket, of one or two characters.
  Punctuation,
};

struct Token {
  TokenKind kind = TokenKind::End;
  bool isUnsigned = false;
  Location location;
  llvm::StringRef text;
  uint64_t value = 0;

  bool is(llvm::StringRef punctuation) const {
    return kind == TokenKind::Punctuation && text == punctuation;
  }
  bool isDotted(llvm::StringRef name) const {
    return kind == TokenKind::Dotted && text == name;
  }
};

/// What a message calls a token: its text in quotes, shortened where long.
std::string describe(const Token &token);

/// Splits PTX text into tokens, comments and white space dropped. Copies are
/// cheap and independent, which is how a parser looks ahead.
class Lexer {
public:
  explicit Lexer(llvm::StringRef text) : rest(text) {}

  /// The next token; End or Invalid again and again once reached.
  Token next();

  /// Why the last token is Invalid.
  const char *getError() const { return error; }

private:
  void advance(size_t length);
  bool skipBlank();
  Token lexNumber(Token token);
  Token lexHexFloat(Token token, size_t digits);
  Token lexDecimalFloat(Token token);
  Token fail(Token token, const char *reason);
  Token take(Token token, TokenKind kind, size_t length);

  llvm::StringRef rest;
  Location location = {1, 1};
  const char *error = nullptr;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_PTX_LEXER_H

//===- LexerTest.cpp - Tokens of PTX text ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Ptx/Lexer.h"

#include <gtest/gtest.h>

#include <vector>

using namespace blockscale::emulator;

static std::vector<Token> lex(llvm::StringRef text) {
  Lexer lexer(text);
  std::vector<Token> tokens;
  for (;;) {
    tokens.push_back(lexer.next());
    if (tokens.back().kind == TokenKind::End ||
        tokens.back().kind == TokenKind::Invalid)
      return tokens;
  }
}

static std::vector<std::string> getTexts(llvm::StringRef text) {
  std::vector<std::string> texts;
  for (const Token &token : lex(text))
    texts.push_back(token.text.str());
  texts.pop_back();
  return texts;
}

// Modifiers keep their `::` and their leading digits; names their first sign.
TEST(Lexer, SplitsAnInstruction) {
  EXPECT_EQ(getTexts("@!%p1 cp.async.32x128b.shared::cta [$L_0+-4], _;"),
            (std::vector<std::string>{"@", "!", "%p1", "cp", ".async",
                                      ".32x128b", ".shared::cta", "[", "$L_0",
                                      "+", "-", "4", "]", ",", "_", ";"}));
}

// A range of registers is no comparison, and `%` alone is an operator.
TEST(Lexer, SplitsRangesAndOperators) {
  EXPECT_EQ(getTexts("%r<10> a|b 7 % 3 1<<2"),
            (std::vector<std::string>{"%r", "<", "10", ">", "a", "|", "b", "7",
                                      "%", "3", "1", "<<", "2"}));
}

TEST(Lexer, Integers) {
  struct Case {
    const char *text;
    uint64_t value;
    bool isUnsigned;
  };
  for (const Case &c :
       std::vector<Case>{{"10", 10, false},
                         {"0x3340U", 0x3340, true},
                         {"0X1f", 31, false},
                         {"017", 15, false},
                         {"0b101U", 5, true},
                         {"0", 0, false},
                         {"0U", 0, true},
                         {"9223372036854775807", INT64_MAX, false},
                         {"0xFFFFFFFFFFFFFFFF", UINT64_MAX, true}}) {
    Token token = lex(c.text).front();
    EXPECT_EQ(token.kind, TokenKind::Integer) << c.text;
    EXPECT_EQ(token.value, c.value) << c.text;
    EXPECT_EQ(token.isUnsigned, c.isUnsigned) << c.text;
  }
}

// Floats are their bits; decimal ones are double.
TEST(Lexer, Floats) {
  EXPECT_EQ(lex("0f3F800000").front().kind, TokenKind::Single);
  EXPECT_EQ(lex("0f3F800000").front().value, 0x3F800000u);
  EXPECT_EQ(lex("0d3FF0000000000000").front().kind, TokenKind::Double);
  for (const char *one : {"0d3FF0000000000000", "1.0", "1.", "10e-1", "0.1E1"})
    EXPECT_EQ(lex(one).front().value, 0x3FF0000000000000u) << one;
}

// Lines and columns count from 1, over comments of both kinds.
TEST(Lexer, Locations) {
  std::vector<Token> tokens = lex("// one\n  a /* two\n */ b\n\tc");
  EXPECT_TRUE((tokens[0].location == Location{2, 3}));
  EXPECT_TRUE((tokens[1].location == Location{3, 5}));
  EXPECT_TRUE((tokens[2].location == Location{4, 2}));
  EXPECT_EQ(tokens[3].kind, TokenKind::End);
}

// What is no token says why, and stays Invalid.
TEST(Lexer, Invalid) {
  struct Case {
    const char *text, *reason;
  };
  for (const Case &c : std::vector<Case>{
           {"0f3F8", "expected 8 hexadecimal digits after '0f'"},
           {"0f3F8000001", "expected 8 hexadecimal digits after '0f'"},
           {"0d12", "expected 16 hexadecimal digits after '0d'"},
           {"08", "expected an integer of at most 64 bits"},
           {"12abc", "expected an integer of at most 64 bits"},
           {"0x10000000000000000", "expected an integer of at most 64 bits"},
           {"1.0e", "expected a decimal floating-point number"},
           {"/* open", "expected '*/' at the end of the comment"},
           {"\"open", "expected '\"' at the end of the string"},
           {"\"open\n\"", "expected '\"' at the end of the string"},
           {"#", "expected a token of PTX"},
           {"\xff", "expected a token of PTX"}}) {
    Lexer lexer(c.text);
    EXPECT_EQ(lexer.next().kind, TokenKind::Invalid) << c.text;
    EXPECT_STREQ(lexer.getError(), c.reason) << c.text;
    EXPECT_EQ(lexer.next().kind, TokenKind::Invalid) << c.text;
  }
}

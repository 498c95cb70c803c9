//===- ParserErrorTest.cpp - What the PTX parser refuses ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Parser.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

static std::string getParseError(const std::string &text) {
  llvm::Expected<Module> module = parseModule(text);
  return module ? "" : llvm::toString(module.takeError());
}

/// The error in line 2, behind a header in line 1.
static std::string getModuleError(const std::string &text) {
  return getParseError(".version 8.8 .target sm_100a\n" + text);
}

/// The error in line 3, in the body of a kernel.
static std::string getBodyParseError(const std::string &text) {
  return getModuleError(".entry k() {\n" + text + "}");
}

TEST(ParserError, Header) {
  EXPECT_EQ(getParseError(""),
            "1:1: error: expected '.version' at the start of "
            "the module, but got the end of the text");
  EXPECT_EQ(getParseError(".version 8\n"),
            "1:10: error: expected a version such as '8.8', but got '8'");
  EXPECT_EQ(getParseError(".version 8.8 .target sm_90 .address_size 32"),
            "1:42: error: expected the address size to be 64, but got 32");
}

TEST(ParserError, Module) {
  EXPECT_EQ(getModuleError("bra L;"),
            "2:1: error: expected a function or variable of the module, but "
            "got 'bra'");
  EXPECT_EQ(getModuleError(".local .b32 x;"),
            "2:1: error: expected a variable of the module to be '.global', "
            "'.const' or '.shared', but got '.local'");
  EXPECT_EQ(getModuleError(".entry k(.u32 a) {}"),
            "2:10: error: expected '.param' or '.reg' before a parameter, but "
            "got '.u32'");
  EXPECT_EQ(getModuleError(".entry k() .maxtid 3 {}"),
            "2:12: error: expected '{' or ';' after the head of a function, "
            "but got '.maxtid'");
  EXPECT_EQ(getModuleError(".section .debug_str { "),
            "2:23: error: expected '}' at the end of the section, but got the "
            "end of the text");
}

TEST(ParserError, Declarations) {
  EXPECT_EQ(getModuleError(".global .b31 x;"),
            "2:9: error: expected the type of a declaration, but got '.b31'");
  EXPECT_EQ(getModuleError(".global .align 3 .b32 x;"),
            "2:9: error: expected the alignment to be a power of two, but got "
            "3");
  EXPECT_EQ(getModuleError(".global .b32 x[2] = {1, 2, 3};"),
            "2:28: error: expected at most 2 elements in the initialiser");
  EXPECT_EQ(getModuleError(".shared .b32 x = 1;"),
            "2:14: error: expected an initialised variable to be '.global' or "
            "'.const', but got '.shared'");
  EXPECT_EQ(getModuleError(".global .b8 x[0xFFFFFFFF][0xFFFFFFFF];"),
            "2:13: error: expected a variable of at most 1099511627776 bytes");
  EXPECT_EQ(getBodyParseError(".reg .b32 %r<9999999>;"),
            "3:14: error: expected a number of registers from 0 to 131072, "
            "but got '9999999'");
  EXPECT_EQ(getBodyParseError(".reg .b32 %r<131072>, %x;"),
            "3:23: error: expected at most 131072 registers in a function");
  EXPECT_EQ(getBodyParseError(".reg .e4m3x2 x;"),
            "3:6: error: expected the type of a declaration, but got "
            "'.e4m3x2'");
}

TEST(ParserError, Instructions) {
  EXPECT_EQ(getBodyParseError("ret"),
            "3:4: error: expected an operand or ';', but got '}'");
  EXPECT_EQ(getBodyParseError("mov.b32 %r1 %r2;"),
            "3:13: error: expected ';' after 'mov', but got '%r2'");
  EXPECT_EQ(getBodyParseError("ld.b32 %r1, [%r2;"),
            "3:17: error: expected ']' after the address, but got ';'");
  EXPECT_EQ(getBodyParseError("ld.b32 %r1, [1.0];"),
            "3:14: error: expected a register, a variable or an integer as "
            "the base of an address");
  EXPECT_EQ(getBodyParseError("ld.b32 %r1, [%r1+%r2];"),
            "3:18: error: expected a constant, but got '%r2'");
  EXPECT_EQ(getBodyParseError("mov.b32 {%r1, %rd1;"),
            "3:19: error: expected '}' after the elements of a vector, but "
            "got ';'");
  EXPECT_EQ(getBodyParseError("mov.b32 %r1, 1/0;"),
            "3:15: error: expected a divisor other than 0");
  EXPECT_EQ(getBodyParseError("mov.b32 %r1, %tid.q;"),
            "3:18: error: expected a component such as '.x', but got '.q'");
  EXPECT_EQ(getBodyParseError("mov.b32 %r1, 0f12;"),
            "3:14: error: expected 8 hexadecimal digits after '0f', but got "
            "'0f12'");
  EXPECT_EQ(getBodyParseError("@1 ret;"),
            "3:2: error: expected a predicate after '@', but got '1'");
  EXPECT_EQ(getBodyParseError("{ ret; "),
            "3:9: error: expected an instruction, a "
            "label, a declaration or '}', but got "
            "the end of the text");
}

// Depth is bounded, however long the text.
TEST(ParserError, Nesting) {
  std::string many(100000, '(');
  EXPECT_EQ(getBodyParseError("mov.b32 %r1, " + many + ";"),
            "3:114: error: expected constant expressions to be nested at most "
            "100 deep");
  EXPECT_EQ(getBodyParseError(std::string(300, '{')),
            "3:257: error: expected at most 256 nested scopes, but got '{'");
  EXPECT_EQ(getModuleError(".global .b8 x[1] = " + std::string(100000, '{')),
            "2:21: error: expected a constant, but got '{'");
  EXPECT_EQ(
      getBodyParseError("mov.b32 %r1, " + std::string(100000, '-') + "1;"), "");
}

// Each prefix of a module, and each with one byte replaced, gets an answer.
TEST(ParserError, SurvivesDamage) {
  const std::string text =
      ".version 8.8\n.target sm_100a\n.address_size 64\n"
      ".global .u64 p[2] = {0xFF(generic(f)+4), -1};\n"
      ".visible .entry k(.param .align 64 .b8 m[128]) .reqntid 128\n{\n"
      ".reg .b32 %r<9>; .loc 1 2 3, inlined_at 1 2 3\n"
      "{ @!%p1 mov.b64 {%r1, _}, [m, {%r1, 0f3F800000}]; L: }\n"
      "call (a), f, (b, 1+(2<<3)); x: .branchtargets L, L;\n}\n"
      ".section .debug_str { .b8 1 }\n";
  EXPECT_EQ(getParseError(text), "");
  for (size_t i = 0; i < text.size(); ++i) {
    (void)getParseError(text.substr(0, i));
    for (char c : {'\0', '{', '}', '(', ')', '.', '%', '"', '9', ';'}) {
      std::string damaged = text;
      damaged[i] = c;
      (void)getParseError(damaged);
    }
  }
}

//===- ValidationTest.cpp - Names of a module -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Validation.h"

#include "Emulator/Ptx/SpecialRegisters.h"
#include "blockscale/Emulator/Parser.h"

#include "llvm/ADT/STLExtras.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

/// The module with its names resolved, behind a header in line 1.
static Module resolve(const std::string &text, std::string &error) {
  llvm::Expected<Module> module =
      parseModule(".version 8.8 .target sm_100a\n" + text);
  if (!module) {
    error = llvm::toString(module.takeError());
    return {};
  }
  if (llvm::Error errors = resolveNames(*module))
    error = llvm::toString(std::move(errors));
  return std::move(*module);
}

static std::string getNameError(const std::string &text) {
  std::string error;
  resolve(text, error);
  return error;
}

/// The error in the body of a kernel, from line 3 on.
static std::string getBodyNameError(const std::string &text) {
  return getNameError(".entry k(.param .b64 p) {\n" + text + "\n}");
}

static Function resolveBody(Module &module, const std::string &text) {
  std::string error;
  module = resolve(
      ".global .b32 g;\n.entry k(.param .b64 p) {\n" + text + "\n}", error);
  EXPECT_EQ(error, "");
  return module.functions.empty() ? Function() : module.functions.front();
}

// Members of a range, single names, and components have numbers of their own.
TEST(Validation, NumbersRegisters) {
  Module module;
  Function kernel = resolveBody(module, R"(
    .reg .b32 %r<12>; .reg .pred q; .reg .v2 .f32 v; .reg .b64 %r1x<3>;
    @!q mov.b32 %r11, %r0;
    mov.f32 v.y, v.x;
    mov.b64 %r1x2, %r1x0;)");
  const auto &all = kernel.instructions;
  ASSERT_EQ(all.size(), 3u);
  EXPECT_EQ(all[0].guard->registerIndex, 12u);
  EXPECT_EQ(all[0].guard->type, Type::Pred);
  EXPECT_EQ(all[0].operands[0].registerIndex, 11u);
  EXPECT_EQ(all[0].operands[1].registerIndex, 0u);
  EXPECT_EQ(all[1].operands[0].registerIndex, 14u);
  EXPECT_EQ(all[1].operands[1].registerIndex, 13u);
  EXPECT_EQ(all[2].operands[0].registerIndex, 17u);
  EXPECT_EQ(all[2].operands[0].type, Type::B64);
  EXPECT_EQ(all[2].operands[1].registerIndex, 15u);
}

// The inner of two declarations, from its line on, to the end of its scope.
TEST(Validation, ScopesHideAndEnd) {
  Module module;
  Function kernel = resolveBody(module, R"(
    .reg .b32 x;
    { mov.b32 x, x;
      .reg .b32 x;
      mov.b32 x, x; }
    mov.b32 x, x;)");
  EXPECT_EQ(kernel.instructions[0].operands[0].registerIndex, 0u);
  EXPECT_EQ(kernel.instructions[1].operands[0].registerIndex, 1u);
  EXPECT_EQ(kernel.instructions[2].operands[0].registerIndex, 0u);
}

// Labels of one name in two scopes are two labels; inner code reaches outwards,
// forwards and backwards.
TEST(Validation, LabelsByScope) {
  Module module;
  Function kernel = resolveBody(module, R"(
    { WAIT: bra WAIT; bra DONE; }
    { WAIT: bra WAIT; }
    DONE: ret;)");
  const auto &all = kernel.instructions;
  EXPECT_EQ(kernel.labels[all[0].operands[0].symbol.index].instruction, 0u);
  EXPECT_EQ(kernel.labels[all[1].operands[0].symbol.index].instruction, 3u);
  EXPECT_EQ(kernel.labels[all[2].operands[0].symbol.index].instruction, 2u);
}

TEST(Validation, SymbolsAndSpecialRegisters) {
  Module module;
  Function kernel = resolveBody(module, R"(
    .shared .b8 s[16]; .reg .b32 %r<2>; .reg .v2 .f32 v;
    ld.param.b64 %r1, [p+4]; mov.b32 %r1, s; mov.b64 %r1, g; mov.b64 %r1, k;
    mov.u32 %r1, %ntid.z; mov.u64 %r1, %clock64; st.v2.f32 [s], v;)");
  const auto &all = kernel.instructions;
  EXPECT_EQ(all[0].operands[1].elements[0].symbol.kind, SymbolKind::Parameter);
  EXPECT_EQ(all[1].operands[1].symbol.kind, SymbolKind::LocalVariable);
  EXPECT_EQ(all[2].operands[1].symbol.kind, SymbolKind::ModuleVariable);
  EXPECT_EQ(all[3].operands[1].symbol.kind, SymbolKind::Function);
  EXPECT_EQ(all[4].operands[1].kind, OperandKind::Special);
  EXPECT_EQ(all[4].operands[1].specialIndex,
            static_cast<uint32_t>(SpecialRegister::NTid));
  EXPECT_EQ(all[5].operands[1].specialIndex,
            static_cast<uint32_t>(SpecialRegister::Clock64));
  EXPECT_EQ(all[5].operands[1].type, Type::U64);
  // A vector register alone stands for its components.
  EXPECT_EQ(all[6].operands[1].kind, OperandKind::Vector);
  EXPECT_EQ(all[6].operands[1].elements[1].registerIndex, 3u);
}

// Parameters in registers are registers.
TEST(Validation, RegisterParameters) {
  std::string error;
  Module module = resolve(
      ".func (.reg .b32 %o) f(.reg .b32 %a) { add.u32 %o, %a, %a; }", error);
  EXPECT_EQ(error, "");
  const Function &function = module.functions[0];
  EXPECT_EQ(function.parameters[0].registerIndex, 1u);
  EXPECT_EQ(function.instructions[0].operands[0].registerIndex, 0u);
  EXPECT_EQ(function.instructions[0].operands[1].registerIndex, 1u);
}

TEST(Validation, Undeclared) {
  EXPECT_EQ(getBodyNameError(".reg .b32 %r<3>; mov.b32 %r3, 1;"),
            "3:26: error: undeclared register '%r3'");
  EXPECT_EQ(getBodyNameError(".reg .b32 %r<3>; mov.b32 %r01, 1;"),
            "3:26: error: undeclared register '%r01'");
  EXPECT_EQ(getBodyNameError("mov.b32 x, 1; .reg .b32 x;"),
            "3:9: error: undeclared name 'x'");
  EXPECT_EQ(getBodyNameError("@q ret;"), "3:2: error: undeclared name 'q'");
  EXPECT_EQ(getBodyNameError("bra L;"), "3:5: error: undeclared name 'L'");
  EXPECT_EQ(getBodyNameError("{ L: ret; }\nbra L;"),
            "4:5: error: expected the label 'L' to be in this scope or one "
            "around it");
  EXPECT_EQ(getBodyNameError("{ .reg .b32 x; }\nmov.b32 x, 1;"),
            "4:9: error: undeclared name 'x'");
  EXPECT_EQ(getNameError(".global .b64 x = y;"),
            "2:18: error: undeclared name 'y'");
  EXPECT_EQ(getNameError(".alias a, b;"),
            "2:8: error: undeclared function 'a'\n"
            "2:11: error: undeclared function 'b'");
}

TEST(Validation, DeclaredTwice) {
  EXPECT_EQ(getBodyNameError(".reg .b32 %r<3>;\n.reg .b64 %r2;"),
            "4:11: error: expected '%r2' to be declared once, but it is "
            "declared in line 3 too");
  EXPECT_EQ(getBodyNameError(".reg .b64 %r2;\n.reg .b32 %r<3>;"),
            "4:11: error: expected '%r' to be declared once, but it is "
            "declared in line 3 too");
  EXPECT_EQ(getBodyNameError(".reg .b64 %r3;\n.reg .b32 %r<3>;"), "");
  EXPECT_EQ(getBodyNameError("L:\nL:"),
            "4:1: error: expected 'L' to be declared once, but it is declared "
            "in line 3 too");
  EXPECT_EQ(getBodyNameError(".shared .b32 p;"),
            "3:14: error: expected 'p' to be declared once, but it is "
            "declared in line 2 too");
  EXPECT_EQ(getNameError(".global .b32 x;\n.func x() {}"),
            "3:7: error: expected 'x' to be declared once, but it is declared "
            "in line 2 too");
  EXPECT_EQ(getNameError(".func f() {}\n.func f() {}"),
            "3:7: error: expected 'f' to be declared once, but it is declared "
            "in line 2 too");
  EXPECT_EQ(getNameError(".func f();\n.func f() {}\n.func f();"), "");
  EXPECT_EQ(getNameError(".func f();\n.func f(.param .b32 x) {}"),
            "3:7: error: expected 'f' to have the parameters of its "
            "declaration in line 2");
  EXPECT_EQ(getNameError(".extern .global .b32 x;\n.global .b32 x;"), "");
}

TEST(Validation, WrongKinds) {
  EXPECT_EQ(getBodyNameError(".reg .b32 r;\n@r ret;"),
            "4:2: error: expected the guard 'r' to be a predicate, but it has "
            "type '.b32'");
  EXPECT_EQ(getBodyNameError(".reg .b32 r;\nmov.b32 r.x, 1;"),
            "4:9: error: expected 'r' to be a vector register, to have a "
            "component");
  EXPECT_EQ(getBodyNameError(".reg .v2 .b32 r;\nmov.b32 r.z, 1;"),
            "4:9: error: expected a component of 'r', which has 2");
  EXPECT_EQ(getBodyNameError(".reg .b32 r;\nmov.u32 r, %tid;"),
            "4:12: error: expected a component of '%tid', such as '.x'");
  EXPECT_EQ(getBodyNameError(".reg .b32 r;\nmov.u32 r, %laneid.x;"),
            "4:12: error: expected no component behind '%laneid'");
  EXPECT_EQ(getBodyNameError(".reg .b32 r;\nmov.u32 r, r+4;"),
            "4:12: error: expected no offset behind the register 'r' outside "
            "of an address");
  EXPECT_EQ(getBodyNameError(".shared .b8 s[];"),
            "3:13: error: expected 's' to have a size: only '.extern' arrays "
            "may be unsized");
  EXPECT_EQ(getBodyNameError("t: .branchtargets p;"),
            "3:19: error: expected 'p' to be a label");
}

// Many errors are cut, so that a broken file stays readable.
TEST(Validation, KeepsTwenty) {
  std::string text;
  for (int i = 0; i < 100; ++i)
    text += "bra L;\n";
  std::string error = getBodyNameError(text);
  EXPECT_EQ(llvm::count(error, '\n'), 19);
}

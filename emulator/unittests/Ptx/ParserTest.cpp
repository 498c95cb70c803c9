//===- ParserTest.cpp - PTX text to modules -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Parser.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

static constexpr const char *kHeader =
    ".version 8.8\n.target sm_100a, debug\n.address_size 64\n";

static Module parse(const std::string &text) {
  llvm::Expected<Module> module = parseModule(kHeader + text);
  if (module)
    return std::move(*module);
  ADD_FAILURE() << llvm::toString(module.takeError());
  return {};
}

/// The body of one kernel.
static Function parseBody(Module &module, const std::string &body) {
  module = parse(".entry k()\n{\n" + body + "\n}");
  return module.functions.empty() ? Function() : module.functions.front();
}

TEST(Parser, Header) {
  Module module = parse("");
  EXPECT_EQ(module.versionMajor, 8u);
  EXPECT_EQ(module.versionMinor, 8u);
  EXPECT_EQ(module.target, "sm_100a");
  ASSERT_EQ(module.targetOptions.size(), 1u);
  EXPECT_EQ(module.targetOptions[0], "debug");
}

// Linkage, grid constants, pointers, and what bounds the launch.
TEST(Parser, Kernel) {
  Module module = parse(R"(
    .visible .entry k(.param .align 64 .b8 map[128],
                      .param .u64 .ptr .global .align 16 p, .param .f32 x)
    .reqntid 128, 2
    .minnctapersm 1 .explicitcluster .reqnctapercluster 2, 1, 1
    { ret; })");
  ASSERT_EQ(module.functions.size(), 1u);
  const Function &kernel = module.functions[0];
  EXPECT_TRUE(kernel.isEntry && kernel.hasBody);
  EXPECT_EQ(kernel.linkage, Linkage::Visible);
  ASSERT_EQ(kernel.parameters.size(), 3u);
  EXPECT_EQ(kernel.parameters[0].bytes, 128u);
  EXPECT_EQ(kernel.parameters[0].alignment, 64u);
  EXPECT_TRUE(kernel.parameters[1].isPointer);
  EXPECT_EQ(kernel.parameters[1].pointerSpace, StateSpace::Global);
  EXPECT_EQ(kernel.parameters[1].pointerAlignment, 16u);
  EXPECT_EQ(kernel.parameters[1].alignment, 8u);
  EXPECT_EQ(kernel.parameters[2].type, Type::F32);
  ASSERT_NE(kernel.getDirective("reqntid"), nullptr);
  EXPECT_EQ(kernel.getDirective("reqntid")->values,
            (llvm::SmallVector<uint32_t, 3>{128, 2}));
  EXPECT_NE(kernel.getDirective("explicitcluster"), nullptr);
  EXPECT_EQ(kernel.getDirective("maxntid"), nullptr);
}

// Declarations and definitions of device functions.
TEST(Parser, DeviceFunctions) {
  Module module = parse(R"(
    .extern .func (.param .b32 r) printf(.param .b64 a, .param .b64 b);
    .weak .func abort() .noreturn { trap; }
    .func (.reg .b32 %r) twice(.reg .b32 %a) { add.u32 %r, %a, %a; ret; }
    .alias other, twice;)");
  ASSERT_EQ(module.functions.size(), 3u);
  EXPECT_FALSE(module.functions[0].hasBody);
  EXPECT_EQ(module.functions[0].results.size(), 1u);
  EXPECT_EQ(module.functions[0].parameters.size(), 2u);
  EXPECT_EQ(module.functions[1].linkage, Linkage::Weak);
  EXPECT_NE(module.functions[1].getDirective("noreturn"), nullptr);
  EXPECT_TRUE(module.functions[2].parameters[0].isRegister);
  ASSERT_EQ(module.aliases.size(), 1u);
  EXPECT_EQ(module.aliases[0].second.name, "twice");
}

// Variables of the module: sizes, alignment, unsized ones.
TEST(Parser, Variables) {
  Module module = parse(R"(
    .visible .global .align 4 .b8 a[3][5];
    .extern .shared .align 128 .b8 dynamic[];
    .const .v4 .f32 v[2];
    .global .attribute(.managed) .u16 x, y;)");
  ASSERT_EQ(module.variables.size(), 5u);
  EXPECT_EQ(module.variables[0].bytes, 15u);
  EXPECT_EQ(module.variables[0].alignment, 4u);
  EXPECT_EQ(module.variables[1].bytes, 0u);
  EXPECT_EQ(module.variables[1].space, StateSpace::Shared);
  EXPECT_EQ(module.variables[2].bytes, 32u);
  EXPECT_EQ(module.variables[2].alignment, 16u);
  EXPECT_EQ(module.variables[4].name, "y");
}

// Numbers, addresses with addends, generic addresses and masks.
TEST(Parser, Initialisers) {
  Module module = parse(R"(
    .global .f32 f = 0f3F800000;
    .global .u64 p[3] = {f, generic(f)+8, -1};
    .global .b8 bytes[2] = {0xFF(f), 0xFF00(generic(f))};
    .global .s32 grid[2][3] = {{1, 2}, {4}};
    .const .b8 open[] = {1, 2, 3};)");
  ASSERT_EQ(module.variables.size(), 5u);
  EXPECT_EQ(module.variables[0].initialValues[0].kind, OperandKind::Single);
  const auto &pointers = module.variables[1].initialValues;
  ASSERT_EQ(pointers.size(), 3u);
  EXPECT_FALSE(pointers[0].isGeneric);
  EXPECT_TRUE(pointers[1].isGeneric);
  EXPECT_EQ(pointers[1].value, 8u);
  EXPECT_EQ(pointers[2].value, ~uint64_t(0));
  const auto &bytes = module.variables[2].initialValues;
  EXPECT_EQ(bytes[1].mask, 0xFF00u);
  EXPECT_TRUE(bytes[1].isGeneric);
  const auto &grid = module.variables[3].initialValues;
  ASSERT_EQ(grid.size(), 3u);
  EXPECT_EQ(grid[2].position, 3u);
  EXPECT_EQ(module.variables[4].bytes, 3u);
}

TEST(Parser, Registers) {
  Module module;
  Function kernel = parseBody(module, R"(
    .reg .pred p, %q<3>; .reg.b32 %r<80>; .reg .v4 .f32 v;
    { .reg .b64 inner; })");
  ASSERT_EQ(kernel.registers.size(), 5u);
  EXPECT_EQ(kernel.registers[1].range, 3u);
  EXPECT_EQ(kernel.registers[1].firstIndex, 1u);
  EXPECT_EQ(kernel.registers[3].components, 4u);
  EXPECT_EQ(kernel.registers[4].firstIndex, 88u);
  EXPECT_EQ(kernel.registers[4].scope, 1u);
  EXPECT_EQ(kernel.registerCount, 89u);
}

// Labels keep the instruction behind them and their scope.
TEST(Parser, LabelsAndScopes) {
  Module module;
  Function kernel = parseBody(module, R"(
    A: nanosleep.u32 1;
    { LAB_WAIT: bra LAB_WAIT; { DONE: } }
    end: $L_brx_0: .branchtargets A, end;
    p_0: .callprototype (.param .b32 _) _ (.param .b64 _) .noreturn;)");
  ASSERT_EQ(kernel.labels.size(), 4u);
  EXPECT_EQ(kernel.labels[1].name, "LAB_WAIT");
  EXPECT_EQ(kernel.labels[1].scope, 1u);
  EXPECT_EQ(kernel.labels[1].instruction, 1u);
  EXPECT_EQ(kernel.labels[2].scope, 2u);
  EXPECT_EQ(kernel.labels[2].instruction, 2u);
  EXPECT_EQ(kernel.scopes[2].parent, 1u);
  EXPECT_EQ(kernel.instructions[1].scope, 1u);
  ASSERT_EQ(kernel.targetLists.size(), 1u);
  EXPECT_EQ(kernel.targetLists[0].targets.size(), 2u);
  ASSERT_EQ(kernel.prototypes.size(), 1u);
  EXPECT_EQ(kernel.prototypes[0].results.size(), 1u);
}

// Guards, modifiers, and every kind of operand.
TEST(Parser, Operands) {
  Module module;
  Function kernel = parseBody(module, R"(
    @!%p1 bra.uni L;
    elect.sync %r8|%p2, -1;
    mov.b64 {%r1, _}, %rd1;
    mov.u32 %r1, %tid.x;
    ld.global.v2.b32 {%r1, %r2}, [%rd1+-4];
    cp.async.bulk.tensor.2d.x [s+16], [%rd2, {%r1, 0}], [%r3];
    call.uni (ret0), f, (a, 5);
    mov.b32 %r1, 0f3F800000;
    setp.eq.and.b32 %p1, %r1, 0x10U, !%p2;
    mov.b64 %rd1, s+8;)");
  const auto &all = kernel.instructions;
  ASSERT_EQ(all.size(), 10u);
  ASSERT_TRUE(all[0].guard);
  EXPECT_TRUE(all[0].guard->isNegated);
  EXPECT_EQ(all[0].getSpelling(), "bra.uni");
  EXPECT_EQ(all[1].operands[0].kind, OperandKind::Pair);
  EXPECT_EQ(all[1].operands[0].elements[1].name, "%p2");
  EXPECT_EQ(all[1].operands[1].value, ~uint64_t(0));
  EXPECT_EQ(all[2].operands[0].elements[1].kind, OperandKind::Sink);
  EXPECT_EQ(all[3].operands[1].name, "%tid");
  EXPECT_EQ(all[3].operands[1].component, 'x');
  EXPECT_EQ(all[4].operands[1].kind, OperandKind::Address);
  EXPECT_EQ(all[4].operands[1].offset, -4);
  EXPECT_EQ(all[5].operands[0].elements[0].name, "s");
  EXPECT_EQ(all[5].operands[0].offset, 16);
  EXPECT_EQ(all[5].operands[1].elements[1].elements.size(), 2u);
  EXPECT_EQ(all[6].operands[2].kind, OperandKind::List);
  EXPECT_EQ(all[6].operands[2].elements[1].value, 5u);
  EXPECT_EQ(all[7].operands[1].kind, OperandKind::Single);
  EXPECT_TRUE(all[8].operands[2].isUnsigned);
  EXPECT_TRUE(all[8].operands[3].isNegated);
  EXPECT_EQ(all[9].operands[1].offset, 8);
  EXPECT_EQ(all[4].getTypes(), (llvm::SmallVector<Type, 4>{Type::B32}));
  EXPECT_TRUE(all[4].has("v2"));
  EXPECT_FALSE(all[4].has("v4"));
}

// C's precedence and signedness.
TEST(Parser, ConstantExpressions) {
  struct Case {
    const char *text;
    uint64_t value;
  };
  for (const Case &c :
       std::vector<Case>{{"1+2*3", 7},
                         {"(1+2)*3", 9},
                         {"-7/2", static_cast<uint64_t>(-3)},
                         {"-7 % 4", static_cast<uint64_t>(-3)},
                         {"1 << 4 | 3", 19},
                         {"-1 >> 60", ~uint64_t(0)},
                         {"(.u64)-1 >> 60", 15},
                         {"-1 < 1", 1},
                         {"-1 < 1U", 0},
                         {"~0 & 0xF0", 0xF0},
                         {"!3 || 0 ? 5 : 6", 6},
                         {"1 << 64", 0},
                         {"-9223372036854775807 - 1 / -1",
                          static_cast<uint64_t>(-9223372036854775806)},
                         {"(-9223372036854775807 - 1) / -1", uint64_t(1) << 63},
                         {"WARP_SZ - 1", 31}}) {
    Module module;
    Function kernel =
        parseBody(module, std::string("mov.b64 %rd1, ") + c.text + ";");
    ASSERT_EQ(kernel.instructions.size(), 1u) << c.text;
    EXPECT_EQ(kernel.instructions[0].operands[1].value, c.value) << c.text;
  }
}

// Debug information goes, wherever it stands.
TEST(Parser, DebugInformation) {
  Module module = parse(R"(
    .file 1 "a.cu", 0x5F3, 1234
    .func f() {
      .loc 1 2 3
      .loc 1 4 5, function_name $L__info_string0 + 4, inlined_at 1 2 3
      .pragma "nounroll";
      ret;
    }
    .section .debug_str { $L__info_string0: .b8 97, 0 // {
      .b32 .debug_abbrev { } }
    .section .debug_loc { })");
  ASSERT_EQ(module.functions.size(), 1u);
  EXPECT_EQ(module.functions[0].instructions.size(), 1u);
}

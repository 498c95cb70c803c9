//===- MemoryAccessTest.cpp - Tests of loads, stores and atomics ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

using MemoryAccessTest = KernelTest;

TEST_F(MemoryAccessTest, ValuesAreExtendedToTheirRegisters) {
  std::vector<uint64_t> d = runBody(R"(
    .shared .align 8 .b8 bytes[8];
    mov.b32 %r1, bytes;
    st.shared.b64 [%r1], %a;
    ld.shared.s8 %r2, [%r1];
    ld.shared.u8 %r3, [%r1];
    ld.shared.s16 %q1, [%r1];
    ld.shared.s8 %h1, [%r1];
    cvt.u64.u32 %d, %r2;
    cvt.u64.u32 %q2, %r3;
    shl.b64 %q2, %q2, 32;
    or.b64 %d, %d, %q2;
    xor.b64 %d, %d, %q1;
    cvt.u64.u16 %q3, %h1;
    shl.b64 %q3, %q3, 40;
    add.u64 %d, %d, %q3;
  )",
                                    {0x80F0});
  uint64_t expected = (0xFFFFFFF0u | uint64_t(0xF0) << 32) ^ 0xFFFFFFFFFFFF80F0;
  EXPECT_EQ(d[0], expected + (uint64_t(0xFFF0) << 40));
}

TEST_F(MemoryAccessTest, VectorsOfEveryWidth) {
  ASSERT_EQ(load(R"(
    .visible .entry kernel(.param .u64 in, .param .u64 out)
    {
      .reg .b16 %h<4>;
      .reg .b32 %r<8>;
      .reg .b64 %i, %o, %q<4>;
      .reg .b128 %w<2>;
      ld.param.u64 %i, [in];
      ld.param.u64 %o, [out];
      ld.global.v4.b16 {%h0, %h1, %h2, %h3}, [%i];
      st.global.v4.b16 [%o], {%h3, %h2, %h1, %h0};
      ld.global.v8.b32 {%r0, %r1, %r2, %r3, %r4, %r5, %r6, %r7}, [%i];
      st.global.v4.b32 [%o+16], {%r3, %r2, %r1, %r0};
      ld.global.v4.b64 {%q0, %q1, _, %q3}, [%i];
      st.global.v2.b64 [%o+32], {%q3, %q0};
      ld.global.b128 %w0, [%i+16];
      st.global.b128 [%o+48], %w0;
      st.global.v2.b64 [%o+8], {%q1, %q1};
      ret;
    })"),
            "");
  std::vector<uint16_t> in(16);
  for (unsigned i = 0; i < 16; ++i)
    in[i] = i;
  uint64_t from = add("in", in), to = addEmpty("out", 64);
  ASSERT_EQ(run("kernel", from, to), "");
  // The last store is of 16 bytes at 8.
  expectFinding(FaultKind::Misaligned, "to be a multiple of 16");
  std::vector<uint16_t> out = get<uint16_t>("out");
  EXPECT_EQ(out, std::vector<uint16_t>({3, 2, 1, 0, 0,  0,  0,  0,  6,  7, 4,
                                        5, 2, 3, 0, 1,  12, 13, 14, 15, 0, 1,
                                        2, 3, 8, 9, 10, 11, 12, 13, 14, 15}));
}

TEST_F(MemoryAccessTest, FaultsNameTheBuffer) {
  ASSERT_EQ(load(R"(
    .visible .entry kernel(.param .u64 in)
    {
      .reg .b32 %t, %x;
      .reg .b64 %i;
      ld.param.u64 %i, [in];
      mov.u32 %t, %tid.x;
      mad.wide.u32 %i, %t, 4, %i;
      ld.global.b32 %x, [%i];
      ret;
    })"),
            "");
  uint64_t in = add("weights", std::vector<uint32_t>(30));
  shape.block = {32, 1, 1};
  ASSERT_EQ(run("kernel", in), "");
  expectFinding(FaultKind::OutOfBounds, "past the end of 'weights'");
  EXPECT_NE(getFindings().find("thread 30"), std::string::npos)
      << getFindings();
}

TEST_F(MemoryAccessTest, BytesThatNobodyWroteAreAFault) {
  runBody(R"(
    .shared .align 8 .b64 buffer[2];
    mov.b32 %r1, buffer;
    st.shared.b64 [%r1], %a;
    ld.shared.b64 %d, [%r1+8];
  )",
          {1}, /*wantsFindings=*/true);
  expectFinding(FaultKind::Uninitialised, "'buffer'");
}

TEST_F(MemoryAccessTest, UndefinedValuesMayPassThroughSharedMemory) {
  // What is stored undefined is unwritten again; it is the load that fails.
  std::string body = R"(
    .shared .align 8 .b64 buffer[2];
    mov.b32 %r1, buffer;
    st.shared.b64 [%r1], %a;
    st.shared.b64 [%r1+8], %q1;
    ld.shared.b64 %d, [%r1];
  )";
  EXPECT_EQ(runBody(body, {9})[0], 9u);
  runBody(body + "ld.shared.b64 %d, [%r1+8];", {9}, /*wantsFindings=*/true);
  EXPECT_NE(getFindings().find("uninitialised"), std::string::npos);
}

TEST_F(MemoryAccessTest, UndefinedValuesMustNotReachGlobalMemory) {
  runBody("", {1}, /*wantsFindings=*/true);
  expectFinding(FaultKind::Uninitialised,
                "expected the value stored to be defined");
}

TEST_F(MemoryAccessTest, AtomicsOfEveryKind) {
  ASSERT_EQ(load(R"(
    .visible .entry kernel(.param .u64 counters, .param .u64 out)
    {
      .reg .b32 %t, %r<8>;
      .reg .f32 %f<3>;
      .reg .b64 %c, %o, %q<3>;
      .reg .b128 %w<4>;
      ld.param.u64 %c, [counters];
      ld.param.u64 %o, [out];
      mov.u32 %t, %tid.x;
      atom.global.add.u32 %r1, [%c], %t;
      red.global.max.s32 [%c+4], %t;
      atom.global.inc.u32 %r2, [%c+8], 9;
      mov.b32 %f1, 0f3F000000;
      red.relaxed.gpu.global.add.f32 [%c+12], %f1;
      red.add.noftz.bf16x2 [%c+16], 0x3F803F80;
      atom.or.b32 %r3, [%c+20], %t;
      atom.cas.b32 %r4, [%c+24], 0, 7;
      atom.exch.b64 %q1, [%c+32], 11;
      mov.b64 %q2, 5;
      mov.b128 %w0, {%q2, %q2};
      atom.exch.b128 %w1, [%c+48], %w0;
      mad.wide.u32 %o, %t, 4, %o;
      st.global.b32 [%o], %r2;
      ret;
    })"),
            "");
  uint64_t counters = add("counters", std::vector<uint32_t>(16));
  uint64_t out = addEmpty("out", 4 * 64);
  shape.block = {64, 1, 1};
  ASSERT_EQ(run("kernel", counters, out), "");
  EXPECT_EQ(getFindings(), "");
  EXPECT_EQ(get<uint32_t>("counters"),
            std::vector<uint32_t>({2016, 63, 4, 0x42000000, 0x42804280, 63, 7,
                                   0, 11, 0, 0, 0, 5, 0, 5, 0}));
  EXPECT_EQ(get<uint32_t>("out")[12], 2u);
}

// A generic address may be one of memory that can be read only.
TEST_F(MemoryAccessTest, AtomicsCannotChangeConstants) {
  ASSERT_EQ(load(R"(
    .const .align 8 .b64 one = 1;
    .visible .entry kernel()
    {
      .reg .b64 %p;
      .reg .b32 %r;
      mov.u64 %p, one;
      cvta.const.u64 %p, %p;
      atom.add.u32 %r, [%p], 1;
      ret;
    })"),
            "");
  ASSERT_EQ(run("kernel"), "");
  expectFinding(FaultKind::ReadOnly, "into read-only 'one'");
}

TEST_F(MemoryAccessTest, ConstantsAndGlobalsHoldTheirInitialValues) {
  ASSERT_EQ(load(R"(
    .global .align 4 .b32 table[4] = {1, 2, 3};
    .const .align 4 .f32 factor = 0f40490FDB;
    .global .align 8 .u64 pointer = generic(table)+4;
    .visible .entry kernel(.param .u64 out)
    {
      .reg .b32 %x, %y, %z;
      .reg .b64 %o, %p;
      ld.param.u64 %o, [out];
      ld.global.u64 %p, [pointer];
      ld.b32 %x, [%p];
      ld.const.b32 %y, [factor];
      ld.global.b32 %z, [table+12];
      st.global.b32 [%o], %x;
      st.global.b32 [%o+4], %y;
      st.global.b32 [%o+8], %z;
      ret;
    })"),
            "");
  uint64_t out = addEmpty("out", 12);
  ASSERT_EQ(run("kernel", out), "");
  EXPECT_EQ(getFindings(), "");
  EXPECT_EQ(get<uint32_t>("out"), std::vector<uint32_t>({2, 0x40490FDB, 0}));
}

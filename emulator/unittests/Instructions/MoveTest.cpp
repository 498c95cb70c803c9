//===- MoveTest.cpp - Moves and addresses ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

using DecodeMove = KernelTest;

// Constants of all bits, and what is near.
TEST_F(DecodeMove, LargestConstants) {
  EXPECT_EQ(runBody(R"(
    xor.b64 %d, %a, -1;
    xor.b64 %d, %d, -2;
    xor.b64 %d, %d, 0x7FFFFFFFFFFFFFFF;)",
                    {5}),
            (std::vector<uint64_t>{5 ^ 1 ^ (~uint64_t(0) >> 1)}));
}

// Four parts of 16 bits and back in another order, with a gap.
TEST_F(DecodeMove, PacksAndUnpacks) {
  EXPECT_EQ(runBody(R"(
    mov.b64 {%h0, %h1, %h2, _}, %a;
    mov.b64 %d, {%h2, %h1, %h0, %h0};)",
                    {0x0004'0003'0002'0001}),
            (std::vector<uint64_t>{0x0001'0001'0002'0003}));
  // The second move writes a register that the first one reads.
  EXPECT_EQ(runBody(R"(
    mov.b64 {%r0, %r1}, %a;
    mov.b64 %a, {%r1, %r0};
    mov.b64 %d, %a;)",
                    {0x11111111'22222222}),
            (std::vector<uint64_t>{0x22222222'11111111}));
}

// 128 bits: both halves move, and come apart.
TEST_F(DecodeMove, Moves128Bits) {
  EXPECT_EQ(runBody(R"(
    .reg .b128 %x, %y;
    not.b64 %q0, %a;
    mov.b128 %x, {%a, %q0};
    mov.b128 %y, %x;
    mov.b128 {%q1, %q2}, %y;
    shl.b64 %q2, %q2, 8;
    xor.b64 %d, %q1, %q2;)",
                    {0xF0}),
            (std::vector<uint64_t>{0xF0 ^ (~uint64_t(0xF0) << 8)}));
}

// A vector with one element that was never written is what compilers leave of
// a value that uses less; with none at all it is an error.
TEST_F(DecodeMove, PackOfUndefinedElements) {
  EXPECT_EQ(runBody(R"(
    mov.b64 {%r0, _}, %a;
    mov.b64 %d, {%r0, %r7};
    and.b64 %d, %d, 0xFFFFFFFF;)",
                    {5}),
            (std::vector<uint64_t>{5}));
  runBody("mov.b64 %d, {%r6, %r7};", {5}, /*wantsFindings=*/true);
  expectFinding(FaultKind::Uninitialised, "");
}

// A guarded move changes only the lanes that execute it.
TEST_F(DecodeMove, GuardedMove) {
  EXPECT_EQ(runBody(R"(
    setp.eq.u32 %p0, %t, 1;
    mov.b64 %d, 7;
    @%p0 mov.b64 %d, %a;)",
                    {1, 2, 3}),
            (std::vector<uint64_t>{7, 2, 7}));
}

// Special registers take the width of the type.
TEST_F(DecodeMove, SpecialRegisters) {
  EXPECT_EQ(
      runBody(R"(
    mov.u16 %h0, %laneid;
    cvt.u64.u16 %d, %h0;
    mov.u32 %r0, %lanemask_lt;
    mov.b64 %q0, {%r0, %r0};
    shl.b64 %q0, %q0, 32;
    or.b64 %d, %d, %q0;)",
              {0, 0, 0}),
      (std::vector<uint64_t>{0, uint64_t(1) << 32 | 1, uint64_t(3) << 32 | 2}));
}

// Shared addresses as generic ones and back; a store there, a load here.
TEST_F(DecodeMove, GenericAddresses) {
  EXPECT_EQ(runBody(R"(
    .shared .align 8 .b8 buffer[64];
    mov.u64 %q0, buffer;
    mad.wide.u32 %q1, %t, 8, %q0;
    cvta.shared.u64 %q2, %q1;
    st.b64 [%q2], %a;
    cvta.to.shared.u64 %q3, %q2;
    ld.shared.b64 %d, [%q3];)",
                    {10, 20}),
            (std::vector<uint64_t>{10, 20}));
}

// A generic address of another space has no shared one.
TEST_F(DecodeMove, WrongSpace) {
  runBody("cvta.to.shared.u64 %q0, %to;\nmov.b64 %d, 0;", {0},
          /*wantsFindings=*/true);
  expectFinding(FaultKind::WrongSpace, "window of .shared");
}

TEST_F(DecodeMove, Spaces) {
  EXPECT_EQ(runBody(R"(
    .shared .b32 s;
    .local .b32 l;
    mov.u64 %q0, s;
    cvta.shared.u64 %q0, %q0;
    mov.u64 %q1, l;
    cvta.local.u64 %q1, %q1;
    isspacep.shared %p0, %q0;
    isspacep.shared::cluster %p1, %q0;
    isspacep.local %p2, %q1;
    isspacep.global %p3, %to;
    isspacep.global %p4, %q0;
    isspacep.shared %p5, %q1;
    selp.b64 %d, 1, 0, %p0;
    @%p1 or.b64 %d, %d, 2;
    @%p2 or.b64 %d, %d, 4;
    @%p3 or.b64 %d, %d, 8;
    @%p4 or.b64 %d, %d, 16;
    @%p5 or.b64 %d, %d, 32;)",
                    {0}),
            (std::vector<uint64_t>{15}));
}

// Each CTA of a cluster of two reads what the other one wrote; an address
// outside of the own CTA is not .shared::cta.
TEST_F(DecodeMove, MapsToOtherCtas) {
  ASSERT_EQ(load(R"(
    .entry k(.param .b64 to) {
    .reg .b64 %to, %g, %m; .reg .b32 %r<8>; .reg .pred %p<2>;
    .shared .b32 s;
    ld.param.b64 %to, [to];
    mov.u32 %r0, %cluster_ctarank;
    add.u32 %r1, %r0, 100;
    st.shared.b32 [s], %r1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    xor.b32 %r2, %r0, 1;
    mov.u32 %r3, s;
    mapa.shared::cluster.u32 %r4, %r3, %r2;
    ld.shared::cluster.b32 %r5, [%r4];
    getctarank.shared::cluster.u32 %r6, %r4;
    mad.lo.u32 %r5, %r6, 1000, %r5;
    mov.u64 %g, s;
    cvta.shared.u64 %g, %g;
    mapa.u64 %m, %g, %r2;
    isspacep.shared::cta %p0, %m;
    isspacep.shared::cluster %p1, %m;
    @%p0 add.u32 %r5, %r5, 10000;
    @%p1 add.u32 %r5, %r5, 20000;
    getctarank.u64 %r6, %m;
    mad.lo.u32 %r5, %r6, 100000, %r5;
    mad.wide.u32 %to, %r0, 4, %to;
    st.global.b32 [%to], %r5;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    })"),
            "");
  uint64_t to = addEmpty("to", 8);
  shape.grid = shape.cluster = {2, 1, 1};
  ASSERT_EQ(run("k", to), "");
  EXPECT_EQ(getFindings(), "");
  EXPECT_EQ(get<uint32_t>("to"), (std::vector<uint32_t>{121101, 20100}));
}

// There is no third CTA: its addresses can be computed, and are not to be used.
TEST_F(DecodeMove, MapToNoCta) {
  runBody(R"(
    .shared .b32 s;
    mov.u32 %r0, s;
    mapa.shared::cluster.u32 %r1, %r0, 2;
    mapa.shared::cluster.u32 %r2, %r0, -1;
    mov.b64 %d, 0;)",
          {0});
  for (const char *use :
       {"mapa.shared::cluster.u32 %r1, s, 2; st.shared::cluster.b32 [%r1], 0;",
        "mapa.shared::cluster.u32 %r1, s, -1;"
        "ld.shared::cluster.b32 %r2, [%r1];",
        "cvta.shared.u64 %d, 0; mapa.u64 %d, %d, 300; st.b32 [%d], 0;",
        "mapa.shared::cluster.u32 %r1, s, 1;"
        "mbarrier.arrive.shared::cluster.b64 _, [%r1];"}) {
    runBody(std::string(".shared .align 8 .b64 s;\n") + use +
                "\nmov.b64 %d, 0;",
            {0}, /*wantsFindings=*/true);
    expectFinding(FaultKind::WrongSpace, "one of the 1 CTAs of the cluster");
  }
}

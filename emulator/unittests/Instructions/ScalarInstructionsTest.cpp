//===- ScalarInstructionsTest.cpp - Arithmetic as kernels execute it ------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What the vectors of a GPU (PtxVectorsTest.cpp) do not reach: second results,
// the carry flag, predicates as sources, packed forms, wider registers, and
// what is defined.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

using DecodeScalar = KernelTest;

// 128-bit sums by halves of 64 bits, and differences by quarters of 32.
TEST_F(DecodeScalar, CarriesThroughTheFlag) {
  std::vector<uint64_t> high = runBody(R"(
    add.cc.u64 %q0, %a, 1;
    addc.u64 %d, 5, 0;)",
                                       {0, ~uint64_t(0), 7});
  EXPECT_EQ(high, (std::vector<uint64_t>{5, 6, 5}));
  std::vector<uint64_t> chain = runBody(R"(
    mov.b64 {%r0, %r1}, %a;
    sub.cc.u32 %r0, %r0, 1;
    subc.cc.u32 %r1, %r1, 0;
    subc.u32 %r2, 10, 0;
    cvt.u64.u32 %d, %r2;)",
                                        {0, 1, uint64_t(1) << 32});
  EXPECT_EQ(chain, (std::vector<uint64_t>{9, 10, 10}));
}

// mad.lo.cc leaves the carry of its sum, madc.hi takes it: a * a + ~0.
TEST_F(DecodeScalar, CarriesOfProducts) {
  std::vector<uint64_t> values = {0xFFFFFFFF, 3, 0};
  std::vector<uint64_t> results = runBody(R"(
    cvt.u32.u64 %r0, %a;
    mad.lo.cc.u32 %r1, %r0, %r0, 0xFFFFFFFF;
    madc.hi.u32 %r2, %r0, %r0, 0xFFFFFFFF;
    mov.b64 %d, {%r1, %r2};)",
                                          values);
  for (size_t i = 0; i < values.size(); ++i)
    EXPECT_EQ(results[i], values[i] * values[i] + ~uint64_t(0));
}

// The flag of a lane that did not execute stays.
TEST_F(DecodeScalar, FlagIsEachLanesOwn) {
  EXPECT_EQ(runBody(R"(
    setp.eq.u32 %p0, %t, 1;
    add.cc.u32 %r0, 0xFFFFFFFF, 1;
    @%p0 add.cc.u32 %r0, 0, 0;
    addc.u32 %r1, 0, 0;
    cvt.u64.u32 %d, %r1;)",
                    {0, 0, 0}),
            (std::vector<uint64_t>{1, 0, 1}));
}

// p is the comparison, q its negation, both combined with a third predicate.
TEST_F(DecodeScalar, SetpOfTwoResults) {
  std::string body = R"(
    setp.ne.u32 %p2, %t, 0;
    setp.lt.and.s64 %p0|%p1, %a, 10, !%p2;
    selp.b64 %d, 1, 0, %p0;
    selp.b64 %q0, 2, 0, %p1;
    or.b64 %d, %d, %q0;)";
  EXPECT_EQ(runBody(body, {5, 5}), (std::vector<uint64_t>{1, 0}));
  EXPECT_EQ(runBody(body, {15, 15}), (std::vector<uint64_t>{2, 0}));
}

// Pairs give two comparisons: p is that of the low halves, q that of the high
// ones.
TEST_F(DecodeScalar, SetpOfPairs) {
  EXPECT_EQ(runBody(R"(
    cvt.u32.u64 %r0, %a;
    setp.gt.f16x2 %p0|%p1, %r0, 0x3C003C00;
    selp.b64 %d, 1, 0, %p0;
    selp.b64 %q0, 2, 0, %p1;
    or.b64 %d, %d, %q0;)",
                    {0x3C004000, 0x40003C00, 0x40004000, 0x7E007E00}),
            (std::vector<uint64_t>{1, 2, 3, 0}));
}

// All ones, 1.0, and halves of them, with a negated third predicate.
TEST_F(DecodeScalar, Set) {
  EXPECT_EQ(runBody(R"(
    cvt.u32.u64 %r0, %a;
    set.ge.u32.u32 %r1, %r0, 4;
    set.ge.f32.u32 %r2, %r0, 4;
    mov.b64 %d, {%r1, %r2};)",
                    {3, 4}),
            (std::vector<uint64_t>{0, 0x3F800000'FFFFFFFF}));
  EXPECT_EQ(runBody(R"(
    cvt.u32.u64 %r0, %a;
    setp.ne.u32 %p0, %t, 0;
    set.gt.and.u32.f16x2 %r1, %r0, 0x3C003C00, !%p0;
    set.gt.f16x2.f16x2 %r2, %r0, 0x3C003C00;
    mov.b64 %d, {%r1, %r2};)",
                    {0x40003C00, 0x3C004000}),
            (std::vector<uint64_t>{0x3C000000'FFFF0000, 0x00003C00'00000000}));
}

// The predicate of lop3 is that of the whole word.
TEST_F(DecodeScalar, Lop3WithPredicate) {
  EXPECT_EQ(runBody(R"(
    cvt.u32.u64 %r0, %a;
    setp.eq.u32 %p0, %t, 0;
    lop3.and.b32 %r1|%p1, %r0, 0xF0, 0xFF, 0x80, !%p0;
    selp.u64 %d, 0x100, 0, %p1;
    cvt.u64.u32 %q0, %r1;
    or.b64 %d, %d, %q0;)",
                    {0x30, 0x30, 0x0F}),
            (std::vector<uint64_t>{0x30, 0x130, 0}));
}

// A table that is no plain function: (a & ~b) ^ c.
TEST_F(DecodeScalar, Lop3OfAnyTable) {
  unsigned table = (0xF0 & ~0xCC & 0xFF) ^ 0xAA;
  EXPECT_EQ(runBody("cvt.u32.u64 %r0, %a;\nlop3.b32 %r1, %r0, 0x3C, 0x55, " +
                        std::to_string(table) + ";\ncvt.u64.u32 %d, %r1;",
                    {0x0F, 0xFFFFFFFF}),
            (std::vector<uint64_t>{(0x0F & ~0x3C) ^ 0x55,
                                   (0xFFFFFFFFu & ~0x3Cu) ^ 0x55}));
}

// Pairs of f32: each rounded alone.
TEST_F(DecodeScalar, PairsOfSingles) {
  EXPECT_EQ(runBody(R"(
    mov.b64 %q0, 0x3F80000040000000;
    fma.rn.f32x2 %d, %a, %q0, %q0;)",
                    {0x40400000'3F800000}),
            (std::vector<uint64_t>{0x40800000'40800000}));
  EXPECT_EQ(runBody("add.rz.f32x2 %d, %a, %a;", {0x7F7FFFFF'BF800000}),
            (std::vector<uint64_t>{0x7F7FFFFF'C0000000}));
}

// f16 and bf16 sources are widened, the sum is one of f32.
TEST_F(DecodeScalar, MixedPrecision) {
  EXPECT_EQ(runBody(R"(
    .reg .f16 %x; .reg .f32 %y;
    cvt.u16.u64 %h0, %a;
    mov.b16 %x, %h0;
    add.f32.f16 %y, %x, 0f3F800000;
    mov.b32 %r0, %y;
    cvt.u64.u32 %d, %r0;)",
                    {0x3C00, 0xBC00}),
            (std::vector<uint64_t>{0x40000000, 0}));
  EXPECT_EQ(runBody(R"(
    .reg .f32 %y;
    cvt.u16.u64 %h0, %a;
    fma.rn.sat.f32.bf16 %y, %h0, %h0, 0f3E800000;
    mov.b32 %r0, %y;
    cvt.u64.u32 %d, %r0;)",
                    {0x3F00, 0x4000}),
            (std::vector<uint64_t>{0x3F000000, 0x3F800000}));
}

// The greatest of three, by magnitude, and with NaN.
TEST_F(DecodeScalar, GreatestOfThree) {
  std::string before = ".reg .f32 %y; cvt.u32.u64 %r0, %a;\n";
  std::string after = "mov.b32 %r1, %y;\ncvt.u64.u32 %d, %r1;";
  std::vector<uint64_t> values = {0xC0400000, 0x40A00000, 0x7FC00000};
  EXPECT_EQ(
      runBody(before + "max.f32 %y, %r0, 0f3F800000, 0f40000000;\n" + after,
              values),
      (std::vector<uint64_t>{0x40000000, 0x40A00000, 0x40000000}));
  EXPECT_EQ(runBody(before +
                        "max.NaN.abs.f32 %y, %r0, 0f3F800000, 0f40000000;\n" +
                        after,
                    values),
            (std::vector<uint64_t>{0x40400000, 0x40A00000, 0x7FFFFFFF}));
}

TEST_F(DecodeScalar, SelectionBySign) {
  EXPECT_EQ(runBody(R"(
    cvt.u32.u64 %r0, %a;
    slct.u64.s32 %d, 1, 2, %r0;)",
                    {0, 5, 0x80000000}),
            (std::vector<uint64_t>{1, 1, 2}));
  EXPECT_EQ(runBody(R"(
    .reg .f32 %y;
    cvt.u32.u64 %r0, %a;
    mov.b32 %y, %r0;
    slct.ftz.u64.f32 %d, 1, 2, %y;)",
                    {0x80000000, 0x80000001, 0xBF800000, 0x7FC00000}),
            (std::vector<uint64_t>{1, 1, 2, 2}));
}

TEST_F(DecodeScalar, Predicates) {
  EXPECT_EQ(runBody(R"(
    setp.ne.u64 %p0, %a, 0;
    not.pred %p1, %p0;
    setp.eq.u32 %p2, %t, 0;
    xor.pred %p1, %p1, %p2;
    selp.u64 %d, 1, 0, %p1;)",
                    {0, 1, 0, 1}),
            (std::vector<uint64_t>{0, 0, 1, 0}));
}

// A wider register gets a signed result with its sign, others with zeros.
TEST_F(DecodeScalar, ConversionsIntoWiderRegisters) {
  EXPECT_EQ(runBody(R"(
    cvt.s8.s64 %r0, %a;
    cvt.u8.s64 %r1, %a;
    mov.b64 %d, {%r0, %r1};)",
                    {0x180}),
            (std::vector<uint64_t>{0x00000080'FFFFFF80}));
  // The source is read with the width of its type, and its value is extended to
  // the destination's width.
  EXPECT_EQ(runBody("cvt.u32.s16 %d, %a;", {0x18000}),
            (std::vector<uint64_t>{0xFFFF8000}));
  EXPECT_EQ(runBody("cvt.s64.u16 %d, %a;", {0x18000}),
            (std::vector<uint64_t>{0x8000}));
}

// Random bits of four values; 1.25 lies between the e2m1 values 1 and 1.5.
TEST_F(DecodeScalar, ConversionOfFour) {
  EXPECT_EQ(runBody(R"(
    .reg .f32 %y;
    cvt.u32.u64 %r0, %a;
    mov.f32 %y, 0f3FA00000;
    cvt.rs.satfinite.e2m1x4.f32 %h0, {%y, %y, %y, %y}, %r0;
    cvt.u64.u16 %d, %h0;)",
                    {0, 0xFFFFFFFF}),
            (std::vector<uint64_t>{0x2222, 0x3333}));
}

TEST_F(DecodeScalar, PackOfClampedValues) {
  EXPECT_EQ(runBody(R"(
    cvt.u32.u64 %r0, %a;
    cvt.pack.sat.s8.s32.b32 %r1, %r0, 3, 0xABCD;
    cvt.u64.u32 %d, %r1;)",
                    {1000, 0xFFFFFC18}),
            (std::vector<uint64_t>{0xABCD7F03, 0xABCD8003}));
}

//===----------------------------------------------------------------------===//
// What is defined
//===----------------------------------------------------------------------===//

TEST_F(DecodeScalar, UndefinedSourcesMakeUndefinedResults) {
  runBody("add.u64 %d, %a, %q0;", {1}, /*wantsFindings=*/true);
  expectFinding(FaultKind::Uninitialised, "");
}

// Where the undefined source is not the one that is taken, all is well.
TEST_F(DecodeScalar, SelectionIgnoresWhatItDoesNotTake) {
  EXPECT_EQ(runBody(R"(
    setp.eq.u32 %p0, %t, %t;
    selp.b64 %d, %a, %q0, %p0;)",
                    {1}),
            (std::vector<uint64_t>{1}));
  runBody(R"(
    setp.eq.u32 %p0, %t, %t;
    selp.b64 %d, %q0, %a, %p0;)",
          {1}, /*wantsFindings=*/true);
  expectFinding(FaultKind::Uninitialised, "");
}

// Bytes of a alone; then of both.
TEST_F(DecodeScalar, PermutationNeedsWhatItTakes) {
  EXPECT_EQ(runBody(R"(
    cvt.u32.u64 %r0, %a;
    prmt.b32 %r1, %r0, %r2, 0x0123;
    cvt.u64.u32 %d, %r1;)",
                    {0x01020304}),
            (std::vector<uint64_t>{0x04030201}));
  runBody(R"(
    cvt.u32.u64 %r0, %a;
    prmt.b32 %r1, %r0, %r2, 0x7654;
    cvt.u64.u32 %d, %r1;)",
          {1}, /*wantsFindings=*/true);
  expectFinding(FaultKind::Uninitialised, "");
}

// One CTA has 128 lanes, four words of a mask.
TEST_F(DecodeScalar, RefusesAMaskOfLanesOfAnotherSize) {
  std::string error = load(R"(.entry k() {
    .reg .b64 %q; .reg .b32 %r; .reg .pred %p;
    tcgen05.mma.cta_group::1.kind::f16 [%r], %q, %q, %r, {%r, %r, %r, %r,
        %r, %r, %r, %r}, %p; })");
  if (error.empty())
    error = run("k");
  EXPECT_NE(error.find("expected 4 words of disable-output-lane, 32 lanes "
                       "each, but got 8"),
            std::string::npos)
      << error;
}

// The mark of what is out of bounds is not public.
TEST_F(DecodeScalar, RefusesWhatIsNotModelled) {
  std::string error = load(R"(.entry k() { .reg .b16 %h;
    fma.rn.oob.f16 %h, %h, %h, %h; })");
  if (error.empty())
    error = run("k");
  EXPECT_NE(error.find("'fma.rn.oob.f16' is not modelled"), std::string::npos)
      << error;
}

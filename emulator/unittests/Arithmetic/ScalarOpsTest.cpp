//===- ScalarOpsTest.cpp - Operations without vectors of a GPU ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What PtxVectorsTest.cpp does not reach: carries, logic tables, selections and
// instructions that sm_90 lacks.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/BitOps.h"
#include "Emulator/Arithmetic/Compare.h"
#include "Emulator/Arithmetic/FloatOps.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

// add.cc / addc: 0xFFFFFFFF + 1 carries; a carry in alone does too.
TEST(ScalarOps, Carry) {
  WithCarry sum = addCarry<uint32_t>(0xFFFFFFFF, 1, false);
  EXPECT_EQ(sum.value, 0u);
  EXPECT_TRUE(sum.carry);
  EXPECT_TRUE(addCarry<uint32_t>(0xFFFFFFFF, 0, true).carry);
  EXPECT_FALSE(addCarry<int32_t>(0x7FFFFFFF, 1, false).carry);
  EXPECT_TRUE(addCarry<uint64_t>(~uint64_t{0}, ~uint64_t{0}, true).carry);
  // Bits above the type do not matter.
  EXPECT_FALSE(addCarry<uint32_t>(0x1'00000000, 1, false).carry);
}

// sub.cc / subc: the flag is a borrow.
TEST(ScalarOps, Borrow) {
  WithCarry difference = subBorrow<uint32_t>(0, 1, false);
  EXPECT_EQ(difference.value, 0xFFFFFFFFu);
  EXPECT_TRUE(difference.carry);
  EXPECT_FALSE(subBorrow<uint32_t>(1, 1, false).carry);
  EXPECT_TRUE(subBorrow<uint32_t>(1, 1, true).carry);
  EXPECT_TRUE(subBorrow<uint32_t>(0, 0xFFFFFFFF, true).carry);
  EXPECT_EQ(subBorrow<uint64_t>(0, ~uint64_t{0}, true).value, 0u);
}

// mad.lo.cc / madc.hi: a 64-bit product and sum from 32-bit halves.
TEST(ScalarOps, CarryOfMad) {
  uint64_t a = 0xFFFFFFFF, b = 0xFFFFFFFF, c = 0xFFFFFFFF'FFFFFFFF;
  uint64_t expected = a * b + c;
  WithCarry low = madLoCarry<uint32_t>(a, b, c & 0xFFFFFFFF, false);
  WithCarry high = madHiCarry<uint32_t>(a, b, c >> 32, low.carry);
  EXPECT_EQ(low.value | high.value << 32, expected);
  EXPECT_TRUE(high.carry);
}

// The tables that the ISA lists for lop3.
TEST(ScalarOps, LogicTables) {
  uint64_t a = 0xF0F0F0F0, b = 0xCCCCCCCC, c = 0xAAAAAAAA;
  EXPECT_EQ(lop3(a, b, c, 0x80), a & b & c);
  EXPECT_EQ(lop3(a, b, c, 0xFE), a | b | c);
  EXPECT_EQ(lop3(a, b, c, 0x40), a & b & (~c & 0xFFFFFFFF));
  EXPECT_EQ(lop3(a, b, c, 0x1A), ((a & b) | c) ^ a);
  EXPECT_EQ(lop3(a, b, c, 0xCA), (a & b) | (~a & 0xFFFFFFFF & c));
  EXPECT_EQ(lop3(a, b, c, 0x96), a ^ b ^ c);
  EXPECT_EQ(lop3(a, b, c, 0x00), 0u);
  EXPECT_EQ(lop3(a, b, c, 0xFF), 0xFFFFFFFFu);
}

// Shift amounts beyond the width are clamped, not wrapped.
TEST(ScalarOps, ShiftAmounts) {
  EXPECT_EQ(shiftLeft<uint32_t>(1, 31), 0x80000000u);
  EXPECT_EQ(shiftLeft<uint32_t>(1, 32), 0u);
  EXPECT_EQ(shiftLeft<uint16_t>(1, 16), 0u);
  EXPECT_EQ(shiftLeft<uint64_t>(1, 0xFFFFFFFF), 0u);
  EXPECT_EQ(shiftRight<int32_t>(0x80000000, 40), 0xFFFFFFFFu);
  EXPECT_EQ(shiftRight<uint32_t>(0x80000000, 32), 0u);
  EXPECT_EQ(shiftRight<int16_t>(0x8000, 15), 0xFFFFu);
}

TEST(ScalarOps, BoolOps) {
  EXPECT_TRUE(combine(BoolOp::None, true, false));
  EXPECT_FALSE(combine(BoolOp::And, true, false));
  EXPECT_TRUE(combine(BoolOp::Or, false, true));
  EXPECT_TRUE(combine(BoolOp::Xor, true, false));
  EXPECT_FALSE(combine(BoolOp::Xor, true, true));
}

TEST(ScalarOps, SetResults) {
  EXPECT_EQ(getSetInteger(true, 32), 0xFFFFFFFFu);
  EXPECT_EQ(getSetInteger(true, 16), 0xFFFFu);
  EXPECT_EQ(getSetInteger(false, 32), 0u);
  EXPECT_EQ(getSetFloat<F32>(true), 0x3F800000u);
  EXPECT_EQ(getSetFloat<F16>(true), 0x3C00u);
  EXPECT_EQ(getSetFloat<BF16>(true), 0x3F80u);
}

// -0 selects the first source, NaN and negative numbers the second.
TEST(ScalarOps, Select) {
  EXPECT_TRUE(selectsFirstF32(0x80000000, false));
  EXPECT_FALSE(selectsFirstF32(0x80000001, false));
  EXPECT_TRUE(selectsFirstF32(0x80000001, true));
  EXPECT_FALSE(selectsFirstF32(0x7FC00000, false));
  EXPECT_TRUE(selectsFirstS32(0));
  EXPECT_FALSE(selectsFirstS32(0x80000000));
}

// min and max of three, of sm_100: one NaN is dropped, with .NaN it wins.
TEST(ScalarOps, MinMaxOfThree) {
  MinMaxModifiers plain, abs, nan;
  abs.abs = true;
  nan.propagateNaN = true;
  uint64_t one = 0x3F800000, minusTwo = 0xC0000000, bad = 0x7FC00000;
  EXPECT_EQ(maxFloat(one, minusTwo, bad, plain), one);
  EXPECT_EQ(maxFloat(bad, bad, minusTwo, plain), minusTwo);
  EXPECT_EQ(maxFloat(one, minusTwo, one, abs), 0x40000000u);
  EXPECT_EQ(minFloat(one, minusTwo, one, plain), minusTwo);
  EXPECT_EQ(minFloat(bad, minusTwo, one, nan), 0x7FFFFFFFu);
  EXPECT_EQ(maxFloat(bad, bad, bad, plain), 0x7FFFFFFFu);
}

// A pair is computed element by element.
TEST(ScalarOps, Pairs) {
  FloatModifiers m;
  auto add32 = [&](uint64_t a, uint64_t b) { return addFloat<F32>(a, b, m); };
  EXPECT_EQ(mapPair<F32>(add32, uint64_t{0x3F800000'40000000},
                         uint64_t{0x3F800000'C0000000}),
            0x40000000'00000000u);
  auto fma16 = [&](uint64_t a, uint64_t b, uint64_t c) {
    return fmaFloat<F16>(a, b, c, m);
  };
  EXPECT_EQ(mapPair<F16>(fma16, uint64_t{0x4000'3C00}, uint64_t{0x4000'3C00},
                         uint64_t{0x3C00'BC00}),
            0x4500'0000u);
}

// One rounding of fma: (1 + 2^-10)^2 - (1 + 2^-9) = 2^-20 in f16.
TEST(ScalarOps, FmaRoundsOnce) {
  FloatModifiers m;
  EXPECT_EQ(fmaFloat<F16>(0x3C01, 0x3C01, 0xBC02, m), 0x0010u);
  EXPECT_EQ(fmaFloat<F32>(0x3F800001, 0x3F800001, 0xBF800002, m), 0x28800000u);
  // A product that lies a hair beside a tie of a subnormal sum.
  EXPECT_EQ(fmaFloat<F32>(0x00800000, 0x33800001, 0x00400000, m), 0x00400001u);
  EXPECT_EQ(fmaFloat<F32>(0x00800000, 0x33800000, 0x00400000, m), 0x00400000u);
}

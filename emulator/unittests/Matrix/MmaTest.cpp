//===- MmaTest.cpp - Products of the tensor core --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaFixture.h"

using namespace blockscale::emulator;

namespace {
struct MmaTest : MmaFixture {
  MmaTestCta cta{0};

  bool run(const MmaInstruction &instruction) {
    return runMma(instruction, cta.get(), faults);
  }

  /// kind::f16 on bf16 operands without swizzle: 8 rows of 16 bytes, then the
  /// next 8 rows, then the second half of K. D is f32, at column 0.
  MmaInstruction makeBF16(unsigned m, unsigned n) {
    MmaInstruction mma;
    mma.variant = {MmaKind::F16};
    mma.d = 0;
    uint64_t dense = uint64_t(1) << 46 | uint64_t(128 >> 4) << 32;
    mma.a = dense | kTileA >> 4 | uint64_t(0x2000 >> 4) << 16;
    mma.b = dense | kTileB >> 4 | uint64_t(0x2000 >> 4) << 16;
    mma.descriptor = m >> 4 << 24 | n >> 3 << 17 | 1 << 10 | 1 << 7 | 1 << 4;
    mma.accumulate = false;
    return mma;
  }

  void setBF16(uint32_t tile, unsigned row, unsigned k, float value) {
    setBF16(cta, tile, row, k, value);
  }

  static void setBF16(MmaTestCta &cta, uint32_t tile, unsigned row, unsigned k,
                      float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    EXPECT_EQ(bits & 0xFFFF, 0u) << value;
    uint32_t offset =
        tile + row % 8 * 16 + row / 8 * 128 + k % 8 * 2 + k / 8 * 0x2000;
    cta.setRaw(offset, bits >> 16 & 0xFF);
    cta.setRaw(offset + 1, bits >> 24);
  }

  /// Small integers: every sum is exact.
  static float small(unsigned seed, unsigned row, unsigned k) {
    return int(hash(seed, row, k) % 17) - 8;
  }

  void fillBF16(unsigned m, unsigned n) {
    for (unsigned k = 0; k < 16; ++k) {
      for (unsigned row = 0; row < m; ++row)
        setBF16(kTileA, row, k, small(1, row, k));
      for (unsigned row = 0; row < n; ++row)
        setBF16(kTileB, row, k, small(2, row, k));
    }
  }

  static double product(unsigned m, unsigned n) {
    double sum = 0;
    for (unsigned k = 0; k < 16; ++k)
      sum += small(1, m, k) * small(2, n, k);
    return sum;
  }
};
} // namespace

// Row m of 128 is lane m; the second MMA adds, the third overwrites.
TEST_F(MmaTest, AccumulatesOrOverwrites) {
  fillBF16(128, 24);
  MmaInstruction mma = makeBF16(128, 24);
  mma.d = 40;
  for (unsigned times : {1, 2, 1}) {
    mma.accumulate = times == 2;
    ASSERT_TRUE(run(mma));
    for (unsigned m = 0; m < 128; ++m)
      for (unsigned n = 0; n < 24; ++n)
        EXPECT_EQ(cta.getFloat(m, 40 + n), times * product(m, n));
  }
  EXPECT_FALSE(cta.tensor.isWritten(0, 64));
  EXPECT_FALSE(cta.tensor.isWritten(0, 39));
  expectClean();
}

// What uses the collector needs the same A there, behind a product that filled
// it, and until one that does not keep it.
TEST_F(MmaTest, CollectorOfA) {
  fillBF16(128, 8);
  MmaInstruction mma = makeBF16(128, 8);
  auto runs = [&](CollectorUse use) {
    mma.collectorUse = use;
    return run(mma);
  };
  EXPECT_FALSE(runs(CollectorUse::Use));
  expectFault(FaultKind::Hazard, "nothing valid is there");
  for (CollectorUse last : {CollectorUse::LastUse, CollectorUse::Discard}) {
    EXPECT_TRUE(runs(CollectorUse::Fill));
    EXPECT_TRUE(runs(CollectorUse::Use));
    EXPECT_TRUE(runs(CollectorUse::Use));
    EXPECT_TRUE(runs(last));
    EXPECT_EQ(cta.getFloat(100, 7), product(100, 7));
    expectClean();
    EXPECT_FALSE(runs(CollectorUse::LastUse));
    expectFault(FaultKind::Hazard, "nothing valid is there");
  }
  // A single value of A has changed since.
  EXPECT_TRUE(runs(CollectorUse::Fill));
  setBF16(kTileA, 127, 15, 100);
  EXPECT_FALSE(runs(CollectorUse::Use));
  expectFault(FaultKind::Hazard, "it holds other values");
  EXPECT_TRUE(runs(CollectorUse::Fill));
  EXPECT_TRUE(runs(CollectorUse::LastUse));
  expectClean();
}

// Lanes of the mask stay as they are: those that were never written, too.
TEST_F(MmaTest, DisabledLanes) {
  fillBF16(128, 8);
  MmaInstruction mma = makeBF16(128, 8);
  mma.disabledLanes = {5, 0, 0x80000000u, 1u << 4, ~0u, ~0u, ~0u, ~0u};
  auto isDisabled = [](unsigned lane) {
    return lane == 0 || lane == 2 || lane == 95 || lane == 100;
  };
  ASSERT_TRUE(run(mma));
  for (unsigned m = 0; m < 128; ++m) {
    EXPECT_EQ(cta.tensor.isWritten(m, 7), !isDisabled(m)) << m;
    if (!isDisabled(m))
      EXPECT_EQ(cta.getFloat(m, 7), product(m, 7)) << m;
  }
  // Nothing is added to them either.
  for (unsigned m : {0, 2, 95, 100})
    for (unsigned n = 0; n < 8; ++n)
      cta.setFloat(m, n, 0.5f);
  mma.accumulate = true;
  ASSERT_TRUE(run(mma));
  for (unsigned m = 0; m < 128; ++m)
    EXPECT_EQ(cta.getFloat(m, 3), isDisabled(m) ? 0.5 : 2 * product(m, 3)) << m;
  expectClean();
}

// The second half of the mask is of the odd CTA of a pair.
TEST_F(MmaTest, DisabledLanesOfPair) {
  MmaTestCta odd{1};
  for (MmaTestCta *one : {&cta, &odd})
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned k = 0; k < 16; ++k) {
        setBF16(*one, kTileA, row, k, 1);
        if (row < 8)
          setBF16(*one, kTileB, row, k, 2);
      }
  MmaInstruction mma = makeBF16(256, 16);
  mma.variant.ctaGroup = 2;
  mma.disabledLanes = {1, 0, 0, 0, 0, 2, 0, 0};
  ASSERT_TRUE(runMma(mma, {cta.get(), odd.get()}, faults));
  for (unsigned lane = 0; lane < 128; ++lane) {
    EXPECT_EQ(cta.tensor.isWritten(lane, 3), lane != 0) << lane;
    EXPECT_EQ(odd.tensor.isWritten(lane, 3), lane != 33) << lane;
  }
  EXPECT_EQ(odd.getFloat(0, 15), 32);
  expectClean();
}

// Row m of 64 is lane m / 16 * 32 + m % 16.
TEST_F(MmaTest, SixtyFourRows) {
  fillBF16(64, 8);
  MmaInstruction mma = makeBF16(64, 8);
  ASSERT_TRUE(run(mma));
  for (unsigned m = 0; m < 64; ++m)
    EXPECT_EQ(cta.getFloat(m / 16 * 32 + m % 16, 5), product(m, 5));
  EXPECT_FALSE(cta.tensor.isWritten(16, 0));
  // Another tile fits between these lanes.
  mma.d = 16 << 16;
  ASSERT_TRUE(run(mma));
  for (unsigned m = 0; m < 64; ++m)
    EXPECT_EQ(cta.getFloat(m / 16 * 32 + m % 16 + 16, 5), product(m, 5));
  mma.d = 17 << 16;
  EXPECT_FALSE(run(mma));
  EXPECT_EQ(faults.pop_back_val().kind, FaultKind::TensorMemory);
  expectClean();
}

// Negated operands, and D scaled by a power of two.
TEST_F(MmaTest, NegateAndScaleInput) {
  fillBF16(128, 8);
  MmaInstruction mma = makeBF16(128, 8);
  ASSERT_TRUE(run(mma));
  mma.descriptor |= 1 << 13;
  mma.accumulate = true;
  mma.scaleInputD = 2;
  ASSERT_TRUE(run(mma));
  EXPECT_EQ(cta.getFloat(7, 3), product(7, 3) / 4 - product(7, 3));
  mma.descriptor |= 1 << 14;
  mma.accumulate = false;
  ASSERT_TRUE(run(mma));
  EXPECT_EQ(cta.getFloat(7, 3), product(7, 3));
  expectClean();
}

// Operands that run along M and N: bits 15 and 16, with MN-major layouts.
TEST_F(MmaTest, Transposed) {
  fillBF16(128, 16);
  // Puts an element of the matrices above where they are contiguous along rows:
  // 8 rows of 2 bytes, then the next K, then (stride) the next 8 rows, and
  // (leading) the next 8 of K.
  auto put = [&](uint32_t tile, unsigned row, unsigned k, float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    uint32_t offset =
        tile + row % 8 * 2 + row / 8 * 128 + k % 8 * 16 + k / 8 * 0x800;
    cta.setRaw(offset, bits >> 16 & 0xFF);
    cta.setRaw(offset + 1, bits >> 24);
  };
  for (unsigned k = 0; k < 16; ++k) {
    for (unsigned m = 0; m < 128; ++m)
      put(0x8000, m, k, small(1, m, k));
    for (unsigned n = 0; n < 16; ++n)
      put(0xC000, n, k, small(2, n, k));
  }
  uint64_t columns =
      uint64_t(1) << 46 | uint64_t(128 >> 4) << 32 | uint64_t(0x800 >> 4) << 16;
  for (unsigned transposed = 1; transposed < 4; ++transposed) {
    MmaInstruction mma = makeBF16(128, 16);
    mma.descriptor |= transposed << 15;
    if (transposed & 1)
      mma.a = columns | 0x8000 >> 4;
    if (transposed & 2)
      mma.b = columns | 0xC000 >> 4;
    ASSERT_TRUE(run(mma));
    for (unsigned m = 0; m < 128; ++m)
      for (unsigned n = 0; n < 16; ++n)
        EXPECT_EQ(cta.getFloat(m, n), product(m, n));
  }
  expectClean();
}

// A in tensor memory: a lane a row, two values a column.
TEST_F(MmaTest, AInTensorMemory) {
  fillBF16(128, 8);
  for (unsigned m = 0; m < 128; ++m)
    for (unsigned k = 0; k < 16; k += 2) {
      uint32_t words[2];
      for (unsigned i = 0; i < 2; ++i) {
        float value = small(1, m, k + i);
        std::memcpy(&words[i], &value, sizeof value);
      }
      cta.tensor.set(m, 100 + k / 2, words[0] >> 16 | words[1]);
    }
  MmaInstruction mma = makeBF16(128, 8);
  mma.isAInTensorMemory = true;
  mma.a = 100;
  ASSERT_TRUE(run(mma));
  for (unsigned m = 0; m < 128; ++m)
    EXPECT_EQ(cta.getFloat(m, 6), product(m, 6));
  expectClean();
  mma.a = 104;
  ASSERT_TRUE(run(mma));
  expectFirstFault(FaultKind::Uninitialised,
                   "tcgen05.mma reads 512 cells of tensor memory");
}

// One rounding, at the end: what the sum and D lose alone they keep together.
TEST_F(MmaTest, RoundsOnce) {
  for (unsigned k = 0; k < 16; ++k) {
    for (unsigned m = 0; m < 128; ++m)
      setBF16(kTileA, m, k, m == 1 && k >= 3 ? 0.0f : 1.0f);
    for (unsigned n = 0; n < 8; ++n)
      setBF16(kTileB, n, k, k < 3 ? 0.5f : 0.0f);
  }
  for (unsigned m = 0; m < 128; ++m)
    for (unsigned n = 0; n < 8; ++n)
      cta.setFloat(m, n, 0x1p24f);
  MmaInstruction mma = makeBF16(128, 8);
  mma.accumulate = true;
  ASSERT_TRUE(run(mma));
  // 2^24 + 1.5 lies between 2^24 and 2^24 + 2, nearer to the latter; each half
  // alone is lost.
  EXPECT_EQ(cta.getFloat(0, 0), 0x1p24f + 2);
  expectClean();
}

// f16 accumulators are the low halves of their cells.
TEST_F(MmaTest, HalfAccumulator) {
  // 1.0 and 2.0 of f16 have no bits in their low bytes.
  for (unsigned k = 0; k < 16; ++k)
    for (unsigned row = 0; row < 128; ++row) {
      uint32_t offset =
          row % 8 * 16 + row / 8 * 128 + k % 8 * 2 + k / 8 * 0x2000;
      cta.setRaw(kTileA + offset, 0);
      cta.setRaw(kTileA + offset + 1, 0x3C);
      cta.setRaw(kTileB + offset, 0);
      cta.setRaw(kTileB + offset + 1, 0x40);
    }
  MmaInstruction mma = makeBF16(128, 128);
  mma.descriptor &= ~uint32_t(1 << 4 | 1 << 7 | 1 << 10);
  ASSERT_TRUE(run(mma));
  EXPECT_EQ(cta.tensor.get(9, 9), 0x5000u); // 32
  mma.accumulate = true;
  ASSERT_TRUE(run(mma));
  EXPECT_EQ(cta.tensor.get(9, 9), 0x5400u); // 64
  expectClean();
}

// tf32 ignores the 13 lowest bits.
TEST_F(MmaTest, Tf32) {
  auto put = [&](uint32_t tile, unsigned row, unsigned k, uint32_t bits) {
    for (unsigned i = 0; i < 4; ++i)
      cta.setRaw(tile + row % 8 * 16 + row / 8 * 128 + k % 4 * 4 +
                     k / 4 * 0x2000 + i,
                 bits >> 8 * i & 0xFF);
  };
  for (unsigned k = 0; k < 8; ++k) {
    for (unsigned m = 0; m < 128; ++m)
      put(kTileA, m, k, 0x3F800000 + (k << 23) + 0x1FFF);
    for (unsigned n = 0; n < 8; ++n)
      put(kTileB, n, k, 0x3F802000);
  }
  MmaInstruction mma = makeBF16(128, 8);
  mma.variant.kind = MmaKind::TF32;
  mma.descriptor = 8u << 24 | 1 << 17 | 2 << 10 | 2 << 7 | 1 << 4;
  ASSERT_TRUE(run(mma));
  EXPECT_EQ(cta.getFloat(3, 3), 255 * (1 + 0x1p-10f));
  expectClean();
}

// Integers: signed times unsigned, exact; beyond 32 bits they wrap or saturate.
TEST_F(MmaTest, Integers) {
  for (unsigned k = 0; k < 32; ++k) {
    uint32_t offset = k % 16 + k / 16 * 0x2000;
    for (unsigned row = 0; row < 128; ++row) {
      cta.setRaw(kTileA + offset + row % 8 * 16 + row / 8 * 128, 0x80);
      cta.setRaw(kTileB + offset + row % 8 * 16 + row / 8 * 128, 0xFF);
    }
  }
  MmaInstruction mma = makeBF16(128, 16);
  mma.variant.kind = MmaKind::I8;
  mma.descriptor = 8u << 24 | 2 << 17 | 1 << 7 | 2 << 4;
  ASSERT_TRUE(run(mma));
  EXPECT_EQ(int32_t(cta.tensor.get(5, 5)), -128 * 255 * 32);
  for (bool saturate : {false, true}) {
    for (unsigned lane = 0; lane < 128; ++lane)
      for (unsigned column = 0; column < 16; ++column)
        cta.tensor.set(lane, column, 0x80000000 + 44480);
    mma.accumulate = true;
    mma.descriptor = (mma.descriptor & ~8u) | (saturate ? 8 : 0);
    ASSERT_TRUE(run(mma));
    EXPECT_EQ(cta.tensor.get(5, 5),
              saturate ? 0x80000000 : 0x80000000 + 44480 - 1044480);
  }
  expectClean();
}

// Accumulating into what nobody wrote: the classic missing "first MMA".
TEST_F(MmaTest, UnwrittenAccumulator) {
  fillBF16(128, 8);
  MmaInstruction mma = makeBF16(128, 8);
  mma.accumulate = true;
  EXPECT_TRUE(run(mma));
  expectFirstFault(FaultKind::Uninitialised, "tcgen05.mma reads 1024 cells");
}

TEST_F(MmaTest, Refused) {
  fillBF16(128, 8);
  MmaInstruction mma = makeBF16(128, 8);
  mma.d = 508;
  EXPECT_FALSE(run(mma));
  expectFirstFault(FaultKind::TensorMemory, "within 128 lanes and 512 columns");
  mma = makeBF16(128, 8);
  mma.descriptor |= 1 << 2;
  EXPECT_FALSE(run(mma));
  expectFirstFault(FaultKind::Descriptor, "to be 0 in tcgen05.mma");
  mma = makeBF16(128, 16);
  mma.variant.isWeightStationary = true;
  mma.descriptor += (64 - 16) >> 3 << 17;
  EXPECT_FALSE(run(mma));
  expectFirstFault(FaultKind::Descriptor, "weight-stationary products are not");
  mma = makeBF16(128, 8);
  mma.scaleInputD = 16;
  EXPECT_FALSE(run(mma));
  expectFirstFault(FaultKind::Descriptor, "scale-input-d to be 0 to 15");
  mma = makeBF16(128, 16);
  mma.variant.ctaGroup = 2;
  EXPECT_FALSE(run(mma));
  expectFirstFault(FaultKind::Descriptor,
                   "expected 2 CTAs of the group, but got 1");
  mma = makeBF16(128, 8);
  mma.b |= uint64_t(3) << 61;
  EXPECT_FALSE(run(mma));
  expectFirstFault(FaultKind::Descriptor, "expected layout");
  mma = makeBF16(128, 8);
  mma.b |= uint64_t(1) << 61;
  EXPECT_FALSE(run(mma));
  expectFirstFault(FaultKind::Descriptor, "K-major layout of an operand");
  // Rows of B that nobody wrote, and a tile past the end.
  mma = makeBF16(128, 16);
  EXPECT_TRUE(run(mma));
  expectFirstFault(FaultKind::Uninitialised, "'tiles'");
  mma = makeBF16(128, 8);
  mma.b = (mma.b & ~uint64_t(0x3FFF)) | 131072 >> 4;
  EXPECT_FALSE(run(mma));
  expectFirstFault(FaultKind::OutOfBounds, "past the end of 'tiles'");
}

//===- MmaScaledTest.cpp - Block-scaled products of the tensor core -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaFixture.h"

using namespace blockscale::emulator;

namespace {
/// Where the tests put the accumulator and the scale factors.
constexpr uint32_t kScaleA = 256, kScaleB = 300;

struct MmaScaledTest : MmaFixture {
  MmaTestCta cta{0};

  /// E2M1 tiles of 256 values a row, the even ones in the low halves.
  void fillFp4(MmaTestCta &to, uint32_t tile, unsigned seed, unsigned firstRow,
               unsigned rows) {
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned byte = 0; byte < 128; ++byte)
        to.setByte(tile, row, byte, hash(seed, firstRow + row, byte));
  }
  static double fp4(unsigned seed, unsigned row, unsigned k) {
    return e2m1(hash(seed, row, k / 2) >> k % 2 * 4 & 15);
  }
  /// UE4M3 codes of all magnitudes but NaN: sums of a tile are exact in f64.
  static uint8_t scale(unsigned seed, unsigned row, unsigned block) {
    return hash(seed, row, block) % 127;
  }

  /// NVFP4 with blocks of 16; `step` counts MMAs of 64 values along K.
  MmaInstruction makeNvfp4(uint32_t descriptor, unsigned step) {
    MmaInstruction mma;
    mma.variant = {MmaKind::MXF4NVF4};
    mma.d = 0;
    mma.a = (kSwizzled | kTileA >> 4) + 2 * step;
    mma.b = (kSwizzled | kTileB >> 4) + 2 * step;
    mma.descriptor = descriptor;
    mma.accumulate = step > 0;
    mma.scaleA = kScaleA + 4 * step;
    mma.scaleB = kScaleB + 8 * step;
    mma.blockSize = 16;
    return mma;
  }

  void setScales(MmaTestCta &to, uint32_t address, unsigned seed,
                 unsigned firstRow, unsigned rows, unsigned step) {
    to.setScales(address, rows, [=](unsigned row, unsigned block) {
      return scale(seed, firstRow + row, 4 * step + block);
    });
  }

  static double nvfp4(unsigned m, unsigned n, unsigned depth) {
    double sum = 0;
    for (unsigned k = 0; k < depth; ++k)
      sum += fp4(1, m, k) * e4m3(scale(3, m, k / 16)) * fp4(2, n, k) *
             e4m3(scale(4, n, k / 16));
    return sum;
  }
};
} // namespace

// NVFP4, 128 x 256 x 128 in two steps: +2 in the descriptors, the next column
// groups of scales (4 for A, 8 for the 256 rows of B).
TEST_F(MmaScaledTest, Nvfp4) {
  fillFp4(cta, kTileA, 1, 0, 128);
  fillFp4(cta, kTileB, 2, 0, 256);
  double sums[2] = {nvfp4(77, 200, 64), nvfp4(77, 200, 128)};
  for (unsigned step = 0; step < 2; ++step) {
    setScales(cta, kScaleA + 4 * step, 3, 0, 128, step);
    setScales(cta, kScaleB + 8 * step, 4, 0, 256, step);
    // 0x08200480 with N = 256.
    ASSERT_TRUE(runMma(makeNvfp4(0x08400480, step), cta.get(), faults));
    EXPECT_EQ(cta.getFloat(77, 200),
              step == 0 ? float(sums[0])
                        : float(float(sums[0]) + (sums[1] - sums[0])));
  }
  expectClean();
}

// All of one step, with the constant of CUTLASS for 128 x 128.
TEST_F(MmaScaledTest, Nvfp4EveryElement) {
  fillFp4(cta, kTileA, 1, 0, 128);
  fillFp4(cta, kTileB, 2, 0, 128);
  setScales(cta, kScaleA, 3, 0, 128, 0);
  setScales(cta, kScaleB, 4, 0, 128, 0);
  ASSERT_TRUE(runMma(makeNvfp4(0x08200480, 0), cta.get(), faults));
  for (unsigned m = 0; m < 128; ++m)
    for (unsigned n = 0; n < 128; ++n)
      EXPECT_EQ(cta.getFloat(m, n), float(nvfp4(m, n, 64))) << m << ' ' << n;
  EXPECT_FALSE(cta.tensor.isWritten(0, 128));
  expectClean();
}

// Two CTAs, 256 x 256: each has half of A's rows and of B's, the scales of its
// rows of A and of all of B, and its half of D.
TEST_F(MmaScaledTest, Nvfp4Pair) {
  MmaTestCta odd{1};
  for (MmaTestCta *one : {&cta, &odd}) {
    unsigned first = 128 * one->rank;
    fillFp4(*one, kTileA, 1, first, 128);
    fillFp4(*one, kTileB, 2, first, 128);
    setScales(*one, kScaleA, 3, first, 128, 0);
    setScales(*one, kScaleB, 4, 0, 256, 0);
  }
  MmaInstruction mma = makeNvfp4(0x10400480, 0);
  mma.variant.ctaGroup = 2;
  ASSERT_TRUE(runMma(mma, {cta.get(), odd.get()}, faults));
  for (unsigned m = 0; m < 256; m += 5)
    for (unsigned n = 0; n < 256; n += 3)
      EXPECT_EQ((m < 128 ? cta : odd).getFloat(m % 128, n),
                float(nvfp4(m, n, 64)));
  expectClean();
}

// A product of a pair of CTAs with 128 rows in all: D's second half of N lies
// in the upper lanes, and so do the scales of these rows of B.
TEST_F(MmaScaledTest, Nvfp4PairOf64Rows) {
  MmaTestCta odd{1};
  for (MmaTestCta *one : {&cta, &odd}) {
    fillFp4(*one, kTileA, 1, 64 * one->rank, 64);
    fillFp4(*one, kTileB, 2, 128 * one->rank, 128);
    setScales(*one, kScaleA, 3, 64 * one->rank, 64, 0);
    for (unsigned n = 0; n < 256; ++n) {
      uint32_t word = 0;
      for (unsigned block = 0; block < 4; ++block)
        word |= uint32_t(scale(4, n, block)) << 8 * block;
      for (unsigned copy : {0, 32})
        one->tensor.set(n / 128 * 64 + copy + n % 32, kScaleB + n % 128 / 32,
                        word);
    }
  }
  MmaInstruction mma = makeNvfp4(0x08400480, 0);
  mma.variant.ctaGroup = 2;
  ASSERT_TRUE(runMma(mma, {cta.get(), odd.get()}, faults));
  for (unsigned m = 0; m < 128; m += 3)
    for (unsigned n = 0; n < 256; n += 5)
      EXPECT_EQ((m < 64 ? cta : odd).getFloat(m % 64 + n / 128 * 64, n % 128),
                float(nvfp4(m, n, 64)));
  expectClean();
}

// MXFP8: four steps of 32 values take the four bytes of one column group, by
// the scale factor ids in the descriptor.
TEST_F(MmaScaledTest, Mxfp8) {
  // Exponents from -2 to 1 and scales from 1/4 to 2: every sum is exact.
  auto code = [](unsigned seed, unsigned row, unsigned k) -> uint8_t {
    return (hash(seed, row, k) & 0x9F) + 0x28;
  };
  auto exponent = [](unsigned seed, unsigned row, unsigned block) -> uint8_t {
    return 125 + hash(seed, row, block) % 4;
  };
  for (unsigned row = 0; row < 128; ++row)
    for (unsigned k = 0; k < 128; ++k) {
      cta.setByte(kTileA, row, k, code(1, row, k));
      cta.setByte(kTileB, row, k, code(2, row, k));
    }
  using std::placeholders::_1;
  using std::placeholders::_2;
  cta.setScales(kScaleA, 128, std::bind(exponent, 3, _1, _2));
  cta.setScales(kScaleB, 128, std::bind(exponent, 4, _1, _2));
  uint32_t descriptors[] = {0x08a00000, 0x28a00010, 0x48a00020, 0x68a00030};
  for (unsigned step = 0; step < 4; ++step) {
    MmaInstruction mma = makeNvfp4(descriptors[step], step);
    mma.variant.kind = MmaKind::MXF8F6F4;
    // The addresses may name the ids as well.
    mma.scaleA = kScaleA | (step % 2 ? step << 30 : 0);
    mma.scaleB = kScaleB | (step % 2 ? 0 : step << 30);
    mma.blockSize = 32;
    ASSERT_TRUE(runMma(mma, cta.get(), faults));
  }
  for (unsigned m = 0; m < 128; m += 3)
    for (unsigned n = 0; n < 128; n += 5) {
      double sum = 0;
      for (unsigned k = 0; k < 128; ++k)
        sum += e4m3(code(1, m, k)) * ue8m0(exponent(3, m, k / 32)) *
               e4m3(code(2, n, k)) * ue8m0(exponent(4, n, k / 32));
      EXPECT_EQ(cta.getFloat(m, n), float(sum));
    }
  expectClean();
}

// An address of scales that names another id than the descriptor is refused.
TEST_F(MmaScaledTest, AddressNamesAnotherId) {
  for (bool isA : {true, false}) {
    MmaInstruction mma = makeNvfp4(/*ids 1=*/0x28a00010, 0);
    mma.variant.kind = MmaKind::MXF8F6F4;
    mma.scaleA = kScaleA | (isA ? 2u : 1u) << 30;
    mma.scaleB = kScaleB | (isA ? 1u : 3u) << 30;
    mma.blockSize = 32;
    faults.clear();
    EXPECT_FALSE(runMma(mma, cta.get(), faults));
    ASSERT_EQ(faults.size(), 1u);
    EXPECT_EQ(faults.front().what,
              isA ? "expected bits 30 and 31 of the address of scales of A to "
                    "be 0 or 1, their id in the instruction descriptor, but "
                    "got 2"
                  : "expected bits 30 and 31 of the address of scales of B to "
                    "be 0 or 1, their id in the instruction descriptor, but "
                    "got 3");
  }
  faults.clear();
}

// MXFP4: two scales an MMA; ids 0 and 2 share a column group.
TEST_F(MmaScaledTest, Mxfp4) {
  fillFp4(cta, kTileA, 1, 0, 128);
  fillFp4(cta, kTileB, 2, 0, 128);
  auto exponent = [](unsigned seed, unsigned row, unsigned block) -> uint8_t {
    return 120 + hash(seed, row, block) % 15;
  };
  cta.setScales(kScaleA, 128, [&](unsigned row, unsigned block) {
    return exponent(3, row, block);
  });
  cta.setScales(kScaleB, 128, [&](unsigned row, unsigned block) {
    return exponent(4, row, block);
  });
  for (auto [kind, step] : {std::pair(MmaKind::MXF4, 0u),
                            {MmaKind::MXF4, 1u},
                            {MmaKind::MXF4NVF4, 0u},
                            {MmaKind::MXF4NVF4, 1u}}) {
    MmaInstruction mma = makeNvfp4(step == 0 ? 0x08a00480 : 0x48a004a0, step);
    mma.variant.kind = kind;
    mma.accumulate = false;
    mma.scaleA = kScaleA;
    mma.scaleB = kScaleB;
    mma.blockSize = 32;
    ASSERT_TRUE(runMma(mma, cta.get(), faults));
    double sum = 0;
    for (unsigned k = 64 * step; k < 64 * step + 64; ++k)
      sum += fp4(1, 99, k) * ue8m0(exponent(3, 99, k / 32)) * fp4(2, 31, k) *
             ue8m0(exponent(4, 31, k / 32));
    EXPECT_EQ(cta.getFloat(99, 31), float(sum));
  }
  expectClean();
}

// E4M3 times E2M1 in one product: 16 values of 4 bits in the first 8 of 16
// bytes; the gaps are not read.
TEST_F(MmaScaledTest, MixedWithPaddedFp4) {
  for (unsigned row = 0; row < 256; ++row)
    for (unsigned k = 0; k < 32; ++k) {
      if (row < 128)
        cta.setByte(kTileA, row, k, 0x30 + hash(1, row, k) % 16);
      if (k % 2 == 0)
        cta.setByte(kTileB, row, k / 16 * 16 + k % 16 / 2, hash(2, row, k));
    }
  cta.setScales(kScaleA, 128, [](unsigned, unsigned) { return 128; });
  cta.setScales(kScaleB, 256, [](unsigned, unsigned) { return 126; });
  MmaInstruction mma = makeNvfp4(0x08c01400, 0);
  mma.variant.kind = MmaKind::MXF8F6F4;
  mma.blockSize = 32;
  ASSERT_TRUE(runMma(mma, cta.get(), faults));
  for (unsigned n = 0; n < 256; n += 7) {
    double sum = 0;
    for (unsigned k = 0; k < 32; ++k)
      sum += e4m3(0x30 + hash(1, 50, k) % 16) *
             e2m1(hash(2, n, k & ~1u) >> k % 2 * 4 & 15);
    EXPECT_EQ(cta.getFloat(50, n), float(sum));
  }
  expectClean();
}

// 6-bit values: 16 in the first 12 of 16 bytes, each one's bits in order.
TEST_F(MmaScaledTest, PaddedFp6) {
  // Values of one code each: E2M3 0x0A is 1.25, E3M2 0x2D is -1.25 * 2^0.
  auto fill = [&](uint32_t tile, uint64_t code) {
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned byte = 0; byte < 32; ++byte) {
        unsigned bits = 0;
        for (unsigned bit = 0; bit < 8; ++bit)
          bits |= (code >> (byte % 16 * 8 + bit) % 6 & 1) << bit;
        if (byte % 16 < 12)
          cta.setByte(tile, row, byte, bits);
      }
  };
  fill(kTileA, 0x0A);
  fill(kTileB, 0x2D);
  cta.setScales(kScaleA, 128, [](unsigned, unsigned) { return 127; });
  cta.setScales(kScaleB, 128, [](unsigned, unsigned) { return 127; });
  MmaInstruction mma = makeNvfp4(0x08a00000 | 3 << 7 | 4 << 10, 0);
  mma.variant.kind = MmaKind::MXF8F6F4;
  mma.blockSize = 32;
  ASSERT_TRUE(runMma(mma, cta.get(), faults));
  EXPECT_EQ(cta.getFloat(64, 64), -32 * 1.25f * 1.25f);
  expectClean();
}

// A NaN among the scales of a padded row poisons D, and is told; so is a sign.
TEST_F(MmaScaledTest, BadScales) {
  fillFp4(cta, kTileA, 1, 0, 128);
  fillFp4(cta, kTileB, 2, 0, 128);
  for (uint8_t bad : {0x7F, 0xFF, 0x81}) {
    setScales(cta, kScaleA, 3, 0, 128, 0);
    cta.setScales(kScaleB, 128, [&](unsigned row, unsigned) -> uint8_t {
      return row >= 120 ? bad : 0x38;
    });
    EXPECT_TRUE(runMma(makeNvfp4(0x08200480, 0), cta.get(), faults));
    EXPECT_EQ(faults.size(), 1u);
    EXPECT_EQ(std::isnan(cta.getFloat(0, 120)), bad != 0x81);
    EXPECT_FALSE(std::isnan(cta.getFloat(0, 119)));
    expectFirstFault(bad & 0x80 ? FaultKind::TensorMemory : FaultKind::NanScale,
                     "that of row 120 is");
  }
  cta.setScales(kScaleA, 128, [](unsigned, unsigned) { return 0xFF; });
  setScales(cta, kScaleB, 4, 0, 128, 0);
  MmaInstruction mma = makeNvfp4(0x08a00480, 0);
  mma.blockSize = 32;
  EXPECT_TRUE(runMma(mma, cta.get(), faults));
  expectFirstFault(FaultKind::NanScale,
                   "that are numbers, but that of row 0 is");
}

// Bytes of a column that the MMA does not use may hold anything.
TEST_F(MmaScaledTest, UnusedScaleBytes) {
  fillFp4(cta, kTileA, 1, 0, 128);
  fillFp4(cta, kTileB, 2, 0, 128);
  auto scales = [](unsigned, unsigned block) { return block < 2 ? 127 : 0xFF; };
  cta.setScales(kScaleA, 128, scales);
  cta.setScales(kScaleB, 128, scales);
  cta.tensor.set(64, kScaleA, 0x12347F7F);
  MmaInstruction mma = makeNvfp4(0x08a00480, 0);
  mma.variant.kind = MmaKind::MXF4;
  mma.blockSize = 32;
  EXPECT_TRUE(runMma(mma, cta.get(), faults));
  expectClean();
  // With id 2 the bytes that differ in this lane are the ones in use.
  mma.descriptor = 0x48a00480;
  cta.setScales(kScaleA, 128, [](unsigned, unsigned) { return 127; });
  EXPECT_TRUE(runMma(mma, cta.get(), faults));
  expectClean();
  cta.tensor.set(64, kScaleA, 0x12347F7F);
  EXPECT_TRUE(runMma(mma, cta.get(), faults));
  expectFirstFault(FaultKind::TensorMemory,
                   "lanes 0 and 64 of column 256 differ");
}

// Scales in one quarter of the lanes only, or not the same in all.
TEST_F(MmaScaledTest, ScalesOfAllQuarters) {
  fillFp4(cta, kTileA, 1, 0, 128);
  fillFp4(cta, kTileB, 2, 0, 128);
  setScales(cta, kScaleB, 4, 0, 128, 0);
  for (unsigned row = 0; row < 128; ++row)
    cta.tensor.set(row % 32, kScaleA + row / 32, 0x38383838);
  EXPECT_TRUE(runMma(makeNvfp4(0x08200480, 0), cta.get(), faults));
  expectFirstFault(
      FaultKind::Uninitialised,
      "reads 384 cells of tensor memory that were never written, the "
      "first at lane 32, column 256");
  setScales(cta, kScaleA, 3, 0, 128, 0);
  cta.tensor.set(3 + 96, kScaleA + 1, 0x01010101);
  EXPECT_TRUE(runMma(makeNvfp4(0x08200480, 0), cta.get(), faults));
  expectFirstFault(FaultKind::TensorMemory,
                   "lanes 3 and 99 of column 257 differ");
}

// Blocks that the kind does not have, and scales past the allocation.
TEST_F(MmaScaledTest, Refused) {
  fillFp4(cta, kTileA, 1, 0, 128);
  fillFp4(cta, kTileB, 2, 0, 128);
  MmaInstruction mma = makeNvfp4(0x08200480, 0);
  mma.blockSize = 32;
  EXPECT_FALSE(runMma(mma, cta.get(), faults));
  expectFirstFault(FaultKind::Descriptor, "to be UE8M0");
  mma = makeNvfp4(0x08200480, 0);
  mma.scaleA = 510;
  EXPECT_FALSE(runMma(mma, cta.get(), faults));
  expectFirstFault(FaultKind::TensorMemory, "within 128 lanes and 512 columns");
}

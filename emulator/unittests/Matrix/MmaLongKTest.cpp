//===- MmaLongKTest.cpp - Products of the tensor core with K = 96 ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaFixture.h"

#include "Emulator/Matrix/MatrixFootprint.h"

using namespace blockscale::emulator;

namespace {
/// 768 values of K, as sm_103a takes them: three matrices of 128 bytes a row,
/// which eight products of 48 bytes a row read one behind the other.
struct MmaLongKTest : MmaFixture {
  static constexpr unsigned kMatrices = 3, kSteps = 8, kStepBytes = 48;
  /// Where the scale factors are; the accumulator is at column 0.
  static constexpr uint32_t kScaleA = 256, kScaleB = 384;
  MmaTestCta cta{0};
  unsigned rowsOfB = 128;

  uint32_t getA(unsigned matrix) const { return 0x4000 * matrix; }
  uint32_t getB(unsigned matrix) const {
    return 0x4000 * kMatrices + 128 * rowsOfB * matrix;
  }

  void fill(uint32_t tile, unsigned seed, unsigned rows, unsigned matrix) {
    for (unsigned row = 0; row < rows; ++row)
      for (unsigned byte = 0; byte < 128; ++byte)
        cta.setByte(tile, row, byte, hash(seed, row, 128 * matrix + byte));
  }
  static double fp4(unsigned seed, unsigned row, unsigned k) {
    return e2m1(hash(seed, row, k / 2) >> k % 2 * 4 & 15);
  }

  void fillAll(unsigned matrices = kMatrices) {
    for (unsigned i = 0; i < matrices; ++i) {
      fill(getA(i), 1, 128, i);
      fill(getB(i), 2, rowsOfB, i);
    }
  }

  /// A word of four scale factors after another, four columns for each 128
  /// rows.
  void setScales(uint32_t address, unsigned rows, unsigned words,
                 const Codes &scale) {
    for (unsigned word = 0; word < words; ++word)
      cta.setScales(address + (rows + 127) / 128 * 4 * word, rows,
                    [=](unsigned row, unsigned block) {
                      return scale(row, 4 * word + block);
                    });
  }

  /// The descriptor of 48 bytes of each row, from byte `first` of all on.
  static uint64_t getDescriptor(uint32_t matrix, uint32_t next,
                                unsigned first) {
    constexpr uint64_t kSwizzledAddress = 0x4010404000000000;
    uint64_t start = matrix + first % 128;
    return kSwizzledAddress | uint64_t(next >> 4) << 16 | start >> 4;
  }

  /// Step `step` with blocks of `block` values.
  MmaInstruction make(MmaKind kind, unsigned step, unsigned block) {
    unsigned first = kStepBytes * step, matrix = first / 128;
    unsigned last = (first + kStepBytes - 1) / 128;
    unsigned scale = 96 / block * step, id = scale % 4, word = scale / 4;
    MmaInstruction mma;
    mma.variant = {kind};
    mma.variant.mayHaveLongK = true;
    mma.d = 0;
    mma.a = getDescriptor(getA(matrix), getA(last), first);
    mma.b = getDescriptor(getB(matrix), getB(last), first);
    mma.descriptor = 1u << 31 | 8u << 24 | rowsOfB >> 3 << 17 | 1 << 10 |
                     1 << 7 | id << 29 | id << 4;
    if (block == 32)
      mma.descriptor |= 1 << 23;
    mma.accumulate = step > 0;
    mma.scaleA = kScaleA + 4 * word;
    mma.scaleB = kScaleB + (rowsOfB + 127) / 128 * 4 * word;
    mma.blockSize = block;
    return mma;
  }

  MmaInstruction makeNvfp4(unsigned step) {
    return make(MmaKind::MXF4NVF4, step, 16);
  }

  bool run(const MmaInstruction &mma) { return runMma(mma, cta.get(), faults); }
};
} // namespace

static uint8_t hashScale(unsigned seed, unsigned row, unsigned block) {
  return (seed * 31 + row * 7 + block * 13) % 64 + 32;
}

// NVFP4: six scale factors each, which begin at byte 0 or 2 of a word. Products
// 2 and 5 read two matrices, and every one two words.
TEST_F(MmaLongKTest, Nvfp4) {
  fillAll();
  setScales(kScaleA, 128, 12, [](unsigned row, unsigned block) {
    return hashScale(3, row, block);
  });
  setScales(kScaleB, 128, 12, [](unsigned row, unsigned block) {
    return hashScale(4, row, block);
  });
  constexpr std::pair<unsigned, unsigned> kPlaces[] = {
      {0, 0}, {7, 9}, {77, 100}, {127, 127}};
  float sums[4] = {};
  for (unsigned step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(run(makeNvfp4(step)));
    for (auto [sum, place] : llvm::zip(sums, kPlaces)) {
      auto [m, n] = place;
      double added = 0;
      for (unsigned k = 96 * step; k < 96 * (step + 1); ++k)
        added += fp4(1, m, k) * e4m3(hashScale(3, m, k / 16)) * fp4(2, n, k) *
                 e4m3(hashScale(4, n, k / 16));
      sum = float(added + sum);
      EXPECT_EQ(cta.getFloat(m, n), sum) << step << ' ' << m << ' ' << n;
    }
  }
  expectClean();
}

// The words of 256 rows of B lie eight columns apart.
TEST_F(MmaLongKTest, WordsOf256Rows) {
  rowsOfB = 256;
  fillAll(/*matrices=*/2);
  setScales(kScaleA, 128, 3, [](unsigned row, unsigned block) {
    return hashScale(3, row, block);
  });
  setScales(kScaleB, 256, 3, [](unsigned row, unsigned block) {
    return hashScale(4, row, block);
  });
  MmaInstruction mma = makeNvfp4(1);
  mma.accumulate = false;
  ASSERT_TRUE(run(mma));
  for (unsigned m = 0; m < 128; m += 9)
    for (unsigned n = 0; n < 256; n += 7) {
      double sum = 0;
      for (unsigned k = 96; k < 192; ++k)
        sum += fp4(1, m, k) * e4m3(hashScale(3, m, k / 16)) * fp4(2, n, k) *
               e4m3(hashScale(4, n, k / 16));
      EXPECT_EQ(cta.getFloat(m, n), float(sum)) << m << ' ' << n;
    }
  expectClean();
}

// MXFP4: three scale factors each, which begin at any byte of a word.
TEST_F(MmaLongKTest, Mxfp4) {
  fillAll();
  auto scale = [](unsigned seed, unsigned row, unsigned block) {
    return uint8_t(120 + (seed + row * 5 + block * 3) % 11);
  };
  setScales(kScaleA, 128, 6,
            [=](unsigned row, unsigned block) { return scale(3, row, block); });
  setScales(kScaleB, 128, 6,
            [=](unsigned row, unsigned block) { return scale(4, row, block); });
  float sum = 0;
  for (unsigned step = 0; step < kSteps; ++step) {
    ASSERT_TRUE(run(make(MmaKind::MXF4, step, 32)));
    double added = 0;
    for (unsigned k = 96 * step; k < 96 * (step + 1); ++k)
      added += fp4(1, 100, k) * ue8m0(scale(3, 100, k / 32)) * fp4(2, 65, k) *
               ue8m0(scale(4, 65, k / 32));
    sum = float(added + sum);
    EXPECT_EQ(cta.getFloat(100, 65), sum) << step;
  }
  expectClean();
}

// What a product touches: the last 32 bytes of rows of one matrix and the first
// 16 of the next, and the words of its scale factors.
TEST_F(MmaLongKTest, Footprint) {
  AsyncWork work = getMmaFootprint(makeNvfp4(2), {0});
  auto reads = [&](uint32_t offset) {
    return llvm::any_of(work.reads, [&](const SharedRange &range) {
      uint64_t address = getSharedBase(0) + offset;
      return address >= range.address && address < range.address + range.size;
    });
  };
  // Row 0 is not moved by the swizzle.
  for (uint32_t first : {getA(0), getB(0)}) {
    EXPECT_FALSE(reads(first + 95));
    EXPECT_TRUE(reads(first + 96));
    EXPECT_TRUE(reads(first + 127));
  }
  for (uint32_t next : {getA(1), getB(1)}) {
    EXPECT_TRUE(reads(next));
    EXPECT_TRUE(reads(next + 15));
    EXPECT_FALSE(reads(next + 16));
  }
  auto readsCell = [&](unsigned column) {
    return llvm::any_of(work.cellReads, [&](const CellRange &range) {
      return column >= range.column && column < range.column + range.columns;
    });
  };
  // Scale factors 12 to 17 are in words 3 and 4.
  for (uint32_t scales : {kScaleA, kScaleB}) {
    EXPECT_FALSE(readsCell(scales + 11));
    EXPECT_TRUE(readsCell(scales + 12));
    EXPECT_TRUE(readsCell(scales + 19));
    EXPECT_FALSE(readsCell(scales + 20));
  }
}

TEST_F(MmaLongKTest, Refused) {
  fillAll();
  auto one = [](unsigned, unsigned) { return uint8_t(0x38); };
  setScales(kScaleA, 128, 12, one);
  setScales(kScaleB, 128, 12, one);
  constexpr uint64_t kAddressBit = uint64_t(1) << 52;

  MmaInstruction mma = makeNvfp4(2);
  mma.a &= ~kAddressBit;
  EXPECT_FALSE(run(mma));
  expectFault(FaultKind::Descriptor, "takes 48 from byte 96 on");
  // Within 128 bytes nothing comes next.
  mma = makeNvfp4(1);
  mma.a &= ~kAddressBit;
  mma.accumulate = false;
  EXPECT_TRUE(run(mma));
  expectClean();

  mma.b = (mma.b & ~(uint64_t(7) << 61)) | uint64_t(4) << 61;
  EXPECT_FALSE(run(mma));
  expectFault(FaultKind::Descriptor, "the swizzle of 128 bytes");

  mma = makeNvfp4(0);
  mma.descriptor |= 1u << 29;
  EXPECT_FALSE(run(mma));
  expectFault(FaultKind::Descriptor, "to be 0 or 2, but got 1 for A");

  mma = makeNvfp4(0);
  mma.variant.mayHaveLongK = false;
  EXPECT_FALSE(run(mma));
  expectFault(FaultKind::Descriptor, "makes it 96");
  // K = 64 has no leading address on sm_103a either.
  mma = makeNvfp4(0);
  mma.descriptor &= ~(1u << 31);
  EXPECT_FALSE(run(mma));
  expectFault(FaultKind::Descriptor, "expected a leading offset");
}

//===- SparseMmaTest.cpp - Sparse products of the tensor core -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "MmaFixture.h"

#include "Emulator/Matrix/MatrixFootprint.h"

#include <limits>

using namespace blockscale::emulator;

namespace {
/// Where the tests put metadata and scale factors.
constexpr uint32_t kMetadata = 400, kScaleA = 256, kScaleB = 300;

/// The parts of a chunk that are stored, by the codes of PTX ISA.
struct Parts {
  unsigned code, first, second;
};
constexpr Parts kParts[] = {{0b0100, 0, 1}, {0b1000, 0, 2}, {0b1100, 0, 3},
                            {0b1001, 1, 2}, {0b1101, 1, 3}, {0b1110, 2, 3},
                            {0b0110, 2, 1}};

struct SparseMmaTest : MmaFixture {
  MmaTestCta cta{0};

  /// The parts of chunk `chunk` of a row.
  static const Parts &parts(unsigned row, unsigned chunk) {
    return kParts[hash(7, row, chunk) % std::size(kParts)];
  }

  /// The place in K of stored value `i` of a row, in chunks of `chunk` values.
  static unsigned place(unsigned row, unsigned i, unsigned chunk) {
    unsigned stored = chunk / 2, index = i / stored, j = i % stored;
    const Parts &of = parts(row, index);
    unsigned part = 2 * j < stored ? of.first : of.second;
    return index * chunk + part * chunk / 4 + (chunk == 8 ? j % 2 : 0);
  }

  /// Metadata of 64 bits a row, in two columns of its lane.
  static void setMetadata(MmaTestCta &to, unsigned firstRow) {
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned column = 0; column < 2; ++column) {
        uint32_t word = 0;
        for (unsigned i = 0; i < 8; ++i)
          word |= parts(firstRow + row, 8 * column + i).code << 4 * i;
        to.tensor.set(row, kMetadata + column, word);
      }
  }

  /// Metadata of 32 bits a row in one column: halves of words, which two lanes
  /// have of the rows r and r + 8 of each sixteen.
  void
  setPairedMetadata(uint32_t column,
                    llvm::function_ref<unsigned(unsigned, unsigned)> code) {
    for (unsigned lane = 0; lane < 128; ++lane) {
      uint32_t word = 0;
      for (unsigned half = 0; half < 2; ++half)
        for (unsigned i = 0; i < 4; ++i)
          word |=
              code(lane / 16 * 16 + lane % 8 + 8 * half, lane / 8 % 2 * 4 + i)
              << (16 * half + 4 * i);
      cta.tensor.set(lane, column, word);
    }
  }

  MmaInstruction make(MmaKind kind, uint32_t descriptor) {
    MmaInstruction mma;
    mma.variant = {kind};
    mma.variant.isSparse = true;
    mma.d = 0;
    mma.a = kSwizzled | kTileA >> 4;
    mma.b = kSwizzled | kTileB >> 4;
    mma.metadata = kMetadata;
    mma.descriptor = descriptor | 1 << 2;
    mma.accumulate = false;
    return mma;
  }

  /// Small integers: every sum is exact.
  static int small(unsigned seed, unsigned row, unsigned k) {
    return int(hash(seed, row, k) % 9) - 4;
  }
  static void setWord(MmaTestCta &to, uint32_t tile, unsigned row,
                      unsigned byte, unsigned bytes, uint32_t bits) {
    for (unsigned i = 0; i < bytes; ++i)
      to.setByte(tile, row, byte + i, uint8_t(bits >> 8 * i));
  }
  static uint32_t bitsOf(float value) {
    uint32_t bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
  }

  /// kind::f16 in bf16, 128 x 64 x 32.
  MmaInstruction makeBF16(unsigned selector) {
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned i = 0; i < 16; ++i)
        setWord(cta, kTileA, row, 2 * i, 2,
                bitsOf(float(small(1, row, i))) >> 16);
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned k = 0; k < 32; ++k)
        setWord(cta, kTileB, row, 2 * k, 2,
                bitsOf(float(small(2, row, k))) >> 16);
    setPairedMetadata(kMetadata + selector, [](unsigned row, unsigned chunk) {
      return parts(row, chunk).code;
    });
    return make(MmaKind::F16, 128 >> 4 << 24 | 64 >> 3 << 17 | 1 << 10 |
                                  1 << 7 | 1 << 4 | selector);
  }
};
} // namespace

// Two of four values of 16 bits, whose metadata are in the column that the
// selector names; the other column is not read.
TEST_F(SparseMmaTest, Half) {
  for (unsigned selector : {1, 0}) {
    ASSERT_TRUE(runMma(makeBF16(selector), cta.get(), faults));
    for (unsigned m = 0; m < 128; ++m)
      for (unsigned n = 0; n < 64; ++n) {
        double sum = 0;
        for (unsigned i = 0; i < 16; ++i)
          sum += small(1, m, i) * small(2, n, place(m, i, 4));
        EXPECT_EQ(cta.getFloat(m, n), sum) << m << ' ' << n;
      }
    expectClean();
  }
}

// One of two values of tf32.
TEST_F(SparseMmaTest, TF32) {
  for (unsigned row = 0; row < 128; ++row)
    for (unsigned i = 0; i < 8; ++i)
      setWord(cta, kTileA, row, 4 * i, 4, bitsOf(float(small(1, row, i))));
  for (unsigned row = 0; row < 32; ++row)
    for (unsigned k = 0; k < 16; ++k)
      setWord(cta, kTileB, row, 4 * k, 4, bitsOf(float(small(2, row, k))));
  auto isSecond = [](unsigned row, unsigned i) { return hash(7, row, i) & 1; };
  setPairedMetadata(kMetadata, [&](unsigned row, unsigned i) {
    return isSecond(row, i) ? 0b1110 : 0b0100;
  });
  MmaInstruction mma = make(MmaKind::TF32, 128 >> 4 << 24 | 32 >> 3 << 17 |
                                               2 << 10 | 2 << 7 | 1 << 4);
  ASSERT_TRUE(runMma(mma, cta.get(), faults));
  for (unsigned m = 0; m < 128; ++m)
    for (unsigned n = 0; n < 32; ++n) {
      double sum = 0;
      for (unsigned i = 0; i < 8; ++i)
        sum += small(1, m, i) * small(2, n, 2 * i + isSecond(m, i));
      EXPECT_EQ(cta.getFloat(m, n), sum) << m << ' ' << n;
    }
  expectClean();
}

// Bytes of a pair of CTAs with 256 x 128 x 64: each has metadata of its rows. B
// takes 64 bytes a row.
TEST_F(SparseMmaTest, BytesOfPair) {
  MmaTestCta odd{1};
  for (MmaTestCta *one : {&cta, &odd}) {
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned i = 0; i < 32; ++i)
        one->setByte(kTileA, row, i, small(1, 128 * one->rank + row, i));
    for (unsigned row = 0; row < 64; ++row)
      for (unsigned k = 0; k < 64; ++k)
        one->setByte(kTileB, row, k, small(2, 64 * one->rank + row, k));
    setMetadata(*one, 128 * one->rank);
  }
  MmaInstruction mma = make(MmaKind::I8, 256 >> 4 << 24 | 128 >> 3 << 17 |
                                             1 << 10 | 1 << 7 | 2 << 4);
  mma.variant.ctaGroup = 2;
  ASSERT_TRUE(runMma(mma, {cta.get(), odd.get()}, faults));
  for (unsigned m = 0; m < 256; m += 3)
    for (unsigned n = 0; n < 128; ++n) {
      int sum = 0;
      for (unsigned i = 0; i < 32; ++i)
        sum += small(1, m, i) * small(2, n, place(m, i, 4));
      EXPECT_EQ(int(((m < 128 ? cta : odd).tensor.get(m % 128, n))), sum);
    }
  expectClean();
}

// Pairs of packed values, and scales of blocks of 32 values of K.
TEST_F(SparseMmaTest, Nvfp4) {
  auto fp4 = [](unsigned seed, unsigned row, unsigned k) {
    return e2m1(hash(seed, row, k / 2) >> k % 2 * 4 & 15);
  };
  auto scale = [](unsigned seed, unsigned row, unsigned block) -> uint8_t {
    return hash(seed, row, block) % 127;
  };
  for (unsigned row = 0; row < 128; ++row)
    for (unsigned byte = 0; byte < 32; ++byte)
      cta.setByte(kTileA, row, byte, hash(1, row, byte));
  for (unsigned row = 0; row < 64; ++row)
    for (unsigned byte = 0; byte < 64; ++byte)
      cta.setByte(kTileB, row, byte, hash(2, row, byte));
  setMetadata(cta, 0);
  for (auto [address, seed, rows] :
       {std::tuple(kScaleA, 3u, 128u), std::tuple(kScaleB, 4u, 64u)})
    cta.setScales(address, rows,
                  [&, seed = seed](unsigned row, unsigned block) {
                    return scale(seed, row, block);
                  });
  MmaInstruction mma = make(MmaKind::MXF4NVF4,
                            128 >> 7 << 27 | 64 >> 3 << 17 | 1 << 10 | 1 << 7);
  mma.scaleA = kScaleA;
  mma.scaleB = kScaleB;
  mma.blockSize = 16;
  ASSERT_TRUE(runMma(mma, cta.get(), faults));
  for (unsigned m = 0; m < 128; ++m)
    for (unsigned n = 0; n < 64; ++n) {
      double sum = 0;
      for (unsigned i = 0; i < 64; ++i) {
        unsigned k = place(m, i, 8);
        sum += fp4(1, m, i) * e4m3(scale(3, m, k / 32)) * fp4(2, n, k) *
               e4m3(scale(4, n, k / 32));
      }
      EXPECT_EQ(cta.getFloat(m, n), float(sum)) << m << ' ' << n;
    }
  expectClean();
}

// What A has no value for is left out, NaN of B too.
TEST_F(SparseMmaTest, NaNThatIsLeftOut) {
  MmaInstruction mma = makeBF16(0);
  setPairedMetadata(kMetadata, [](unsigned, unsigned) { return 0b1001; });
  for (unsigned row = 0; row < 64; ++row)
    setWord(cta, kTileB, row, 0, 2, 0x7FC0);
  ASSERT_TRUE(runMma(mma, cta.get(), faults));
  for (unsigned n = 0; n < 64; ++n)
    EXPECT_FALSE(std::isnan(cta.getFloat(5, n)));
  expectClean();
}

// Metadata that mean nothing matter where a value goes by them alone.
TEST_F(SparseMmaTest, BadMetadata) {
  for (unsigned code : {0b0000, 0b0001, 0b0101, 0b1011}) {
    MmaInstruction mma = makeBF16(0);
    setPairedMetadata(kMetadata, [&](unsigned row, unsigned chunk) {
      return row == 77 && chunk == 5 ? code : parts(row, chunk).code;
    });
    EXPECT_TRUE(runMma(mma, cta.get(), faults));
    expectFault(
        FaultKind::TensorMemory,
        "expected sparsity metadata of 4 values to be 0100, 0110, 1000, "
        "1001, 1100, 1101 or 1110, but those of row 77 from K = 20 on "
        "are ");
    for (unsigned i : {10, 11})
      setWord(cta, kTileA, 77, 2 * i, 2, 0);
    EXPECT_TRUE(runMma(mma, cta.get(), faults));
    expectClean();
  }
}

// The bit of the descriptor is that of the instruction; selectors and rows that
// are not there.
TEST_F(SparseMmaTest, Refused) {
  MmaInstruction mma = makeBF16(0);
  mma.descriptor |= 2;
  EXPECT_FALSE(runMma(mma, cta.get(), faults));
  expectFault(FaultKind::TensorMemory,
              "expected the sparsity selector of kind::f16 to be 0 or 1, but "
              "got 2");
  mma.descriptor &= ~uint32_t(2 | 4);
  EXPECT_FALSE(runMma(mma, cta.get(), faults));
  expectFault(FaultKind::Descriptor, "to be 1 in tcgen05.mma.sp");
  mma.descriptor |= 4;
  mma.variant.isSparse = false;
  EXPECT_FALSE(runMma(mma, cta.get(), faults));
  expectFault(FaultKind::Descriptor, "to be 0 in tcgen05.mma");
  mma.variant.isSparse = true;
  mma.descriptor -= 64 >> 4 << 24;
  EXPECT_FALSE(runMma(mma, cta.get(), faults));
  expectFault(FaultKind::TensorMemory,
              "sparse products are modelled for 128 rows of A a CTA, but got "
              "64");
}

// What is read: 32 bytes of each row of A, 64 of B's, and the columns of the
// metadata.
TEST_F(SparseMmaTest, Footprint) {
  auto count = [](llvm::ArrayRef<SharedRange> ranges) {
    uint64_t bytes = 0;
    for (const SharedRange &range : ranges)
      bytes += range.size;
    return bytes;
  };
  MmaInstruction mma = makeBF16(1);
  AsyncWork work = getMmaFootprint(mma, {0});
  EXPECT_EQ(count(work.reads), 128u * 32 + 64 * 64);
  ASSERT_EQ(work.cellReads.size(), 1u);
  EXPECT_EQ(work.cellReads[0].column, kMetadata + 1);
  EXPECT_EQ(work.cellReads[0].columns, 1u);
}

//===- HadamardTest.cpp - The transform and its quantization --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/Hadamard.h"

#include "Expected.h"
#include "Matrix.h"

using namespace blockscale::numerics;

namespace {

/// x^T, its rows transformed in groups of 16.
Matrix transformTransposed(const Matrix &x, uint16_t signMask) {
  Matrix result = x.transposed();
  for (size_t i = 0; i < result.values.size(); i += kHadamardSize) {
    uint16_t codes[kHadamardSize];
    for (int j = 0; j < kHadamardSize; ++j)
      codes[j] = encodeBF16(result.values[i + j]);
    transformHadamardBF16(codes, signMask);
    for (int j = 0; j < kHadamardSize; ++j)
      result.values[i + j] = decodeBF16(codes[j]);
  }
  return result;
}

/// The parameter is the name of the case without "rht__".
class HadamardCases : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    archive = std::string("rht__") + GetParam();
    x = readInput(archive);
    ASSERT_FALSE(x.values.empty());
  }

  void expectQuantized(const std::string &prefix, const Matrix &matrix,
                       const std::string &amax) {
    EXPECT_EQ(toBits(matrix.amax()),
              readExpectedAs<uint32_t>(archive, "out_" + amax).at(0));
    QuantizedMatrix quantized = quantizeMatrix(
        Recipe::Te, ElementFormat::E2M1,
        {getGlobalFactors(Recipe::Te, GlobalScale::fromAmax(matrix.amax()))},
        matrix, {1, 16});
    expectCodes(archive, "out_" + prefix + "qdata", quantized);
    expectScales(archive, "out_" + prefix + "scale", ScaleFormat::E4M3,
                 quantized.scales);
    if (hasExpected(archive, "out_" + prefix + "scale_blocked"))
      expectScales(
          archive, "out_" + prefix + "scale_blocked", ScaleFormat::E4M3,
          swizzle(quantized.scales, quantized.scaleRows, quantized.scaleCols));
  }

  std::string archive;
  Matrix x;
};

TEST_P(HadamardCases, Transform) {
  Matrix transformed = transformTransposed(x, kHadamardSignMask);
  auto want = readExpectedAs<uint16_t>(archive, "out_rht_t_bf16");
  ASSERT_EQ(transformed.values.size(), want.size());
  for (size_t i = 0; i < want.size(); ++i)
    ASSERT_EQ(encodeBF16(transformed.values[i]), want[i]) << i;
}

// C10, C11: the plain rows have the amax of x, the transformed columns that of
// the rounded transform.
TEST_P(HadamardCases, Quantized) {
  expectQuantized("", x, "amax_row");
  expectQuantized("t_", transformTransposed(x, kHadamardSignMask), "amax_col");
  expectQuantized("nosign_t_", transformTransposed(x, 0), "nosign_amax_col");
}

// Unit vectors give the rows of diag(sign) * H / 4.
TEST_P(HadamardCases, Matrix) {
  auto want = readExpectedAs<uint32_t>(archive, "out_hadamard_signed_f32");
  auto wantBF16 = readExpectedAs<uint16_t>(archive, "out_ao_rht_matrix_bf16");
  for (int i = 0; i < kHadamardSize; ++i) {
    float row[kHadamardSize] = {};
    row[i] = 1.0f;
    transformHadamard(row, kHadamardSignMask);
    for (int j = 0; j < kHadamardSize; ++j) {
      EXPECT_EQ(toBits(row[j]), want[i * kHadamardSize + j]);
      EXPECT_EQ(encodeBF16(row[j]), wantBF16[i * kHadamardSize + j]);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, HadamardCases,
                         testing::Values("normal_64x128", "outlier_128x64",
                                         "special0_32x48"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

// Zeros of any signs give zeros without one, as sums of products of them do.
TEST(Hadamard, ZerosHaveNoSign) {
  for (uint16_t mask : {uint16_t(0), kHadamardSignMask, uint16_t(0xFFFF)})
    for (uint32_t signs = 0; signs <= 0xFFFF; ++signs) {
      float x[kHadamardSize];
      for (int i = 0; i < kHadamardSize; ++i)
        x[i] = signs >> i & 1 ? -0.0f : 0.0f;
      transformHadamard(x, mask);
      for (float each : x)
        ASSERT_EQ(toBits(each), 0u) << mask << " " << signs;
    }
}

// R R^T = I: the scalar product with a unit vector's transform gives the
// element back. Sums of small integers are exact.
TEST(Hadamard, RowsAreOrthonormal) {
  for (uint16_t mask : {uint16_t(0), kHadamardSignMask, uint16_t(0xFFFF)}) {
    float x[kHadamardSize], y[kHadamardSize];
    for (int i = 0; i < kHadamardSize; ++i)
      x[i] = y[i] = static_cast<float>(i * i - 40);
    transformHadamard(y, mask);
    for (int i = 0; i < kHadamardSize; ++i) {
      float unit[kHadamardSize] = {};
      unit[i] = 1.0f;
      transformHadamard(unit, mask);
      float product = 0.0f;
      for (int j = 0; j < kHadamardSize; ++j)
        product += unit[j] * y[j];
      EXPECT_EQ(product, x[i]);
    }
  }
}

// The order is the contract: these sums depend on it, as 2^24 swallows a 1 that
// is added to it alone.
TEST(Hadamard, OrderOfSums) {
  float x[kHadamardSize] = {0x1p26f, 4.0f, 0.0f, 0.0f, 4.0f, 0.0f};
  transformHadamard(x, 0);
  // (2^24 + 1) rounds to 2^24 in the first round; adding 1 in the third does
  // not change that. A sum of the two ones first would give 2^24 + 2.
  EXPECT_EQ(x[0], 0x1p24f);
  float y[kHadamardSize] = {0x1p26f, 0.0f, 0.0f, 0.0f, 4.0f, 4.0f};
  transformHadamard(y, 0);
  EXPECT_EQ(y[0], 0x1p24f + 2.0f);
}

TEST(Hadamard, Stride) {
  uint16_t dense[kHadamardSize], spread[3 * kHadamardSize] = {};
  for (int64_t i = 0; i < kHadamardSize; ++i)
    dense[i] = spread[3 * i] = encodeBF16(static_cast<float>(i) - 3.5f);
  transformHadamardBF16(dense, kHadamardSignMask);
  transformHadamardBF16(spread, kHadamardSignMask, 3);
  for (int64_t i = 0; i < int64_t(3) * kHadamardSize; ++i)
    EXPECT_EQ(spread[i], i % 3 == 0 ? dense[i / 3] : 0);
}

TEST(Hadamard, NanAndInfinity) {
  float nan[kHadamardSize] = {};
  nan[5] = fromBits(kFloatNanBits);
  transformHadamard(nan, kHadamardSignMask);
  for (float value : nan)
    EXPECT_TRUE(isNan(value));

  float one[kHadamardSize] = {1.0f, 2.0f, kInfinity};
  transformHadamard(one, 0);
  for (int i = 0; i < kHadamardSize; ++i)
    EXPECT_EQ(one[i], (i & 2) != 0 ? -kInfinity : kInfinity);

  float two[kHadamardSize] = {kInfinity, kInfinity};
  transformHadamard(two, 0);
  for (int i = 0; i < kHadamardSize; ++i) {
    if ((i & 1) != 0)
      EXPECT_TRUE(isNan(two[i]));
    else
      EXPECT_EQ(two[i], kInfinity);
  }
}

// The scale comes first, so that only results beyond bf16 overflow.
TEST(Hadamard, Range) {
  uint16_t largest[kHadamardSize];
  for (uint16_t &code : largest)
    code = 0x7F7F;
  transformHadamardBF16(largest, 0);
  EXPECT_EQ(largest[0], 0x7F80);
  EXPECT_EQ(largest[1], 0);
  uint16_t four[kHadamardSize] = {0x7F7F, 0x7F7F, 0x7F7F, 0x7F7F};
  transformHadamardBF16(four, 0);
  EXPECT_EQ(four[0], 0x7F7F);
  uint16_t smallest[kHadamardSize] = {1, 1, 1, 1};
  transformHadamardBF16(smallest, 0);
  EXPECT_EQ(smallest[0], 1);
}

} // namespace

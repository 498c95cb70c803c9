//===- ScaleSweepTest.cpp - The best of 126 scales ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/ScaleSweep.h"

#include "Expected.h"
#include "Matrix.h"

#include <algorithm>
#include <cmath>

using namespace blockscale::numerics;

namespace {

/// The parameter is the name of the case without "sweep__".
class SweepCases : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    archive = std::string("sweep__") + GetParam();
    x = readInput(archive);
    ASSERT_EQ(x.cols, kSweepBlock);
    globalAmax =
        fromBits(readExpectedAs<uint32_t>(archive, "in_global_amax").at(0));
  }

  std::string archive;
  Matrix x;
  float globalAmax = 0.0f;
};

/// The loss in f64, to judge another winner by.
double getExactLoss(const float *w, float scale) {
  double loss = 0;
  for (int i = 0; i < kSweepBlock; ++i) {
    float magnitude = magnitudeOf(w[i]);
    double error = static_cast<double>(magnitude) -
                   static_cast<double>(roundToE2M1(magnitude / scale)) * scale;
    loss += error * error;
  }
  return loss;
}

// D1
TEST_P(SweepCases, Candidates) {
  auto want = readExpectedAs<uint32_t>(archive, "out_candidates");
  ASSERT_EQ(want.size(), static_cast<size_t>(kSweepCandidates));
  for (int k = 0; k < kSweepCandidates; ++k)
    EXPECT_EQ(toBits(getSweepCandidate(k)), want[k]) << k;
}

// D2, D3, D6: the winner of the 126-step reference, or of the fused kernel, or
// one whose loss is within 1e-5 of the best.
TEST_P(SweepCases, Winners) {
  auto index = readExpectedAs<uint8_t>(archive, "out_best_index");
  auto amax = readExpectedAs<uint32_t>(archive, "out_best_amax");
  auto fused = readExpectedAs<uint32_t>(archive, "out_triton_best_amax");
  auto loss = readExpectedAs<uint32_t>(archive, "out_loss_best");
  SweepScales scales = getSweepScales(globalAmax);
  int others = 0;
  for (int64_t r = 0; r < x.rows; ++r) {
    const float *w = &x.values[r * kSweepBlock];
    int got = findBestScale(w, scales);
    EXPECT_EQ(toBits(getSweepAmax(got, globalAmax)), fused[r]) << r;
    if (got == index[r]) {
      EXPECT_EQ(toBits(getSweepAmax(got, globalAmax)), amax[r]);
      continue;
    }
    ++others;
    EXPECT_LE(getExactLoss(w, scales.scale[got]),
              fromBits(loss[r]) * (1 + 1e-5));
  }
  EXPECT_LE(others, 1);
}

// D12: the winners, exported and quantized with.
TEST_P(SweepCases, Export) {
  auto amax = readExpectedAs<uint32_t>(archive, "out_best_amax");
  auto wantScales = readExpectedAs<uint8_t>(archive, "out_static_scale");
  GlobalFactors global =
      getGlobalFactors(Recipe::Modelopt, GlobalScale::fromAmax(globalAmax));
  EXPECT_EQ(toBits(global.decode),
            readExpectedAs<uint32_t>(archive, "out_static_scale2").at(0));
  QuantizedMatrix quantized;
  quantized.rows = x.rows;
  quantized.cols = x.cols;
  quantized.codes.resize(x.values.size());
  quantized.nanBorn.resize(x.values.size());
  for (int64_t r = 0; r < x.rows; ++r)
    quantized.scales.push_back(quantizeBlockOfGivenAmax(
        Recipe::Modelopt, global, &x.values[r * kSweepBlock], kSweepBlock,
        fromBits(amax[r]), &quantized.codes[r * kSweepBlock]));
  expectScales(archive, "out_static_scale", ScaleFormat::E4M3,
               quantized.scales);
  expectCodes(archive, "out_static_qdata", quantized);
  // D4: the winner's scale byte is its candidate.
  for (int64_t r = 0; r < x.rows; ++r)
    EXPECT_EQ(getSweepAmax(quantized.scales[r] - 1, globalAmax),
              fromBits(amax[r]));
}

INSTANTIATE_TEST_SUITE_P(Golden, SweepCases,
                         testing::Values("heavy_512_f32", "normal_256_f32",
                                         "sparse_64_f32", "weight_512_bf16"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

// The sum of powers of two is the codec, below, at and above each boundary.
TEST(ScaleSweep, RoundsAsTheCodec) {
  auto expect = [](float x) {
    ASSERT_EQ(roundToE2M1(x),
              decode(ElementFormat::E2M1, encode(ElementFormat::E2M1, x)))
        << x;
  };
  for (uint32_t bits = 0; bits <= kFloatInfinityBits; bits += 0x3FF)
    expect(fromBits(bits));
  for (float tie : {0.25f, 0.75f, 1.25f, 1.75f, 2.5f, 3.5f, 5.0f, 6.0f})
    for (uint32_t bits = toBits(tie) - 2; bits <= toBits(tie) + 2; ++bits)
      expect(fromBits(bits));
  expect(fromBits(kFloatInfinityBits));
}

// Fused, the difference would be that of the unrounded product: 2^-24.
TEST(ScaleSweep, ProductsAreRounded) {
  volatile float factor = 1.0f + 0x1p-12f, sum = -(1.0f + 0x1p-11f);
  EXPECT_EQ(roundedProduct(factor, factor) + sum, 0.0f);
}

TEST(ScaleSweep, TieIsTheFirst) {
  float zero[kSweepBlock] = {};
  EXPECT_EQ(findBestScale(zero, getSweepScales(3.0f)), 0);
  SweepMinimum minimum;
  minimum.add(3, 2.0f);
  minimum.add(4, 1.0f);
  minimum.add(5, 1.0f);
  minimum.add(6, fromBits(kFloatNanBits));
  EXPECT_EQ(minimum.getIndex(), 4);
}

/// Expects the bound of each candidate to hold for it and all above.
void expectBounds(const float *magnitudes, const SweepScales &scales) {
  float least = fromBits(kFloatInfinityBits);
  for (int k = kSweepCandidates - 1; k >= 0; --k) {
    least = std::min(least, getSweepLoss(magnitudes, scales.scale[k]));
    EXPECT_LE(getSweepLossFrom(magnitudes, scales.scale[k]), least) << k;
  }
}

TEST(ScaleSweep, NoLossFromAScaleOnIsBelowItsBound) {
  Matrix x = readInput("sweep__normal_256_f32");
  for (int64_t r = 0; r < x.rows; ++r) {
    float magnitudes[kSweepBlock];
    for (int i = 0; i < kSweepBlock; ++i)
      magnitudes[i] = magnitudeOf(x.values[r * kSweepBlock + i]);
    for (float amax : {x.amax(), 10 * x.amax()})
      expectBounds(magnitudes, getSweepScales(amax));
    // All elements become zero.
    float large = 4 * x.amax();
    EXPECT_EQ(getSweepLossFrom(magnitudes, large),
              getSweepLoss(magnitudes, large));
  }
}

// Where elements become zero, and where they begin to count.
TEST(ScaleSweep, BoundHoldsAtItsEdges) {
  for (float amax : {1.0f, 2688.0f, 0x1.234566p0f, 0x1.fffffep-1f}) {
    SweepScales scales = getSweepScales(amax);
    for (int k = 40; k < kSweepCandidates; ++k)
      for (float limit : {0.25f, 0.5f}) {
        float magnitudes[kSweepBlock] = {};
        for (int i = 0; i < kSweepBlock; ++i)
          magnitudes[i] = fromBits(toBits(scales.scale[k] * limit) + i - 8);
        expectBounds(magnitudes, scales);
        for (float magnitude : magnitudes) {
          float single[kSweepBlock] = {magnitude};
          expectBounds(single, scales);
        }
      }
  }
}

// D2: a scale of 0 counts as 1. A tensor of zeros has an amax of 0.
TEST(ScaleSweep, ZeroScaleIsOne) {
  EXPECT_EQ(getSweepScale(0, 0.0f), 1.0f);
  EXPECT_EQ(getSweepScale(0, 0x1p-149f), 1.0f);
  EXPECT_EQ(getSweepAmax(125, 0.0f), 0.0f);
}

TEST(ScaleSweep, NanIsTheFirst) {
  float w[kSweepBlock] = {1.0f, fromBits(kFloatNanBits), -3.0f};
  EXPECT_EQ(findBestScale(w, getSweepScales(3.0f)), 0);
  float infinite[kSweepBlock] = {1.0f, __builtin_huge_valf()};
  EXPECT_EQ(findBestScale(infinite, getSweepScales(__builtin_huge_valf())), 0);
}

// D5
TEST(ScaleSweep, SignDoesNotMatter) {
  SweepScales scales = getSweepScales(4.0f);
  for (int seed = 0; seed < 50; ++seed) {
    float w[kSweepBlock], negated[kSweepBlock];
    for (int i = 0; i < kSweepBlock; ++i) {
      w[i] = static_cast<float>((seed * 31 + i * i * 7) % 97) / 24.0f - 2.0f;
      negated[i] = i % 3 == 0 ? -w[i] : w[i];
    }
    EXPECT_EQ(findBestScale(w, scales), findBestScale(negated, scales));
  }
}

//===----------------------------------------------------------------------===//
// D11: Hessians
//===----------------------------------------------------------------------===//

TEST(ScaleSweepHessian, IdentityIsNone) {
  float identity[kSweepBlock * kSweepBlock] = {};
  for (int i = 0; i < kSweepBlock; ++i)
    identity[i * kSweepBlock + i] = 1.0f;
  Matrix x = readInput("sweep__normal_256_f32");
  SweepScales scales = getSweepScales(x.amax());
  for (int64_t r = 0; r < x.rows; ++r) {
    const float *w = &x.values[r * kSweepBlock];
    EXPECT_EQ(findBestScale(w, scales, identity), findBestScale(w, scales));
  }
}

TEST(ScaleSweepHessian, LossIsTheQuadraticForm) {
  // Symmetric and dominated by its diagonal, with cross terms of both signs.
  float hessian[kSweepBlock * kSweepBlock];
  for (int i = 0; i < kSweepBlock; ++i)
    for (int j = 0; j < kSweepBlock; ++j)
      hessian[i * kSweepBlock + j] =
          i == j ? 20.0f : static_cast<float>((i * j) % 7) / 4.0f - 0.75f;
  Matrix x = readInput("sweep__normal_256_f32");
  SweepScales scales = getSweepScales(x.amax());
  int others = 0;
  for (int64_t r = 0; r < x.rows; ++r) {
    const float *w = &x.values[r * kSweepBlock];
    double best = __builtin_huge_val();
    for (int k = 0; k < kSweepCandidates; ++k) {
      double errors[kSweepBlock], loss = 0;
      for (int i = 0; i < kSweepBlock; ++i) {
        float code =
            decode(ElementFormat::E2M1,
                   encode(ElementFormat::E2M1, w[i] / scales.scale[k]));
        errors[i] = static_cast<double>(w[i]) -
                    static_cast<double>(code) * scales.scale[k];
      }
      for (int i = 0; i < kSweepBlock; ++i)
        for (int j = 0; j < kSweepBlock; ++j)
          loss += errors[i] * hessian[i * kSweepBlock + j] * errors[j];
      EXPECT_NEAR(getSweepLoss(w, scales.scale[k], hessian), loss, 1e-5 * loss);
      best = std::fmin(best, loss);
    }
    int got = findBestScale(w, scales, hessian);
    EXPECT_LE(getSweepLoss(w, scales.scale[got], hessian), best * (1 + 1e-5));
    others += got != findBestScale(w, scales);
  }
  EXPECT_GT(others, 0);
}

} // namespace

//===- Nvfp4CasesTest.cpp - NVFP4 recipes on whole matrices ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expected.h"
#include "Matrix.h"

using namespace blockscale::numerics;

namespace {

constexpr BlockShape kRowBlock{1, 16};
constexpr BlockShape kTileBlock{16, 16};

/// The parameter is the name of the case without "nvfp4__".
class Nvfp4Cases : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    archive = std::string("nvfp4__") + GetParam();
    x = readInput(archive);
    ASSERT_FALSE(x.values.empty());
  }

  QuantizedMatrix quantize(Recipe recipe, GlobalScale global,
                           const Matrix &matrix,
                           BlockShape block = kRowBlock) const {
    return quantizeMatrix(recipe, ElementFormat::E2M1,
                          {getGlobalFactors(recipe, global)}, matrix, block);
  }

  void expectQuantized(const std::string &prefix,
                       const QuantizedMatrix &quantized) const {
    expectCodes(archive, "out_" + prefix + "_qdata", quantized);
    expectScales(archive, "out_" + prefix + "_scale", ScaleFormat::E4M3,
                 quantized.scales);
  }

  void expectSwizzled(const std::string &prefix,
                      const QuantizedMatrix &quantized) const {
    expectScales(
        archive, "out_" + prefix + "_scale_blocked", ScaleFormat::E4M3,
        swizzle(quantized.scales, quantized.scaleRows, quantized.scaleCols));
  }

  std::string archive;
  Matrix x;
};

class Torchao : public Nvfp4Cases {};
class TorchaoGivenScales : public Nvfp4Cases {};
class TransformerEngine : public Nvfp4Cases {};
class TransformerEngineFourOverSix : public Nvfp4Cases {};
class ModelOpt : public Nvfp4Cases {};

/// Scales of tiles as the reference stores them: repeated for their 16 rows,
/// those beyond the matrix included.
QuantizedMatrix repeatScales(const QuantizedMatrix &quantized) {
  QuantizedMatrix padded = quantized;
  padded.rows = quantized.scaleRows * kTileBlock.rows;
  padded = expandScales(padded, ScaleDim::K, kTileBlock.rows);
  padded.rows = quantized.rows;
  return padded;
}

TEST_P(Torchao, OneLevel) {
  QuantizedMatrix quantized = quantize(Recipe::Torchao, {}, x);
  expectQuantized("ao_single", quantized);
  expectSwizzled("ao_single", quantized);
  expectValues(archive, "out_ao_single_dequant_", Recipe::Torchao, quantized,
               kRowBlock, 1.0f);
}

TEST_P(Torchao, TwoLevelsFromAmax) {
  GlobalScale global = GlobalScale::fromAmax(x.amax());
  QuantizedMatrix quantized = quantize(Recipe::Torchao, global, x);
  expectQuantized("ao_dyn", quantized);
  expectSwizzled("ao_dyn", quantized);
  float decode = getGlobalFactors(Recipe::Torchao, global).decode;
  auto want = readExpectedAs<uint32_t>(archive, "out_ao_dyn_per_tensor_scale");
  ASSERT_EQ(want.size(), 1u);
  if (isNan(decode))
    EXPECT_TRUE(isNan(fromBits(want[0])));
  else
    EXPECT_EQ(toBits(decode), want[0]);
  expectValues(archive, "out_ao_dyn_dequant_", Recipe::Torchao, quantized,
               kRowBlock, decode);
}

TEST_P(TorchaoGivenScales, TwoLevels) {
  for (const char *prefix : {"ao_static0", "ao_static1", "ao_static2"}) {
    auto scale = readExpectedAs<uint32_t>(archive, std::string("in_") + prefix +
                                                       "_per_tensor_scale");
    ASSERT_EQ(scale.size(), 1u);
    QuantizedMatrix quantized = quantize(
        Recipe::Torchao, GlobalScale::fromDecodeScale(fromBits(scale[0])), x);
    expectQuantized(prefix, quantized);
    expectSwizzled(prefix, quantized);
  }
}

TEST_P(TransformerEngine, Rows) {
  QuantizedMatrix quantized =
      quantize(Recipe::Te, GlobalScale::fromAmax(x.amax()), x);
  expectQuantized("te", quantized);
  if (x.cols % 16 == 0)
    expectSwizzled("te", quantized);
}

TEST_P(TransformerEngine, Columns) {
  expectQuantized("te_t", quantize(Recipe::Te, GlobalScale::fromAmax(x.amax()),
                                   x.transposed()));
}

TEST_P(TransformerEngine, Tiles) {
  GlobalScale global = GlobalScale::fromAmax(x.amax());
  expectQuantized("te2d",
                  repeatScales(quantize(Recipe::Te, global, x, kTileBlock)));
  expectQuantized("te2d_t", repeatScales(quantize(Recipe::Te, global,
                                                  x.transposed(), kTileBlock)));
}

TEST_P(TransformerEngineFourOverSix, Rows) {
  GlobalScale global = GlobalScale::fromAmax(x.amax());
  expectQuantized("te46mae", quantize(Recipe::Te4over6Mae, global, x));
  expectQuantized("te46mse", quantize(Recipe::Te4over6Mse, global, x));
}

TEST_P(TransformerEngine, AmaxPerRow) {
  std::vector<GlobalFactors> perRow;
  perRow.reserve(x.rows);
  for (int64_t r = 0; r < x.rows; ++r)
    perRow.push_back(getGlobalFactors(
        Recipe::Te,
        GlobalScale::fromAmax(computeAmax(&x.values[r * x.cols], x.cols))));
  expectQuantized("terow", quantizeMatrix(Recipe::Te, ElementFormat::E2M1,
                                          perRow, x, kRowBlock));
}

TEST_P(ModelOpt, TwoLevels) {
  GlobalScale global = GlobalScale::fromAmax(x.amax());
  expectQuantized("mo", quantize(Recipe::Modelopt, global, x));
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

// The archives have what the oracle of a recipe takes: torchao no tails,
// TransformerEngine no odd sizes, its 4over6 no NaN, and given scales not for
// constant inputs.
constexpr const char *kPlainCases[] = {
    "grid_64x128_bf16",   "huge_32x64_bf16",     "loguniform_32x128_f32",
    "normal_100x80_bf16", "normal_128x256_bf16", "outlier_128x128_bf16",
    "sparse_32x64_bf16",  "special_64x64_bf16",  "tiny_32x64_bf16",
    "weight_96x192_f32"};
constexpr const char *kFiniteCases[] = {
    "grid_64x128_bf16",   "huge_32x64_bf16",     "loguniform_32x128_f32",
    "normal_100x80_bf16", "normal_128x256_bf16", "outlier_128x128_bf16",
    "sparse_32x64_bf16",  "tiny_32x64_bf16",     "weight_96x192_f32"};
constexpr const char *kOddCases[] = {"normal_3x48_f32"};
constexpr const char *kTailCases[] = {"normal_16x40_bf16"};
constexpr const char *kConstantCases[] = {
    "subconst_16x32_bf16", "subnormal_32x32_bf16", "zero_16x32_bf16"};

INSTANTIATE_TEST_SUITE_P(Plain, Torchao, testing::ValuesIn(kPlainCases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Odd, Torchao, testing::ValuesIn(kOddCases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Constant, Torchao, testing::ValuesIn(kConstantCases),
                         getCaseName);

INSTANTIATE_TEST_SUITE_P(Plain, TorchaoGivenScales,
                         testing::ValuesIn(kPlainCases), getCaseName);
INSTANTIATE_TEST_SUITE_P(Odd, TorchaoGivenScales, testing::ValuesIn(kOddCases),
                         getCaseName);

INSTANTIATE_TEST_SUITE_P(Plain, TransformerEngine,
                         testing::ValuesIn(kPlainCases), getCaseName);
INSTANTIATE_TEST_SUITE_P(Tail, TransformerEngine, testing::ValuesIn(kTailCases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Constant, TransformerEngine,
                         testing::ValuesIn(kConstantCases), getCaseName);

INSTANTIATE_TEST_SUITE_P(Plain, TransformerEngineFourOverSix,
                         testing::ValuesIn(kFiniteCases), getCaseName);
INSTANTIATE_TEST_SUITE_P(Tail, TransformerEngineFourOverSix,
                         testing::ValuesIn(kTailCases), getCaseName);
INSTANTIATE_TEST_SUITE_P(Constant, TransformerEngineFourOverSix,
                         testing::ValuesIn(kConstantCases), getCaseName);

INSTANTIATE_TEST_SUITE_P(Plain, ModelOpt, testing::ValuesIn(kPlainCases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Odd, ModelOpt, testing::ValuesIn(kOddCases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Tail, ModelOpt, testing::ValuesIn(kTailCases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Constant, ModelOpt, testing::ValuesIn(kConstantCases),
                         getCaseName);

/// Scale bytes and codes of `te` that differ between the two facts a caller may
/// know. Both numbers are ours; that they are not 0 is why a caller that knows
/// the amax must give it.
TEST(Nvfp4GlobalScale, TeFromDecodeScaleIsNotTeFromAmax) {
  Matrix x = readInput("nvfp4__grid_64x128_bf16");
  auto quantize = [&](GlobalScale global) {
    return quantizeMatrix(Recipe::Te, ElementFormat::E2M1,
                          {getGlobalFactors(Recipe::Te, global)}, x, kRowBlock);
  };
  QuantizedMatrix fromAmax = quantize(GlobalScale::fromAmax(x.amax()));
  QuantizedMatrix fromDecode = quantize(
      GlobalScale::fromDecodeScale(getDecodeScale(Recipe::Te, x.amax())));
  int scales = 0, codes = 0;
  for (size_t i = 0; i < fromAmax.scales.size(); ++i)
    scales += fromAmax.scales[i] != fromDecode.scales[i];
  for (size_t i = 0; i < fromAmax.codes.size(); ++i)
    codes += fromAmax.codes[i] != fromDecode.codes[i];
  EXPECT_EQ(scales, 2);
  EXPECT_EQ(codes, 10);
}

} // namespace

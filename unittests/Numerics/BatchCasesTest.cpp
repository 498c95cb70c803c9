//===- BatchCasesTest.cpp - Quantized batches of matrices -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expected.h"
#include "Matrix.h"

using namespace blockscale::numerics;

namespace {

/// Swizzles each matrix of a batch alone.
std::vector<uint8_t> swizzleBatch(const std::vector<QuantizedMatrix> &batch) {
  std::vector<uint8_t> result;
  for (const QuantizedMatrix &quantized : batch) {
    std::vector<uint8_t> tiles =
        swizzle(quantized.scales, quantized.scaleRows, quantized.scaleCols);
    result.insert(result.end(), tiles.begin(), tiles.end());
  }
  return result;
}

/// MX weights of experts: columns of blocks, and square blocks in the form of
/// the gradient.
class MxBatches : public testing::TestWithParam<const char *> {};

TEST_P(MxBatches, ColumnsAndTiles) {
  std::string archive = std::string("mx3d__") + GetParam();
  for (Recipe recipe : {Recipe::Floor, Recipe::Rceil}) {
    std::string prefix = "out_ao018_" + std::string(getName(recipe));
    std::vector<QuantizedMatrix> columns, tiles, columnScales, tileScales;
    for (const Matrix &x : readInputs(archive)) {
      columns.push_back(
          quantizeMatrix(recipe, ElementFormat::E4M3, {kOneLevel}, x, {32, 1}));
      columnScales.push_back(transposeScales(columns.back()));
      tiles.push_back(quantizeMatrix(recipe, ElementFormat::E4M3, {kOneLevel},
                                     x, {32, 32}));
      tileScales.push_back(expandScales(tiles.back(), ScaleDim::N, 32));
    }
    ASSERT_FALSE(columns.empty());
    expectCodes(archive, prefix + "_32x1_qdata", stack(columns));
    expectScales(archive, prefix + "_32x1_scale", ScaleFormat::E8M0,
                 stack(columns).scales);
    expectScales(archive, prefix + "_32x1_scale_blocked", ScaleFormat::E8M0,
                 swizzleBatch(columnScales));
    expectCodes(archive, prefix + "_32x32_qdata", stack(tiles));
    expectScales(archive, prefix + "_32x32_scale", ScaleFormat::E8M0,
                 stack(tiles).scales);
    expectScales(archive, prefix + "_32x32_scale_blocked", ScaleFormat::E8M0,
                 swizzleBatch(tileScales));
  }
}

INSTANTIATE_TEST_SUITE_P(Golden, MxBatches,
                         testing::Values("normal_1x32x32_bf16",
                                         "outlier_3x96x160_bf16",
                                         "weight_2x64x96_bf16"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

TEST(Nvfp4Batches, OneGlobalScaleForEach) {
  const char *archive = "nvfp4_3d__weight_3x48x64_bf16";
  auto want = readExpectedAs<uint32_t>(archive, "out_ao_dyn_per_expert_scale");
  std::vector<QuantizedMatrix> batch;
  for (const Matrix &x : readInputs(archive)) {
    GlobalFactors factors =
        getGlobalFactors(Recipe::Torchao, GlobalScale::fromAmax(x.amax()));
    EXPECT_EQ(toBits(factors.decode), want[batch.size()]);
    batch.push_back(quantizeMatrix(Recipe::Torchao, ElementFormat::E2M1,
                                   {factors}, x, {1, 16}));
  }
  ASSERT_EQ(batch.size(), want.size());
  expectCodes(archive, "out_ao_dyn_qdata", stack(batch));
  expectScales(archive, "out_ao_dyn_scale", ScaleFormat::E4M3,
               stack(batch).scales);
  expectScales(archive, "out_ao_dyn_scale_blocked", ScaleFormat::E4M3,
               swizzleBatch(batch));
}

} // namespace

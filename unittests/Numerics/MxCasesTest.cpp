//===- MxCasesTest.cpp - MX recipes on whole matrices ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The expected arrays are those of torchao main of 2026-08-21 (`aoaug26`),
// which are stored where they differ from those of torchao 0.18.0 (`ao018`).
//
//===----------------------------------------------------------------------===//

#include "Expected.h"
#include "Matrix.h"

using namespace blockscale::numerics;

namespace {

/// The parameter is the name of the case without "mx__".
class MxCases : public testing::TestWithParam<const char *> {
protected:
  void SetUp() override {
    archive = std::string("mx__") + GetParam();
    x = readInput(archive);
    ASSERT_FALSE(x.values.empty());
  }

  /// The name of the array of torchao main, or of 0.18.0 where it is the same.
  std::string select(const std::string &prefix, const std::string &rest) const {
    std::string main = "out_" + prefix + "aoaug26_" + rest;
    return hasExpected(archive, main) ? main
                                      : "out_" + prefix + "ao018_" + rest;
  }

  QuantizedMatrix quantize(Recipe recipe, BlockShape block) const {
    return quantizeMatrix(recipe, ElementFormat::E4M3, {kOneLevel}, x, block);
  }

  /// Compares data and scales for each recipe; `blocks` is the name of the
  /// block shape in arrays.
  void expectRecipes(const Recipe (&recipes)[2], BlockShape block,
                     const std::string &blocks) const {
    for (Recipe recipe : recipes) {
      QuantizedMatrix quantized = quantize(recipe, block);
      std::string name = std::string(getName(recipe)) + "_" + blocks + "_";
      expectCodes(archive, select("", name + "qdata"), quantized);
      expectScales(archive, select("", name + "scale"), ScaleFormat::E8M0,
                   quantized.scales);
    }
  }

  std::string archive;
  Matrix x;
};

class MxRows : public MxCases {};
class MxColumns : public MxCases {};
class MxFull : public MxCases {};

constexpr Recipe kCommonRecipes[] = {Recipe::Floor, Recipe::Rceil};
constexpr Recipe kOtherRecipes[] = {Recipe::Ceil, Recipe::Even};

TEST_P(MxRows, Blocks) { expectRecipes(kCommonRecipes, {1, 32}, "1x32"); }

TEST_P(MxRows, SwizzledScales) {
  for (Recipe recipe : kCommonRecipes) {
    QuantizedMatrix quantized = quantize(recipe, {1, 32});
    std::string name = std::string(getName(recipe)) + "_1x32_scale_blocked";
    expectScales(
        archive, select("", name), ScaleFormat::E8M0,
        swizzle(quantized.scales, quantized.scaleRows, quantized.scaleCols));
  }
}

TEST_P(MxRows, Dequantized) {
  std::string array = select("", "floor_1x32_dequant_f32");
  expectValues(archive, array.substr(0, array.size() - 3), Recipe::Floor,
               quantize(Recipe::Floor, {1, 32}), {1, 32}, 1.0f);
}

TEST_P(MxColumns, Blocks) { expectRecipes(kCommonRecipes, {32, 1}, "32x1"); }

TEST_P(MxColumns, Tiles) { expectRecipes(kCommonRecipes, {32, 32}, "32x32"); }

TEST_P(MxColumns, SwizzledScales) {
  for (Recipe recipe : kCommonRecipes) {
    std::string name = std::string(getName(recipe)) + "_";
    auto expect = [&](const std::string &array,
                      const QuantizedMatrix &quantized) {
      expectScales(
          archive, select("", name + array), ScaleFormat::E8M0,
          swizzle(quantized.scales, quantized.scaleRows, quantized.scaleCols));
    };
    expect("32x1_scale_blocked", transposeScales(quantize(recipe, {32, 1})));
    QuantizedMatrix tiles = quantize(recipe, {32, 32});
    expect("32x32_scale_blocked_KxN32", expandScales(tiles, ScaleDim::N, 32));
    expect("32x32_scale_blocked_NxK32", expandScales(tiles, ScaleDim::K, 32));
  }
}

TEST_P(MxFull, CeilAndEven) {
  expectRecipes(kOtherRecipes, {1, 32}, "1x32");
  expectRecipes(kOtherRecipes, {32, 1}, "32x1");
  expectRecipes(kOtherRecipes, {32, 32}, "32x32");
}

TEST_P(MxFull, OtherElementFormats) {
  const std::pair<const char *, ElementFormat> formats[] = {
      {"e5m2_", ElementFormat::E5M2},
      {"fp4_", ElementFormat::E2M1},
      {"fp6e2m3_", ElementFormat::E2M3},
      {"fp6e3m2_", ElementFormat::E3M2}};
  for (auto [prefix, format] : formats) {
    for (Recipe recipe : kCommonRecipes) {
      QuantizedMatrix quantized =
          quantizeMatrix(recipe, format, {kOneLevel}, x, {1, 32});
      std::string name = std::string(getName(recipe)) + "_1x32_";
      expectCodes(archive, select(prefix, name + "qdata"), quantized);
      expectScales(archive, select(prefix, name + "scale"), ScaleFormat::E8M0,
                   quantized.scales);
    }
  }
}

//===----------------------------------------------------------------------===//
// Cases
//===----------------------------------------------------------------------===//

// Cases with E4M3 data alone; with every format; and with a number of rows that
// is no multiple of the block.
constexpr const char *kE4M3Cases[] = {"grid_64x64_bf16", "huge_32x64_bf16",
                                      "outlier_96x160_bf16",
                                      "sparse_64x64_bf16", "tiny_32x64_bf16"};
constexpr const char *kFullCases[] = {"loguniform_32x128_f32",
                                      "normal_128x256_bf16", "normal_64x96_f32",
                                      "special_64x64_bf16"};
constexpr const char *kRaggedCases[] = {"normal_50x96_bf16"};

INSTANTIATE_TEST_SUITE_P(E4M3, MxRows, testing::ValuesIn(kE4M3Cases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Full, MxRows, testing::ValuesIn(kFullCases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Ragged, MxRows, testing::ValuesIn(kRaggedCases),
                         getCaseName);

INSTANTIATE_TEST_SUITE_P(E4M3, MxColumns, testing::ValuesIn(kE4M3Cases),
                         getCaseName);
INSTANTIATE_TEST_SUITE_P(Full, MxColumns, testing::ValuesIn(kFullCases),
                         getCaseName);

INSTANTIATE_TEST_SUITE_P(Full, MxFull, testing::ValuesIn(kFullCases),
                         getCaseName);

} // namespace

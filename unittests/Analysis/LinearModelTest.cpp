//===- LinearModelTest.cpp - Roofline of a linear layer -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Cost/LinearModel.h"

#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale;

static const target::Gpu &getGB200() { return *target::findGpu("GB200"); }

static std::string printSpeedup(llvm::StringRef recipe, double size) {
  LinearTimes times = getLinearTimes(Model::Torchao, *findLinearRecipe(recipe),
                                     getGB200(), {size, size, size});
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.2f", times.getSpeedup());
  return text;
}

// A17: both r columns of pytorch/ao#4188, to the printed digit.
TEST(LinearModel, SpeedupsOfTorchao4188) {
  struct Row {
    double size;
    const char *with, *without;
  };
  for (Row row : {Row{1024, "1.00", "1.00"}, Row{2048, "2.39", "2.71"},
                  Row{4096, "2.92", "3.44"}, Row{8192, "3.34", "3.68"},
                  Row{16384, "3.63", "3.83"}}) {
    EXPECT_EQ(printSpeedup("nvfp4", row.size), row.with) << row.size;
    EXPECT_EQ(printSpeedup("nvfp4_no_global_scale", row.size), row.without)
        << row.size;
  }
}

// A17: its five formulas.
TEST(LinearModel, FormulasOfTorchao4188) {
  EXPECT_EQ(printSeconds(getBf16Product(), getGB200()),
            "Max(2.0e-6, 1.13960113960114e-15*K*M*N, 2.71739130434783e-13*K*M "
            "+ 2.71739130434783e-13*K*N + 2.71739130434783e-13*M*N)");
  EXPECT_EQ(printSeconds(getBf16Pass(), getGB200()),
            "Max(2.0e-6, 5.43478260869565e-13*K*M)");
  for (const char *name : {"nvfp4", "nvfp4_static", "nvfp4_no_global_scale"})
    EXPECT_EQ(
        printSeconds(getProduct(Model::Torchao, *findLinearRecipe(name)),
                     getGB200()),
        "Max(2.0e-6, 2.84900284900285e-16*K*M*N, 6.79347826086956e-14*K*M + "
        "6.79347826086956e-14*K*N + 2.71739130434783e-13*M*N + "
        "6.79347826086956e-14*floor(K*M/16 + K*N/16))")
        << name;
  EXPECT_EQ(
      printSeconds(getQuantization(Model::Torchao, *findLinearRecipe("nvfp4")),
                   getGB200()),
      "Max(2.0e-6, 6.11413043478261e-13*K*M + "
      "1.35869565217391e-13*M*floor(K/16))");
  EXPECT_EQ(
      printSeconds(getQuantization(Model::Torchao,
                                   *findLinearRecipe("nvfp4_no_global_scale")),
                   getGB200()),
      "Max(2.0e-6, 3.39673913043478e-13*K*M + "
      "1.35869565217391e-13*M*floor(K/16))");
}

// What the exact model adds for one row of 64: its scales take a whole tile of
// 512 bytes, those of 129 rows two. A global scale adds 4 bytes, and a dynamic
// one a pass over x and a kernel that makes a scale of its amax.
TEST(LinearModel, ExactBytesOfQuantization) {
  auto count = [](llvm::StringRef recipe, const LinearShape &shape) {
    std::vector<double> bytes;
    for (const KernelFormula &kernel :
         getQuantization(Model::Exact, *findLinearRecipe(recipe)))
      bytes.push_back(kernel.bytes.evaluate(shape));
    return bytes;
  };
  using Bytes = std::vector<double>;
  EXPECT_EQ(count("nvfp4_no_global_scale", {1, 64, 1}),
            Bytes({128 + 32 + 512}));
  EXPECT_EQ(count("nvfp4_no_global_scale", {129, 64, 1}),
            Bytes({129 * 160 + 1024}));
  EXPECT_EQ(count("nvfp4_no_global_scale", {1, 80, 1}),
            Bytes({160 + 40 + 1024}));
  EXPECT_EQ(count("nvfp4_static", {1, 64, 1}), Bytes({128 + 32 + 512 + 4}));
  EXPECT_EQ(count("nvfp4", {1, 64, 1}),
            Bytes({128 + 4, 8, 128 + 32 + 512 + 4}));
  EXPECT_EQ(count("mxfp8", {1, 128, 1}), Bytes({256 + 128 + 512}));
  EXPECT_EQ(count("mxfp4", {1, 160, 1}), Bytes({320 + 80 + 1024}));
}

// Operands, tiles of scales, the bf16 result and two global scales.
TEST(LinearModel, ExactBytesOfProduct) {
  auto count = [](llvm::StringRef recipe) {
    return getProduct(Model::Exact, *findLinearRecipe(recipe))
        .bytes.evaluate({100, 128, 300});
  };
  double scales4 = 512 * 2 + 512 * 3 * 2, scales8 = 512 + 512 * 3;
  double result = 2 * 100 * 300;
  EXPECT_EQ(count("nvfp4_no_global_scale"), 400 * 64 + scales4 + result);
  EXPECT_EQ(count("nvfp4"), 400 * 64 + scales4 + result + 8);
  EXPECT_EQ(count("mxfp8"), 400 * 128 + scales8 + result);
}

// Hopper has no operands of 4 bits, but quantizes to them.
TEST(LinearModel, NoOperandsOfFourBits) {
  LinearTimes times =
      getLinearTimes(Model::Torchao, *findLinearRecipe("nvfp4"),
                     *target::findGpu("H100"), {4096, 4096, 4096});
  EXPECT_TRUE(std::isnan(times.product));
  EXPECT_TRUE(std::isnan(times.getSpeedup()));
  EXPECT_GT(times.quantization, 0);
}

TEST(LinearModel, Names) {
  EXPECT_EQ(findLinearRecipe("nvfp5"), nullptr);
  EXPECT_EQ(findModel("other"), std::nullopt);
  EXPECT_EQ(getName(*findModel("exact")), "exact");
  EXPECT_EQ(listModels(), "torchao, exact");
  EXPECT_EQ(listLinearRecipes(),
            "mxfp8, mxfp4, nvfp4, nvfp4_static, nvfp4_no_global_scale");
}

//===- ProductTimelineTest.cpp - The time that a schedule takes -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/ProductFamily.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/Parser/Parser.h"
#include "llvm/Support/FormatVariadic.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::products;

namespace {

/// What a family says of n x n x n on a B200.
class RatedTest : public testing::Test {
protected:
  RatedTest() { context.loadDialect<BlockScaleDialect, func::FuncDialect>(); }

  ProductTimeline rate(bool isFp4, int64_t n, int64_t rows, int64_t cols,
                       int64_t multicast = 1, int64_t splits = 1) {
    std::string data = llvm::formatv("tensor<{0}x{0}x{1}>", n,
                                     isFp4 ? "f4E2M1FN" : "f8E4M3FN");
    std::string scale =
        llvm::formatv("tensor<{0}x{1}x{2}>", n, n / (isFp4 ? 16 : 32),
                      isFp4 ? "f8E4M3FN" : "f8E8M0FNU");
    std::string text = llvm::formatv(
        "func.func @f(%a: {0}, %s: {1}) -> tensor<{2}x{2}xf32> {{\n"
        "  %y = blockscale.scaled_mm %a, %a scales(%s, %s) block [1, {3}]\n"
        "      : {0}, {0}, {1}, {1} -> tensor<{2}x{2}xf32>\n"
        "  return %y : tensor<{2}x{2}xf32>\n}",
        data, scale, n, isFp4 ? 16 : 32);
    auto module = parseSourceString<ModuleOp>(text, &context);
    Operation *op = nullptr;
    module->walk([&](ProductOpInterface each) { op = each; });
    for (const auto &[schedule, timeline] :
         kTcgen05Family.rate(products::Product(cast<ProductOpInterface>(op)),
                             *target::findChip("sm_100a"), /*hasRemark=*/false))
      if (schedule.getRows() == rows && schedule.getCols() == cols &&
          schedule.getMulticast() == multicast &&
          schedule.getSplits() == splits)
        return timeline;
    ADD_FAILURE() << "no schedule of " << rows << " x " << cols;
    std::abort();
  }

  /// Clocks in a microsecond: a multiprocessor does 16384 FLOP of FP8 in one.
  static inline const double clocks =
      target::findGpu("B200")->getPeakFlops(target::Unit::Fp8) /
      (148 * 16384.0) / kMicroseconds;
  MLIRContext context;
};

/// A product of 1024 x 1024 x 1024 by a kernel of tiles of 128 x 128, in steps
/// of 128, that takes what a test says.
class ProductTimelineTest : public testing::Test {
protected:
  ProductTimelineTest() {
    context.loadDialect<BlockScaleDialect>();
    cost.stepElements = 128;
    cost.slots = 32;
    cost.multiply = 1;
    cost.start = 3;
    cost.peak = 1e9;
  }

  ProductTimeline rate(int64_t splits = 1) {
    GemmSpec spec{/*formats=*/"", /*block=*/32, /*stageElements=*/256,
                  GemmScheduleAttr::get(&context, 128, 128, /*stages=*/4,
                                        /*band=*/8, /*ctas=*/32,
                                        /*multicast=*/1, splits)};
    return {{1024, 1024, 1024}, spec, *target::findGpu("B200"), cost};
  }

  MLIRContext context;
  KernelCost cost;
};

} // namespace

// An instruction of 128 x 256 and 32 bytes of K takes 128 clocks whatever the
// format, one of a pair as long; a tile of 128 x 128 half of that.
TEST_F(RatedTest, Multiply) {
  for (bool isFp4 : {false, true}) {
    EXPECT_DOUBLE_EQ(rate(isFp4, 8192, 128, 128).multiply * clocks, 256);
    EXPECT_DOUBLE_EQ(rate(isFp4, 8192, 128, 256).multiply * clocks, 512);
    EXPECT_DOUBLE_EQ(rate(isFp4, 8192, 256, 256).multiply * clocks, 512);
  }
}

// Bytes that a multiprocessor loads: of 128 rows of A and 256 of B, or of half
// of a pair's B; of A half where two pairs share it; and of scales.
TEST_F(RatedTest, Load) {
  constexpr double clockBytes = 64;
  EXPECT_DOUBLE_EQ(rate(true, 8192, 128, 256).load * clocks * clockBytes,
                   384 * 128 + 384 * 16);
  EXPECT_DOUBLE_EQ(rate(true, 8192, 256, 256).load * clocks * clockBytes,
                   256 * 128 + 384 * 16);
  EXPECT_DOUBLE_EQ(rate(false, 8192, 256, 256, 2).load * clocks * clockBytes,
                   192 * 128 + 384 * 4);
}

// The share that the same arithmetic gives elsewhere, in percent. There columns
// of accumulators are not shared, which takes two percent of the time at most.
TEST_F(RatedTest, Share) {
  EXPECT_NEAR(100 * rate(true, 8192, 128, 128).share, 43, 0.5);
  EXPECT_NEAR(100 * rate(true, 8192, 128, 256).share, 58, 1);
  EXPECT_NEAR(100 * rate(true, 8192, 256, 256).share, 81.4, 1);
  EXPECT_NEAR(100 * rate(true, 8192, 256, 256, 2).share, 96.2, 1.1);
  EXPECT_NEAR(100 * rate(false, 8192, 256, 256).share, 93.2, 1);
  EXPECT_NEAR(100 * rate(false, 8192, 256, 256, 2).share, 97.5, 1);
}

// Parts of K are worth it where tiles are few and K is long, and not elsewhere.
TEST_F(RatedTest, Splits) {
  EXPECT_GT(rate(false, 8192, 128, 128, 1, 2).total,
            rate(false, 8192, 128, 128, 1, 1).total);
  ProductTimeline two = rate(false, 1024, 128, 128, 1, 2);
  EXPECT_EQ(two.tiles, 128);
  EXPECT_EQ(two.steps, 4);
}

// 64 tiles, of which 32 run at a time, have 8 steps each. Writing results is
// hidden, but for the last ones, or is not.
TEST_F(ProductTimelineTest, Total) {
  EXPECT_EQ(rate().waves, 2);
  EXPECT_EQ(rate().steps, 8);
  EXPECT_EQ(rate().total, 3 + 2 * 8);
  EXPECT_EQ(rate().share, 2.0 * 1024 * 1024 * 1024 / 1e9 / 19);
  cost.write = 2;
  EXPECT_EQ(rate().total, 3 + 2 * (8 + 2));
  cost.hiddenWrite = 5;
  EXPECT_EQ(rate().total, 3 + 2 * (8 + 2) + 5);
  cost.hiddenWrite = 20;
  EXPECT_EQ(rate().total, 3 + 2 * 20 + 20);
}

// Of a step the longest counts: decoding hides all of multiplying but a part.
TEST_F(ProductTimelineTest, Step) {
  cost.multiply = 4;
  cost.read = 5;
  cost.load = 3;
  cost.shownMultiply = 0.5;
  EXPECT_EQ(rate().step, 5);
  cost.decode = 6;
  EXPECT_EQ(rate().step, 8);
  cost.load = 9;
  EXPECT_EQ(rate().step, 9);
}

// No product is faster than its operands are read.
TEST_F(ProductTimelineTest, Memory) {
  cost.memory = 15;
  EXPECT_EQ(rate().total, 19);
  cost.memory = 1000;
  EXPECT_EQ(rate().total, 1003);
}

// Parts of K are tiles of their own, whose sums another kernel adds: 2 x 4 of
// them, read and written. Or the CTAs of a cluster have them together.
TEST_F(ProductTimelineTest, Parts) {
  cost.sumStart = 7;
  ProductTimeline apart = rate(/*splits=*/4);
  EXPECT_EQ(apart.tiles, 256);
  EXPECT_EQ(apart.steps, 2);
  const target::Gpu &gpu = *target::findGpu("B200");
  double rate = gpu.peakBytes * gpu.bytesShare / kMicroseconds;
  EXPECT_NEAR(apart.total,
              3 + 8 * 2 + 2 * 4 * 1024 * 1024 * 4 / rate + cost.sumStart, 1e-9);
  cost.addsInCluster = true;
  ProductTimeline together = this->rate(/*splits=*/4);
  EXPECT_EQ(together.tiles, 64);
  EXPECT_EQ(together.steps, 2);
  EXPECT_EQ(together.total, 3 + 2 * 2);
}

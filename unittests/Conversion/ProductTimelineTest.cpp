//===- ProductTimelineTest.cpp - The time that a schedule takes -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Products/ProductTimeline.h"
#include "ToTcgen05/Tcgen05Family.h"
#include "ToTcgen05/Tcgen05Layout.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::products;

namespace {

/// Products of n x n x n on a B200.
class ProductTimelineTest : public testing::Test {
protected:
  ProductTimelineTest() { context.loadDialect<BlockScaleDialect>(); }

  static GemmFormat getFormat(target::Unit unit) {
    using numerics::ElementFormat, numerics::ScaleFormat;
    return unit == target::Unit::Fp4
               ? *GemmFormat::get(ElementFormat::E2M1, ElementFormat::E2M1,
                                  ScaleFormat::E4M3, kTileSteps)
               : *GemmFormat::get(ElementFormat::E4M3, ElementFormat::E4M3,
                                  ScaleFormat::E8M0, kTileSteps);
  }

  ScaledGemmSpec getSpec(target::Unit unit, int64_t rows, int64_t cols,
                         int64_t multicast = 1, int64_t splits = 1) {
    auto schedule =
        GemmScheduleAttr::get(&context, rows, cols, /*stages=*/4, /*band=*/8,
                              /*ctas=*/148, multicast, splits);
    return {getFormat(unit), schedule, /*products=*/1};
  }

  static KernelCost getCost(const ScaledGemmSpec &spec) {
    KernelCost cost = getTcgen05Cost(spec, gpu);
    cost.stepElements = spec.format.getStageElements();
    return cost;
  }

  static ProductTimeline rate(const ScaledGemmSpec &spec, double n) {
    return {{n, n, n}, spec, gpu, getCost(spec)};
  }

  static inline const target::Gpu &gpu = *target::findGpu("B200");
  /// Clocks in a microsecond: a multiprocessor does 16384 FLOP of FP8 in one.
  static inline const double clocks =
      gpu.getPeakFlops(target::Unit::Fp8) / (148 * 16384.0) / kMicroseconds;
  MLIRContext context;
};

// An instruction of 128 x 256 and 32 bytes of K takes 128 clocks whatever the
// format, one of a pair as long; a tile of 128 x 128 half of that.
TEST_F(ProductTimelineTest, Multiply) {
  for (target::Unit unit : {target::Unit::Fp4, target::Unit::Fp8}) {
    auto getClocks = [&](int64_t rows, int64_t cols) {
      return rate(getSpec(unit, rows, cols), 8192).multiply * clocks;
    };
    EXPECT_DOUBLE_EQ(getClocks(128, 128), 256);
    EXPECT_DOUBLE_EQ(getClocks(128, 256), 512);
    EXPECT_DOUBLE_EQ(getClocks(256, 256), 512);
  }
}

// Bytes that a multiprocessor loads: of 128 rows of A and 256 of B, or of half
// of a pair's B; of A half where two pairs share it; and of scales.
TEST_F(ProductTimelineTest, Load) {
  auto getBytes = [](const ScaledGemmSpec &spec) {
    return rate(spec, 8192).load * clocks * 64;
  };
  EXPECT_DOUBLE_EQ(getBytes(getSpec(target::Unit::Fp4, 128, 256)),
                   384 * 128 + 384 * 16);
  EXPECT_DOUBLE_EQ(getBytes(getSpec(target::Unit::Fp4, 256, 256)),
                   256 * 128 + 384 * 16);
  EXPECT_DOUBLE_EQ(getBytes(getSpec(target::Unit::Fp8, 256, 256, 2)),
                   192 * 128 + 384 * 4);
}

// The share that the same arithmetic gives elsewhere, in percent.
TEST_F(ProductTimelineTest, Share) {
  auto share = [&](target::Unit unit, int64_t rows, int64_t cols,
                   int64_t multicast) {
    return 100 * rate(getSpec(unit, rows, cols, multicast), 8192).share;
  };
  EXPECT_NEAR(share(target::Unit::Fp4, 128, 128, 1), 43, 0.5);
  EXPECT_NEAR(share(target::Unit::Fp4, 128, 256, 1), 57.3, 0.1);
  EXPECT_NEAR(share(target::Unit::Fp4, 256, 256, 1), 80.6, 0.1);
  EXPECT_NEAR(share(target::Unit::Fp4, 256, 256, 2), 95.2, 0.1);
  EXPECT_NEAR(share(target::Unit::Fp8, 256, 256, 1), 92.8, 0.5);
  EXPECT_NEAR(share(target::Unit::Fp8, 256, 256, 2), 97.1, 0.5);
}

// Columns that accumulators share cost the time to empty them, each tile: 64 of
// 256 in NVFP4, and none of tiles of 128 columns.
TEST_F(ProductTimelineTest, SharedColumns) {
  ScaledGemmSpec spec = getSpec(target::Unit::Fp4, 128, 256);
  KernelCost cost = getCost(spec);
  EXPECT_DOUBLE_EQ(cost.write, cost.hiddenWrite / 4);
  EXPECT_EQ(getCost(getSpec(target::Unit::Fp4, 128, 128)).write, 0);
  ProductTimeline shared = rate(spec, 8192);
  cost.write = 0;
  ProductTimeline apart({8192, 8192, 8192}, spec, gpu, cost);
  EXPECT_NEAR(shared.total, apart.total + cost.hiddenWrite / 4 * shared.waves,
              1e-9);
}

// Parts of K are worth it where tiles are few and K is long, and not elsewhere.
TEST_F(ProductTimelineTest, Splits) {
  auto total = [&](double n, int64_t splits) {
    return rate(getSpec(target::Unit::Fp8, 128, 128, 1, splits), n).total;
  };
  EXPECT_GT(total(8192, 2), total(8192, 1));
  EXPECT_GT(total(256, 2), total(256, 1));
  ProductTimeline two = rate(getSpec(target::Unit::Fp8, 128, 128, 1, 2), 1024);
  EXPECT_EQ(two.tiles, 128);
  EXPECT_EQ(two.steps, 4);
}

// Of a step the longest counts: decoding hides all of multiplying but a part.
TEST_F(ProductTimelineTest, Step) {
  ScaledGemmSpec spec = getSpec(target::Unit::Fp8, 128, 128);
  KernelCost cost = getCost(spec);
  cost.multiply = 4;
  cost.read = 5;
  cost.load = 3;
  auto getStep = [&] {
    return ProductTimeline({1024, 1024, 1024}, spec, gpu, cost).step;
  };
  EXPECT_EQ(getStep(), 5);
  cost.shownMultiply = 0.5;
  EXPECT_EQ(getStep(), 5);
  cost.decode = 6;
  EXPECT_EQ(getStep(), 8);
  cost.load = 9;
  EXPECT_EQ(getStep(), 9);
}

// No product is faster than its operands are read.
TEST_F(ProductTimelineTest, Memory) {
  ScaledGemmSpec spec = getSpec(target::Unit::Fp8, 128, 128);
  KernelCost cost = getCost(spec);
  ProductTimeline fast({1024, 1024, 1024}, spec, gpu, cost);
  cost.memory = 1000;
  ProductTimeline slow({1024, 1024, 1024}, spec, gpu, cost);
  EXPECT_LT(fast.total, 1000);
  EXPECT_DOUBLE_EQ(slow.total, cost.start + 1000);
}

// The CTAs of a cluster have the parts of a tile, and add them without another
// kernel.
TEST_F(ProductTimelineTest, Clusters) {
  ScaledGemmSpec spec = getSpec(target::Unit::Fp8, 128, 128, 1, /*splits=*/4);
  KernelCost cost = getCost(spec);
  ProductTimeline apart({1024, 1024, 1024}, spec, gpu, cost);
  cost.addsInCluster = true;
  ProductTimeline together({1024, 1024, 1024}, spec, gpu, cost);
  EXPECT_EQ(apart.tiles, 4 * together.tiles);
  EXPECT_EQ(apart.steps, together.steps);
  EXPECT_GT(apart.total, together.total + cost.sumStart);
}

} // namespace

//===- GemmTimelineTest.cpp - Cycles of a matrix product on SM100 ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/GemmTimeline.h"

#include "mlir/IR/MLIRContext.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// Products of n x n x n on a B200.
class GemmTimelineTest : public testing::Test {
protected:
  GemmTimelineTest() { context.loadDialect<BlockScaleDialect>(); }

  GemmTimeline rate(target::Unit unit, double n, int64_t rows, int64_t cols,
                    int64_t multicast = 1, int64_t splits = 1,
                    double sharedColumns = 0) {
    bool isFp4 = unit == target::Unit::Fp4;
    GemmShape shape{n,
                    n,
                    n,
                    /*matrices=*/1,
                    unit,
                    /*stepElements=*/isFp4 ? 256.0 : 128.0,
                    /*stepScaleBytes=*/isFp4 ? 16.0 : 4.0,
                    /*stepBytesA=*/128,
                    /*stepBytesB=*/128};
    auto schedule =
        GemmScheduleAttr::get(&context, rows, cols, /*stages=*/4, /*band=*/8,
                              /*ctas=*/148, multicast, splits);
    return {*target::findGpu("B200"), shape, schedule, sharedColumns};
  }

  MLIRContext context;
};

// An instruction of 128 x 256 and 32 bytes of K takes 128 clocks whatever the
// format, one of a pair as long; a tile of 128 x 128 half of that.
TEST_F(GemmTimelineTest, Multiply) {
  for (target::Unit unit : {target::Unit::Fp4, target::Unit::Fp8}) {
    EXPECT_EQ(rate(unit, 8192, 128, 128).multiply, 256);
    EXPECT_EQ(rate(unit, 8192, 128, 256).multiply, 512);
    EXPECT_EQ(rate(unit, 8192, 256, 256).multiply, 512);
  }
}

// Bytes that a multiprocessor loads: of 128 rows of A and 256 of B, or of half
// of a pair's B; of A half where two pairs share it; and of scales.
TEST_F(GemmTimelineTest, Load) {
  EXPECT_EQ(rate(target::Unit::Fp4, 8192, 128, 256).load,
            (384 * 128 + 384 * 16) / 64.0);
  EXPECT_EQ(rate(target::Unit::Fp4, 8192, 256, 256).load,
            (256 * 128 + 384 * 16) / 64.0);
  EXPECT_EQ(rate(target::Unit::Fp8, 8192, 256, 256, 2).load,
            (192 * 128 + 384 * 4) / 64.0);
}

// The share that the same arithmetic gives elsewhere, in percent.
TEST_F(GemmTimelineTest, Share) {
  auto share = [&](target::Unit unit, int64_t rows, int64_t cols,
                   int64_t multicast) {
    return 100 * rate(unit, 8192, rows, cols, multicast).share;
  };
  EXPECT_NEAR(share(target::Unit::Fp4, 128, 128, 1), 43, 0.5);
  EXPECT_NEAR(share(target::Unit::Fp4, 128, 256, 1), 58, 0.5);
  EXPECT_NEAR(share(target::Unit::Fp4, 256, 256, 1), 81.4, 0.1);
  EXPECT_NEAR(share(target::Unit::Fp4, 256, 256, 2), 96.2, 0.1);
  EXPECT_NEAR(share(target::Unit::Fp8, 256, 256, 1), 93.2, 0.1);
  EXPECT_NEAR(share(target::Unit::Fp8, 256, 256, 2), 97.5, 0.1);
}

// Columns that accumulators share cost the time to empty them, each tile.
TEST_F(GemmTimelineTest, SharedColumns) {
  GemmTimeline apart = rate(target::Unit::Fp4, 8192, 128, 256);
  GemmTimeline shared = rate(target::Unit::Fp4, 8192, 128, 256, 1, 1, 64);
  EXPECT_EQ(shared.exposed, shared.write / 4);
  EXPECT_DOUBLE_EQ(shared.total, apart.total + shared.exposed * shared.waves);
}

// Parts of K are worth it where tiles are few and K is long, and not elsewhere.
TEST_F(GemmTimelineTest, Splits) {
  auto total = [&](double n, int64_t splits) {
    return rate(target::Unit::Fp8, n, 128, 128, 1, splits).total;
  };
  EXPECT_GT(total(8192, 2), total(8192, 1));
  EXPECT_GT(total(256, 2), total(256, 1));
  EXPECT_EQ(rate(target::Unit::Fp8, 1024, 128, 128, 1, 2).tiles, 128);
  EXPECT_EQ(rate(target::Unit::Fp8, 1024, 128, 128, 1, 2).steps, 4);
}

} // namespace

//===- ScaledMmaFamily.cpp - Products by block-scaled mma.sync ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step takes as long as the tensor cores multiply, shared memory is read, or
// operands arrive from the L2 cache, whichever is the longest. Tiles come in
// waves of one for each multiprocessor. Nothing multiplies while results of a
// tile are written. The rates of memories are assumptions, nothing was
// measured: trust the order of schedules more than shares of the peak.
//
//===----------------------------------------------------------------------===//

#include "Products/ProductFamily.h"
#include "ScaledMmaRoles.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscale::products {

/// FLOP of a multiprocessor in a clock, dense, of operands of 4 bits. Those of
/// 8 bits have half of them: block-scaled ones are not slowed down on GPUs for
/// games, as plain ones are.
static constexpr double kFp4Flops = 4096;
/// Bytes in a clock: from shared memory, and from the L2 cache, of which Chips
/// and Cheese ("Blackwell: Nvidia's Massive GPU", 2025) measured 8.7e12 a
/// second on RTX PRO 6000, whose 188 multiprocessors have a clock of 2.617 GHz.
static constexpr double kSharedBytes = 128;
static constexpr double kL2Bytes = 8.7e12 / (188 * 2.617e9);
/// Instructions an element of those that write results, clocks before the first
/// one, and instructions of all warps in a clock.
static constexpr double kWriteInstructions = 3;
static constexpr double kWriteStart = 400;
static constexpr double kIssue = 4;
/// Clocks from the launch to the first product.
static constexpr double kFill = 5500;

namespace {

struct ScaledMmaFamily : ScaledFamily {
  using Layout = ScaledMmaLayout;
  static constexpr ProductKernel kernel = ProductKernel::ScaledMma;
  static constexpr int64_t kMinPartSteps = 8;
  static constexpr auto emit = emitScaledMma;

  static std::optional<GemmFormat> find(const Product &product,
                                        const target::Chip &) {
    return GemmFormat::find(product, kStageSteps);
  }

  static LogicalResult verifyTile(const Product &product,
                                  const LaunchSite &site, const GemmFormat &,
                                  GemmScheduleAttr schedule) {
    int64_t rows = schedule.getRows(), cols = schedule.getCols();
    if (rows == kMmaTileRows && cols == kMmaTileCols)
      return success();
    return refuseProduct(product, site, ProductClause::Schedule)
           << "expected a schedule with tiles of " << kMmaTileRows << " x "
           << kMmaTileCols << ", but got " << rows << " x " << cols;
  }

  /// One stage is multiplied while the next one arrives.
  static RingStages getStages(const ScaledGemmSpec &spec,
                              const target::Chip &chip) {
    return {/*least=*/2, countStages<ScaledMmaLayout>(spec, chip)};
  }

  /// Shared memory has no room for more than one CTA.
  static KernelBlock getBlock(const ScaledGemmSpec &spec) {
    return {kScaledMmaThreads, ScaledMmaLayout(spec).bytes};
  }

  static OperandData getData(const HostOperand &operand,
                             const ScaledGemmSpec &spec) {
    return getScaledData(operand, spec,
                         operand.isA ? spec.schedule.getRows()
                                     : spec.getResultCols());
  }

  static SmallVector<TileChoice> getTiles(const GemmFormat &, int64_t) {
    return {{kMmaTileRows, kMmaTileCols, /*maxSplits=*/16}};
  }

  static KernelCost getCost(const AssumedSizes &, const ScaledGemmSpec &spec,
                            const target::Gpu &gpu) {
    const GemmFormat &format = spec.format;
    GemmScheduleAttr schedule = spec.schedule;
    ScaledMmaLayout shared(spec);
    double peak = gpu.getPeakFlops(target::Unit::Fp4) / kMicroseconds;
    double clock = peak / (gpu.multiprocessors * kFp4Flops);
    double share = static_cast<double>(format.stepElements) / 64;
    auto rows = static_cast<double>(schedule.getRows());
    auto cols = static_cast<double>(schedule.getCols());
    auto ofA = static_cast<double>(shared.dataBytesA + shared.scaleBytesA);
    auto ofB = static_cast<double>(shared.dataBytesB + shared.scaleBytesB);
    KernelCost cost;
    cost.multiply = 2 * rows * cols *
                    static_cast<double>(format.getStageElements()) /
                    (kFp4Flops * share) / clock;
    // Each warp reads its rows and columns.
    cost.read = (ofA * kColWarps + ofB * kRowWarps) / kSharedBytes / clock;
    cost.load = (ofA + ofB) / kL2Bytes / clock;
    cost.slots = std::min<double>(static_cast<double>(schedule.getCtas()),
                                  gpu.multiprocessors);
    cost.write = (rows * cols / kWarpThreads * kWriteInstructions / kIssue +
                  kWriteStart) /
                 clock;
    cost.start = kFill / clock;
    cost.sumStart = target::kLaunchSeconds * kMicroseconds;
    cost.peak = peak * share;
    return cost;
  }

  static std::string getNote(const GemmFormat &) {
    return llvm::formatv("; assumed are {0:f0} FLOP of 4 bits, {1:f0} bytes of "
                         "shared memory and "
                         "{2:f1} of the L2 cache a clock and multiprocessor, "
                         "{3:f0} instructions "
                         "to write a result, {4:f0} clocks to begin",
                         kFp4Flops, kSharedBytes, kL2Bytes, kWriteInstructions,
                         kFill);
  }
};

} // namespace

constexpr ProductFamily kScaledMmaFamily = describeFamily<ScaledMmaFamily>();

} // namespace blockscale::products

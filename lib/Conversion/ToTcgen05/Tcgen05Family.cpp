//===- Tcgen05Family.cpp - Products by tcgen05.mma ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of a kernel is estimated from what each multiprocessor does in a
// clock. A step is 128 bytes of K, four instructions:
//
//   multiply   rows * cols * elements at the rate of the tensor cores
//   read       operands and scales from shared memory
//   load       operands and scales from the L2 cache, multicast ones divided
//
// Results of a tile are written while the next one is multiplied, but for
// columns that the accumulators share. Tiles come in waves of one for each CTA
// or pair.
//
// The rates of memories are assumptions, nothing was measured: trust the order
// of schedules more than shares of the peak. Power limits are left out.
//
//===----------------------------------------------------------------------===//

#include "Products/ProductFamily.h"
#include "Tcgen05Roles.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscale::products {

/// A map of all tiles of scales, a quarter of a tile a row, of which a copy
/// brings those of a band and step.
static Value createScaleMap(LaunchSite &site, const ScaledGemmSpec &spec,
                            Value memory) {
  ImplicitLocOpBuilder &b = site.b;
  requireAlignment(b, memory, kCopyBytes);
  constexpr int64_t quarters = kTileBytes / kRowBytes;
  constexpr int64_t tileRank = std::size(numerics::kTileShape);
  Value rows = emit::getIndex(b, quarters);
  int64_t leading = cast<MemRefType>(memory.getType()).getRank() - tileRank;
  for (int64_t dim = 0; dim < leading; ++dim)
    rows = emit::mul(b, rows, emit::getDim(b, memory, dim));
  Value row = emit::getIndex(b, kRowBytes);
  Value dims[] = {row, atLeast(b, rows, 1)};
  return TensorMapOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext()),
      getGlobalPointer(b, memory), dims, ValueRange{row},
      ArrayRef<int64_t>{kRowBytes, spec.format.getScaleTiles() * quarters},
      MapElement::UInt8, /*swizzle=*/0);
}

/// Instructions an element of the four warps that write results.
static constexpr double kWriteInstructions = 1.7;
static constexpr double kWriteThreads = 128;

namespace {

struct Tcgen05Family : ScaledFamily {
  using Layout = SharedLayout;
  static constexpr ProductKernel kernel = ProductKernel::Tcgen05;
  static constexpr int64_t kMinPartSteps = 4;
  static constexpr auto emit = emitTcgen05;
  static constexpr bool hasMulticast = true;
  static constexpr bool hasFragments = true;

  static std::optional<GemmFormat> find(const Product &product,
                                        const target::Chip &chip) {
    std::optional<GemmFormat> format = GemmFormat::find(product, kTileSteps);
    if (format)
      format->hasLongSteps = chip.hasLongTcgen05() &&
                             format->kind != NVVM::MMABlockScaleKind::MXF8F6F4;
    return format;
  }

  static ScaledGemmSpec createSpec(const GemmFormat &format,
                                   GemmScheduleAttr schedule, int64_t products,
                                   const target::Chip &) {
    GemmFormat own = format;
    // A long step may have a part of two stages.
    own.hasLongSteps &= schedule.getStages() > 1;
    return {own, schedule, products};
  }

  static LogicalResult verifyTile(const Product &product,
                                  const LaunchSite &site, const GemmFormat &,
                                  GemmScheduleAttr schedule) {
    int64_t rows = schedule.getRows(), cols = schedule.getCols();
    if (rows != 128 && rows != 256)
      return refuseProduct(product, site, ProductClause::Schedule)
             << "expected a schedule of 128 or 256 rows, but got " << rows;
    if (cols != 256 && (cols != 128 || rows == 256))
      return refuseProduct(product, site, ProductClause::Schedule)
             << "expected a schedule of " << rows << " rows to have "
             << (rows == 256 ? "256" : "128 or 256") << " columns, but got "
             << cols;
    // Each product has scales of whole bands of 128 rows.
    if (product.siblings > 1 && cols != 256)
      return refuseProduct(product, site, ProductClause::Schedule)
             << "expected a schedule of two products to have 256 columns, but "
                "got "
             << cols;
    return success();
  }

  static RingStages getStages(const ScaledGemmSpec &spec,
                              const target::Chip &chip) {
    return {/*least=*/1, countStages<SharedLayout>(spec, chip)};
  }

  /// Shared memory has no room for more than one CTA.
  static KernelBlock getBlock(const ScaledGemmSpec &spec) {
    return {kTcgen05Threads, SharedLayout(spec).bytes,
            Cluster::getBlocks(spec.schedule)};
  }

  static OperandData getData(const HostOperand &operand,
                             const ScaledGemmSpec &spec) {
    GemmScheduleAttr schedule = spec.schedule;
    BlockRows mine(schedule.getRows(), schedule.getCols());
    return getScaledData(operand, spec,
                         operand.isA
                             ? mine.dataA / schedule.getMulticast()
                             : std::min(mine.dataB, spec.getResultCols()));
  }

  static Value getScale(LaunchSite &site, const ScaledGemmSpec &spec,
                        Value scale) {
    Value memory = site.lookup(scale);
    return Cluster::getTileBlocks(spec.schedule) > 1
               ? createScaleMap(site, spec, memory)
               : memory;
  }

  /// Tiles of a pair of CTAs are too large for products that need parts of K.
  static SmallVector<TileChoice> getTiles(const GemmFormat &,
                                          int64_t products) {
    constexpr int64_t maxSplits = 16;
    SmallVector<TileChoice> tiles;
    if (products == 1)
      tiles.push_back({128, 128, maxSplits});
    tiles.push_back({128, 256, maxSplits});
    tiles.push_back({256, 256});
    tiles.push_back({256, 256, /*maxSplits=*/1, /*multicast=*/2});
    return tiles;
  }

  static KernelCost getCost(const AssumedSizes &, const ScaledGemmSpec &spec,
                            const target::Gpu &gpu) {
    const GemmFormat &format = spec.format;
    GemmScheduleAttr schedule = spec.schedule;
    bool isPacked = format.stepElements == 64;
    double fp8Peak = gpu.getPeakFlops(target::Unit::Fp8) / kMicroseconds;
    double clock = getClock(gpu);
    KernelCost cost;
    cost.peak =
        gpu.getPeakFlops(isPacked ? target::Unit::Fp4 : target::Unit::Fp8) /
        kMicroseconds;
    double flops = kFp8Flops * cost.peak / fp8Peak;
    auto rows = static_cast<double>(schedule.getRows());
    auto cols = static_cast<double>(schedule.getCols());
    // Multiprocessors of a tile: each has a part of the rows of both operands.
    auto blocks = static_cast<double>(Cluster::getTileBlocks(schedule));
    double ofA = rows / blocks, ofB = cols / blocks;
    auto scales =
        (ofA + cols) * static_cast<double>(kTileSteps * format.stepScales);
    // Codes that get a byte's place are half as many bytes before.
    auto getLoaded = [&](numerics::ElementFormat operand) {
      return format.isPadded(operand) ? kRowBytes / 2.0 : kRowBytes;
    };
    cost.multiply = 2 * rows * cols *
                    static_cast<double>(format.getStageElements()) /
                    (flops * blocks) / clock;
    cost.read = ((ofA + ofB) * kRowBytes + scales) / kSharedBytes / clock;
    cost.load = (ofA / static_cast<double>(schedule.getMulticast()) *
                     getLoaded(format.a) +
                 ofB * getLoaded(format.b) + scales) /
                kL2Bytes / clock;
    double units = std::min<double>(static_cast<double>(schedule.getCtas()),
                                    gpu.multiprocessors);
    cost.slots = std::max(1.0, std::floor(units / blocks));
    auto shared = static_cast<double>(
        TensorLayout(format, schedule.getRows(), schedule.getCols()).shared);
    cost.hiddenWrite =
        (ofA * cols / kWriteThreads * kWriteInstructions + kWriteStart) / clock;
    cost.write = cost.hiddenWrite * shared / cols;
    cost.start = kFill / clock;
    cost.sumStart = target::kLaunchSeconds * kMicroseconds;
    return cost;
  }

  static std::string getNote(const GemmFormat &) {
    return llvm::formatv("; assumed are {0:f0} bytes of shared memory and "
                         "{1:f0} of the L2 cache "
                         "a "
                         "clock and multiprocessor, {2:f1} instructions to "
                         "write a result, {3:f0} "
                         "clocks to begin",
                         kSharedBytes, kL2Bytes, kWriteInstructions, kFill);
  }
};

} // namespace

constexpr ProductFamily kTcgen05Family = describeFamily<Tcgen05Family>();

} // namespace blockscale::products

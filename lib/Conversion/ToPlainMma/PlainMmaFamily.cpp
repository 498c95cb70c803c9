//===- PlainMmaFamily.cpp - Products by plain mma.sync --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A step takes as long as the tensor cores multiply it or operands arrive,
// whichever is longer, and never less than to decode it, or, where nothing is
// decoded, to read it from shared memory. Tiles come in waves of
// as many CTAs as multiprocessors hold, and no product is faster than memory is
// read. Rates were measured on a Hopper GPU, which runs the same instructions.
//
//===----------------------------------------------------------------------===//

#include "PlainMmaRoles.h"
#include "Products/ProductFamily.h"

using namespace mlir;

namespace blockscale::products {

static constexpr int64_t kPlainRows[] = {16, 32, 64, 128};
static constexpr int64_t kScaledRows[] = {64, 128, 256};
/// The most stages of tiles of up to 64 plain rows, and of more: others were no
/// faster.
static constexpr int64_t kSmallStages = 5;
static constexpr int64_t kLargeStages = 4;
static constexpr int64_t kMaxSplits = 16;

// Measured on an H100 and an H200, in microseconds.
/// The share of the peak at which the widest tiles are multiplied. That peak is
/// of another instruction: mma.sync alone reaches three quarters of it.
static constexpr double kMultiplyShare = 0.44;
/// The same where nothing is decoded: in tiles of 256 rows of B, in smaller
/// ones, and in those of few warps beside which a multiprocessor has no other
/// CTA.
static constexpr double kWideShare = 0.55;
static constexpr double kSmallShare = 0.51;
static constexpr double kLoneShare = 0.42;
static constexpr int64_t kWideRows = 256;
/// Bytes that a multiprocessor reads from its shared memory and writes there,
/// a microsecond.
static constexpr double kSharedBytes = 2e5;
/// Decoding a step of 64 rows: codes of 4 bits, FP8 where the chip converts it,
/// and others.
static constexpr double kDecodedRows = 64;
static constexpr double kDecodeFours = 0.13;
static constexpr double kDecodeConverted = 0.2;
static constexpr double kDecodeOthers = 0.27;
/// What codes of 4 bits that a global scale multiplies take goes by
/// instructions: where others have four for a pair, five by split factors,
/// which take eight for those of a thread, and nine without them.
static constexpr double kDecodeSplit = kDecodeFours * 6 / 4;
static constexpr double kDecodeDequantized = kDecodeFours * 9 / 4;
/// How much longer decoding takes where a multiprocessor has half of the CTAs
/// that it has room for, in tiles of more plain rows than this.
static constexpr double kAlone = 1.5;
static constexpr int64_t kAloneRows = 32;
/// The part of multiplying that is not hidden where decoding takes longer.
static constexpr double kShownMultiply = 0.5;
/// Bytes that come from the L2 cache to all multiprocessors, a microsecond, and
/// that do where nothing is decoded.
static constexpr double kCacheBytes = 4e6;
static constexpr double kPlainCacheBytes = 8e6;
/// What a stage takes to arrive, however small it is.
static constexpr double kArrival = 1;
/// Writing the results of 32 plain rows by 64 others, and filling the ring.
static constexpr double kPartWrite = 0.25;
static constexpr double kTileStart = 1.2;
/// What every product takes beside its tiles, and what the kernel takes more
/// that adds sums of parts of K.
static constexpr double kStart = 3.5;
static constexpr double kSumStart = 5;
/// The share of the memory's rate at which products read that wait for it.
static constexpr double kReadShare = 0.65;

static double getDecode(const PlainMmaSpec &spec) {
  if (!spec.format.hasScales)
    return 0;
  if (spec.format.canSplitFactors())
    return kDecodeSplit;
  if (spec.format.scalesElements)
    return kDecodeDequantized;
  if (spec.format.getBits() == 4)
    return kDecodeFours;
  return hasConversion(spec) ? kDecodeConverted : kDecodeOthers;
}

/// The share of the peak at which a multiprocessor multiplies that has
/// `together` CTAs.
static double getMultiplyShare(const PlainMmaSpec &spec, double together) {
  if (spec.format.hasScales)
    return kMultiplyShare;
  if (spec.getScaledRows() >= kWideRows)
    return kWideShare;
  return together < static_cast<double>(spec.getMaxResidentBlocks())
             ? kLoneShare
             : kSmallShare;
}

/// Rows that warps read of a step: each one those of its part of the tile.
static int64_t countReadRows(const PlainMmaSpec &spec) {
  return spec.getRowWarps() * spec.getPlainWarps() *
         (spec.getWarpScaledRows() + spec.getWarpPlainRows());
}

namespace {

struct PlainMmaFamily : DecodedFamily<PlainMmaSpec> {
  using Layout = PlainMmaLayout;
  static constexpr ProductKernel kernel = ProductKernel::PlainMma;
  static constexpr int64_t kMinPartSteps = 16;
  static constexpr auto emit = emitPlainMma;

  static void setDepth(Spec &spec, int64_t depth) { spec.setDepth(depth); }

  static LogicalResult verify(const Product &product, const LaunchSite &site) {
    return verifyDecoded(product, site, "mma.sync");
  }

  static LogicalResult verifyTile(const Product &product,
                                  const LaunchSite &site,
                                  const DecodedFormat &format,
                                  GemmScheduleAttr schedule) {
    if (hasTile(getTiles(format, product.siblings), schedule))
      return success();
    return refuseProduct(product, site, ProductClause::Schedule)
           << "expected a schedule with tiles of 64, 128 or 256 "
           << (format.isScaledA ? "rows" : "columns")
           << (format.hasScales
                   ? ", those of the operand with scales, by 16, 32, 64 or 128 "
                     "of the plain one that such a tile can have, but got "
                   : " by 16, 32, 64 or 128 rows that such a tile can have, "
                     "but "
                     "got ")
           << schedule.getRows() << " x " << schedule.getCols();
  }

  static RingStages getStages(const PlainMmaSpec &spec, const target::Chip &) {
    return {kLeastPlainMmaStages, PlainMmaLayout::getMaxStages(spec)};
  }

  static KernelBlock getBlock(const PlainMmaSpec &spec) {
    return {spec.getThreads(), PlainMmaLayout(spec).bytes, /*clusterBlocks=*/1,
            PlainMmaLayout::getResidentBlocks(spec)};
  }

  static OperandData getData(const HostOperand &operand,
                             const PlainMmaSpec &spec) {
    return getAlignedData(operand, spec.format.getBits(operand.isA));
  }

  static SmallVector<TileChoice> getTiles(const DecodedFormat &format,
                                          int64_t products) {
    SmallVector<TileChoice> tiles;
    for (int64_t plain : kPlainRows)
      for (int64_t scaled : kScaledRows) {
        bool isSmall = scaled < kTileRows && plain > scaled;
        if (!format.hasFragments(plain, products) || isSmall)
          continue;
        tiles.push_back({format.isScaledA ? scaled : plain,
                         format.isScaledA ? plain : scaled, kMaxSplits});
      }
    return tiles;
  }

  static RingChoice chooseRing(const RingStages &ring, const PlainMmaSpec &spec,
                               const AssumedSizes &sizes,
                               const target::Gpu &gpu) {
    int64_t most = spec.getPlainRows() > 64 ? kLargeStages : kSmallStages;
    // Where all tiles run at a time, they share no multiprocessor.
    int64_t resident = countTiles(sizes, spec.schedule) > gpu.multiprocessors
                           ? spec.getMaxResidentBlocks()
                           : 1;
    int64_t stages = PlainMmaLayout::getMaxStages(spec, resident);
    if (stages >= ring.least)
      return {std::min(stages, most), gpu.multiprocessors * resident};
    return {std::min(ring.most, most), gpu.multiprocessors};
  }

  static KernelCost getCost(const AssumedSizes &sizes, const PlainMmaSpec &spec,
                            const target::Gpu &gpu) {
    PlainMmaLayout shared(spec);
    auto scaled = static_cast<double>(spec.getScaledRows());
    auto plain = static_cast<double>(spec.getPlainRows());
    auto stageSteps = static_cast<double>(spec.getStageSteps());
    double resident =
        static_cast<double>(spec.schedule.getCtas()) / gpu.multiprocessors;
    // CTAs of a multiprocessor share it.
    double together = std::min(
        resident, std::max(1.0, std::ceil(countTiles(sizes, spec.schedule) /
                                          gpu.multiprocessors)));
    KernelCost cost;
    cost.peak = gpu.getPeakFlops(target::Unit::Bf16) / kMicroseconds;
    cost.multiply = together * 2 * scaled * plain * kDecodedStep *
                    gpu.multiprocessors * kMicroseconds /
                    (gpu.getPeakFlops(target::Unit::Bf16) *
                     getMultiplyShare(spec, together));
    cost.decode = together * getDecode(spec) * scaled / kDecodedRows;
    if (spec.getPlainRows() > kAloneRows &&
        together < static_cast<double>(spec.getMaxResidentBlocks()))
      cost.decode *= kAlone;
    cost.shownMultiply = kShownMultiply;
    double stepBytes =
        static_cast<double>(shared.plainBytes + shared.codeBytes +
                            shared.scaleBytes) /
        stageSteps;
    cost.load = together * stepBytes * gpu.multiprocessors /
                (spec.format.hasScales ? kCacheBytes : kPlainCacheBytes);
    if (!spec.format.hasScales)
      cost.read = together *
                  (static_cast<double>(countReadRows(spec) * kPlainStepBytes) +
                   stepBytes) /
                  kSharedBytes;
    // Of the ring's stages, one is multiplied, and the next one is there: where
    // nothing is decoded, in the last quarter of that time.
    double arriving = static_cast<double>(spec.schedule.getStages()) -
                      (spec.format.hasScales ? 2 : 1.25);
    cost.load = std::max(cost.load, kArrival / (arriving * stageSteps));
    cost.slots = gpu.multiprocessors * together;
    cost.write = plain / 32 * scaled / 64 * kPartWrite + kTileStart;
    cost.start = kStart;
    cost.sumStart = kSumStart;
    cost.memory = countOperandBytes(sizes, spec.format) /
                  (gpu.peakBytes / kMicroseconds * kReadShare);
    return cost;
  }
};

} // namespace

constexpr ProductFamily kPlainMmaFamily = describeFamily<PlainMmaFamily>();

} // namespace blockscale::products

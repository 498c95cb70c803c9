//===- PlainTcgen05Family.cpp - Plain products by tcgen05.mma -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The time of a kernel is estimated from what each multiprocessor does in a
// clock. A step is 64 elements of K, four instructions:
//
//   multiply   rows * cols * elements at the rate of the tensor cores
//   decode     instructions of the warps that decode, which all four parts of a
//              multiprocessor issue, one a clock
//   read       plain rows and codes from shared memory
//   load       operands and scales from the L2 cache
//
// Results of a tile are written while the next one is multiplied, but for the
// widest tiles, which have one accumulator. No product is faster than memory is
// read. Rates are those that products of two scaled operands assume; nothing
// was measured.
//
//===----------------------------------------------------------------------===//

#include "PlainTcgen05Roles.h"
#include "Products/DecodedPairs.h"
#include "Products/ProductFamily.h"

#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace blockscale::products {

/// Rows of the plain operand that tiles have.
static constexpr int64_t kPlainRows[] = {16, 32, 64, 128, 256};
static constexpr int64_t kMaxSplits = 16;

/// Instructions that decode a pair of elements, as they stand in the PTX of
/// kernels: those that scales take by whole factors, as most of E8M0 do, and
/// E2M1 whose factor they have; E2M1 that a
/// global scale multiplies; E4M3 that the chip converts; and others.
static constexpr double kDecodeFields = 4;
static constexpr double kDecodeDequantized = 9;
static constexpr double kDecodeConverted = 5;
static constexpr double kDecodeOthers = 6;
/// Those of a thread besides, of the scales of a step, and in a stage for
/// addresses and barriers.
static constexpr double kDecodeScales = 10;
static constexpr double kDecodeStart = 45;
/// Parts of a multiprocessor, each of which issues for a quarter of the warps.
static constexpr double kIssuers = 4;
/// Instructions an element of a thread that writes results.
static constexpr double kWriteInstructions = 3;

/// Instructions of a thread that decodes, for each step.
static double countDecode(const PlainTcgen05Spec &spec) {
  if (!spec.format.hasScales)
    return 0;
  double each = spec.format.getSumShift() || canTakeWholeFactor(spec)
                    ? kDecodeFields
                : spec.format.scalesElements ? kDecodeDequantized
                : hasConversion(spec)        ? kDecodeConverted
                                             : kDecodeOthers;
  return kDecodeStart / static_cast<double>(spec.getStageSteps()) +
         kDecodeScales +
         each * static_cast<double>(kDecodedColumns) / kStageParts;
}

namespace {

struct PlainTcgen05Family : DecodedFamily<PlainTcgen05Spec> {
  using Layout = PlainTcgen05Layout;
  static constexpr ProductKernel kernel = ProductKernel::PlainTcgen05;
  static constexpr int64_t kMinPartSteps = 8;
  static constexpr auto emit = emitPlainTcgen05;

  static LogicalResult verify(const Product &product, const LaunchSite &site) {
    return verifyDecoded(product, site, "tcgen05.mma of bf16 and f16");
  }

  static LogicalResult verifyTile(const Product &product,
                                  const LaunchSite &site,
                                  const DecodedFormat &format,
                                  GemmScheduleAttr schedule) {
    SmallVector<TileChoice> tiles = getTiles(format, product.siblings);
    if (hasTile(tiles, schedule))
      return success();
    InFlightDiagnostic diag =
        refuseProduct(product, site, ProductClause::Schedule);
    diag << "expected a schedule with tiles of ";
    llvm::interleave(
        tiles, diag,
        [&](const TileChoice &tile) {
          diag << tile.rows << " x " << tile.cols;
        },
        ", ");
    return diag << ", but got " << schedule.getRows() << " x "
                << schedule.getCols();
  }

  static RingStages getStages(const PlainTcgen05Spec &spec,
                              const target::Chip &chip) {
    return {/*least=*/1, countStages<PlainTcgen05Layout>(spec, chip)};
  }

  /// Tensor memory has no room for more than one CTA.
  static KernelBlock getBlock(const PlainTcgen05Spec &spec) {
    return {getThreads(spec), PlainTcgen05Layout(spec).bytes};
  }

  static OperandData getData(const HostOperand &operand,
                             const PlainTcgen05Spec &spec) {
    return getStagedData(operand, spec, PlainTcgen05Layout(spec).boxBytes);
  }

  static SmallVector<TileChoice> getTiles(const DecodedFormat &format,
                                          int64_t products) {
    SmallVector<TileChoice> tiles;
    for (int64_t plain : kPlainRows)
      if (format.hasFragments(plain, products) &&
          !(format.isPlainMnMajor() && plain < kMnMajorRows))
        tiles.push_back({format.isScaledA ? kLaneRows : plain,
                         format.isScaledA ? plain : kLaneRows, kMaxSplits});
    return tiles;
  }

  static KernelCost getCost(const AssumedSizes &sizes,
                            const PlainTcgen05Spec &spec,
                            const target::Gpu &gpu) {
    PlainTcgen05Layout shared(spec);
    double clock = getClock(gpu);
    auto plain = static_cast<double>(spec.getPlainRows());
    auto steps = static_cast<double>(spec.getStageSteps());
    double plainBytes = static_cast<double>(shared.plainBytes) /
                        static_cast<double>(spec.getPlainSteps());
    double codeBytes =
        static_cast<double>(shared.codeBytes + shared.scaleBytes) / steps;
    KernelCost cost;
    cost.peak = gpu.getPeakFlops(target::Unit::Bf16) / kMicroseconds;
    cost.multiply =
        2 * kLaneRows * plain * kDecodedStep * gpu.multiprocessors / cost.peak;
    cost.decode = countDecode(spec) * kDecodeWarps / kIssuers / clock;
    cost.read = (plainBytes + codeBytes) / kSharedBytes / clock;
    cost.load = (plainBytes + codeBytes) / kL2Bytes / clock;
    cost.slots = std::min<double>(static_cast<double>(spec.schedule.getCtas()),
                                  gpu.multiprocessors);
    double write = (plain * kWriteInstructions + kWriteStart) / clock;
    (spec.getAccumulators() > 1 ? cost.hiddenWrite : cost.write) = write;
    cost.start = kFill / clock;
    cost.sumStart = target::kLaunchSeconds * kMicroseconds;
    cost.memory = countOperandBytes(sizes, spec.format) /
                  (gpu.peakBytes * gpu.bytesShare / kMicroseconds);
    return cost;
  }

  static std::string getNote(const DecodedFormat &) {
    return llvm::formatv(
        "; assumed are {0:f0} bytes of shared memory and {1:f0} of the L2 "
        "cache a clock and multiprocessor, {2:f0} instructions to write a "
        "result, {3:f0} clocks to begin",
        kSharedBytes, kL2Bytes, kWriteInstructions, kFill);
  }
};

} // namespace

constexpr ProductFamily kPlainTcgen05Family =
    describeFamily<PlainTcgen05Family>();

} // namespace blockscale::products

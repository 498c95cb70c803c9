//===- WgmmaFamily.cpp - Products by wgmma --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread that waits for tensor cores to take its instruction does not decode,
// so that a step takes as long as both together, but for what one warpgroup
// decodes while the other one multiplies. Wide tiles hide decoding: then the
// step takes as long as to multiply. Tiles come in waves of one for each
// multiprocessor, and no product is faster than memory is read.
//
//===----------------------------------------------------------------------===//

#include "Products/ProductFamily.h"
#include "WgmmaRoles.h"

using namespace mlir;

namespace blockscale::products {

/// The most CTAs that share rows of A, and the fewest rows of tiles that do.
static constexpr int64_t kMaxSharers = 2;
static constexpr int64_t kSharedRows = 128;
/// Rows of the plain operand that tiles have.
static constexpr int64_t kPlainRows[] = {kWarpTileRows, 16, 32, 64, 128, 256};

// Measured on an H100 and an H200, in microseconds. First decoding a step, by
// whether data are packed, whether codes have eight bits, and whether tiles
// have 64 rows or fewer instead of 128; then what it takes more where elements
// of E2M1 are multiplied twice, and where a global scale multiplies elements by
// split factors. Without those it takes five instructions a pair more, which
// was not measured.
static constexpr double kStepDecode[2][2][2] = {{{0.22, 0.14}, {0.26, 0.16}},
                                                {{0.15, 0.09}, {0.20, 0.12}}};
static constexpr double kTwiceDecode = 0.02;
/// What a step takes more whose blocks lie across K, which was not measured: a
/// thread loads twice as many codes and scales, and transposes.
static constexpr double kAcrossDecode = 0.03;
static constexpr double kSplitDecode = 0.04;
static constexpr double kDequantizeDecode = 5 * kTwiceDecode;
/// The share of that where warps multiply by themselves, measured with
/// prepacked data on an H200: of one team with tiles of 128 rows, of two, and
/// with tiles of 64 or 32. Two teams take longer at the end of the last tile.
/// With row-major data they were not measured, and count as one.
static constexpr double kWarpDecode = 0.87, kTwoTeamsWarpDecode = 0.705,
                        kFewRowsWarpDecode = 0.6;
static constexpr double kTwoTeamsEnd = 1.1;
/// What a step takes more where teams hand over sums, for each plain row; and
/// where one warpgroup decodes alone.
static constexpr double kHandOver = 0.0005;
static constexpr double kAloneDecode = 0.015;
// Making results of a part of a tile, twice as long where CTAs add their sums;
// what every product takes beside its steps, and what one of clusters takes
// more.
static constexpr double kPartWrite = 0.6;
static constexpr double kStart = 3.4;
static constexpr double kClusterStart = 2.0;
/// The part of multiplying that decoding does not hide, where it takes longer.
static constexpr double kShownMultiply = 0.65;
/// The same of a warpgroup alone.
static constexpr double kAloneShown = 0.8;
/// Bytes that come from the L2 cache to all multiprocessors, a microsecond.
static constexpr double kCacheBytes = 1e7;
/// The share of the time of multiplying where CTAs share rows of A: what comes
/// from the L2 cache takes power, by which the clock rate goes.
static constexpr double kSharedMultiply = 0.985;
/// The share of the memory's rate at which products read that wait for it:
/// they are over before its rate is reached.
static constexpr double kReadShare = 0.65;
/// The share of multiprocessors that clusters of more than two CTAs can use:
/// some of a GPU's larger parts, which a cluster has to fit in, are left over.
static constexpr double kClusterShare = 0.93;

/// The clusters that a GPU runs at a time.
static int64_t countClusters(const target::Gpu &gpu, int64_t parts) {
  double share = parts > 2 ? kClusterShare : 1;
  return static_cast<int64_t>(gpu.multiprocessors * share) / parts;
}

namespace {

/// The format as a tile multiplies it. Of two plain operands either may be the
/// first one, from which a warpgroup takes 64 rows: A where a tile has more
/// columns than that one has rows, else B.
DecodedFormat orient(DecodedFormat format, GemmScheduleAttr schedule,
                     int64_t products) {
  if (!format.hasScales && products == 1)
    format.isScaledA = schedule.getCols() > kMaxScaledRows;
  return format;
}

/// Whether warps can multiply tiles by themselves: the plain operand is A, and
/// the other one is decoded.
bool canMultiplyByWarp(const DecodedFormat &format) {
  return format.hasScales && !format.isScaledA;
}

/// Whether such tiles with so many rows with scales gain anything: wide codes
/// wait for memory, and teams of four warps hand over sums of a chain sooner by
/// `wgmma`.
bool gainsByWarp(const DecodedFormat &format, int64_t scaled) {
  return canMultiplyByWarp(format) && format.getBits() == 4 &&
         !(format.keepsChain && scaled == kWarpgroupRows);
}

/// Whether such tiles can have 32 rows with scales: free order parts K instead,
/// and of packed codes of four bits the rows of two warps lie beside each
/// other.
bool canBeNarrow(const DecodedFormat &format, int64_t plain) {
  return plain == kWarpTileRows && canMultiplyByWarp(format) &&
         format.keepsChain && format.isPacked && format.getBits() == 4 &&
         !format.isAcross();
}

/// The most CTAs of a cluster that add the sums of a tile. Each of their teams
/// adds those of a plain row at least.
int64_t getMostParts(int64_t scaled, int64_t plain) {
  bool isOne = scaled == kMaxScaledRows && plain != kWarpTileRows;
  int64_t teams = isOne ? 1 : kFewTeams;
  return std::min(kMaxParts, plain / teams);
}

/// Whether a tile of so many rows of the first operand and plain ones keeps a
/// chain: it has one team, or teams that hand over sums. One warpgroup alone
/// has sums of so many plain rows only.
bool canKeepChain(const DecodedFormat &format, int64_t scaled, int64_t plain) {
  return scaled == kMaxScaledRows ||
         (format.hasScales && plain <= kMaxChainRows);
}

struct WgmmaFamily : DecodedFamily<WgmmaSpec> {
  using Layout = WgmmaLayout;
  static constexpr ProductKernel kernel = ProductKernel::Wgmma;
  static constexpr int64_t kMinPartSteps = 4;
  static constexpr auto emit = emitWgmma;
  static constexpr bool hasMulticast = true;
  static constexpr bool addsInCluster = true;
  static constexpr bool readsPacked = true;
  static constexpr bool waitsInRoles = true;

  static LogicalResult verify(const Product &product, const LaunchSite &site) {
    if (failed(verifyDecoded(product, site, "wgmma")))
      return failure();
    RankedTensorType type = (product.scaleA ? product.a : product.b).getType();
    for (int64_t dim : {type.getRank() - 2, type.getRank() - 1})
      if (isPrepacked(type) && type.isDynamicDim(dim))
        return refuseProduct(product, site, ProductClause::PackedSizes)
               << "expected prepacked data of known rows and K, which its "
                  "blocks "
                  "do not tell, but got "
               << type << "; unpack it (blockscale.prepack)";
    return success();
  }

  static Spec createSpec(const Format &format, GemmScheduleAttr schedule,
                         int64_t products, const target::Chip &chip) {
    return DecodedFamily::createSpec(orient(format, schedule, products),
                                     schedule, products, chip);
  }

  static LogicalResult verifyTile(const Product &product,
                                  const LaunchSite &site,
                                  const DecodedFormat &given,
                                  GemmScheduleAttr schedule) {
    DecodedFormat format = orient(given, schedule, product.siblings);
    bool isScaledA = format.isScaledA, isOne = product.siblings == 1;
    int64_t scaled = isScaledA ? schedule.getRows() : schedule.getCols();
    int64_t plain = isScaledA ? schedule.getCols() : schedule.getRows();
    bool canNarrow = isOne && canBeNarrow(format, plain);
    if (scaled != kMaxScaledRows && !(scaled == kWarpgroupRows && isOne) &&
        !(scaled == kNarrowRows && canNarrow))
      return refuseProduct(product, site, ProductClause::Schedule)
             << "expected a schedule with tiles of "
             << (canNarrow ? "32, 64 or 128 "
                 : isOne   ? "64 or 128 "
                           : "128 ")
             << (isScaledA ? "rows" : "columns")
             << (format.hasScales
                     ? ", those of the operand with scales, but got "
                 : isOne && !isScaledA ? ", or 256 of 64 or 128 rows, but got "
                                       : ", but got ")
             << scaled;
    int64_t least = isScaledA                   ? kFragment
                    : canMultiplyByWarp(format) ? kWarpTileRows
                                                : 16;
    int64_t most = 256;
    if (format.isPlainMnMajor())
      least = kMnMajorRows;
    if (isScaledA && !isOne)
      least = most = 2 * kFragment;
    if (format.keepsChain && !canKeepChain(format, scaled, plain))
      return refuseProduct(product, site, ProductClause::Chain)
             << "expected a schedule of order chain with tiles of "
             << kMaxScaledRows << (isScaledA ? " rows" : " columns")
             << (format.hasScales ? ", or of 64 beside at most 128 of the "
                                    "plain operand, of whose sums a warpgroup "
                                    "has no more"
                                  : "")
             << ", but got " << scaled << " beside " << plain;
    if (!llvm::isPowerOf2_64(plain) || plain < least || plain > most)
      return refuseProduct(product, site, ProductClause::Schedule)
             << "expected a schedule with tiles of a power of two from "
             << least << " to " << most << " "
             << (isScaledA ? "columns" : "rows")
             << (format.hasScales ? ", those of the plain operand, but got "
                                  : ", but got ")
             << plain;
    return success();
  }

  /// Each team decodes one stage before the one before it is empty.
  static RingStages getStages(const WgmmaSpec &spec, const target::Chip &chip) {
    return {2 * spec.getTeams(),
            countStages<WgmmaLayout>(spec, chip, {/*unit=*/spec.getTeams()})};
  }

  static LogicalResult verifyMore(const Product &product,
                                  const LaunchSite &site,
                                  const WgmmaSpec &spec) {
    GemmScheduleAttr schedule = spec.schedule;
    if (schedule.getStages() % spec.getTeams() != 0)
      return refuseProduct(product, site, ProductClause::Schedule)
             << "expected a schedule with a multiple of " << spec.getTeams()
             << " stages, which so many teams of warpgroups share, but got "
             << schedule.getStages();
    bool canShare = !spec.format.hasScales && spec.products == 1 &&
                    spec.getParts() == 1 && schedule.getRows() >= kSharedRows;
    if (schedule.getMulticast() > (canShare ? kMaxSharers : 1))
      return refuseProduct(product, site, ProductClause::Schedule)
             << "expected a schedule without multicast"
             << (canShare ? " or of pairs" : "") << ", but got "
             << schedule.getMulticast();
    int64_t most = getMostParts(spec.getScaledRows(), spec.getPlainRows());
    if (!llvm::isPowerOf2_64(schedule.getSplits()) ||
        schedule.getSplits() > most)
      return refuseProduct(product, site, ProductClause::Schedule)
             << "expected a schedule with K in a power of two of parts, of at "
                "most "
             << most << ", the CTAs of a cluster, but got "
             << schedule.getSplits();
    return success();
  }

  /// Threads that multiply need all registers of a multiprocessor.
  static KernelBlock getBlock(const WgmmaSpec &spec) {
    return {getWgmmaThreads(spec), WgmmaLayout(spec).bytes,
            spec.getClusterBlocks()};
  }

  static OperandData getData(const HostOperand &operand,
                             const WgmmaSpec &spec) {
    return getStagedData(operand, spec, WgmmaLayout(spec).boxBytes);
  }

  static SmallVector<TileChoice> getTiles(const DecodedFormat &format,
                                          int64_t products) {
    SmallVector<TileChoice> tiles;
    for (int64_t plain : kPlainRows)
      for (int64_t scaled : {kMaxScaledRows, kWarpgroupRows, kNarrowRows}) {
        if ((plain == kWarpTileRows && !gainsByWarp(format, scaled)) ||
            (scaled == kNarrowRows && !canBeNarrow(format, plain)) ||
            !format.hasFragments(plain, products) ||
            (format.isPlainMnMajor() && plain < kMnMajorRows) ||
            (products > 1 && scaled < kMaxScaledRows) ||
            (format.keepsChain && !canKeepChain(format, scaled, plain)))
          continue;
        tiles.push_back({format.isScaledA ? scaled : plain,
                         format.isScaledA ? plain : scaled,
                         getMostParts(scaled, plain)});
      }
    if (!format.hasScales && products == 1) {
      tiles.push_back({kMaxScaledRows, 2 * kMaxScaledRows, kMaxParts});
      if (!format.keepsChain)
        tiles.push_back({kWarpgroupRows, 2 * kMaxScaledRows, kMaxParts});
    }
    if (!format.hasScales && products == 1)
      tiles.push_back(
          {2 * kMaxScaledRows, kMaxScaledRows, /*maxSplits=*/1, kMaxSharers});
    return tiles;
  }

  /// More rows than one tile of warps has would decode weights more than once.
  static bool suits(const WgmmaSpec &spec, const AssumedSizes &sizes) {
    return !spec.multipliesByWarp() || sizes.rows <= kWarpTileRows;
  }

  /// Tiles of pairs that run at a time are as many rows as columns.
  static int64_t getBandRows(const TileChoice &tile) {
    return tile.multicast * kBandRows;
  }

  static RingChoice chooseRing(const RingStages &stages, const WgmmaSpec &spec,
                               const AssumedSizes &sizes,
                               const target::Gpu &gpu) {
    int64_t blocks = spec.getClusterBlocks();
    int64_t clusters = countClusters(gpu, blocks);
    if (spec.getSharers() > 1 && sizes.areKnown) {
      // As few as take as many tiles each: those that would be without one in
      // the end leave power to the others.
      auto tiles = static_cast<int64_t>(
                       countTiles(sizes, spec.schedule, addsInCluster)) /
                   spec.getSharers();
      int64_t waves = std::max<int64_t>(llvm::divideCeil(tiles, clusters), 1);
      clusters = std::max<int64_t>(llvm::divideCeil(tiles, waves), 1);
    }
    return {stages.most, clusters * blocks};
  }

  static KernelCost getCost(const AssumedSizes &sizes, const WgmmaSpec &spec,
                            const target::Gpu &gpu) {
    WgmmaLayout shared(spec);
    auto plain = static_cast<double>(spec.getPlainRows());
    auto scaled = static_cast<double>(spec.getScaledRows());
    bool addsSums = spec.getParts() > 1;
    KernelCost cost;
    cost.peak = gpu.getPeakFlops(target::Unit::Bf16) / kMicroseconds;
    cost.multiply = 2.0 * scaled * plain * kDecodedStep * gpu.multiprocessors *
                    kMicroseconds /
                    (gpu.getPeakFlops(target::Unit::Bf16) * gpu.flopsShare);
    bool isWide = spec.format.getBits() == 8;
    if (spec.format.hasScales) {
      cost.decode = kStepDecode[spec.format.isPacked][isWide]
                               [spec.getScaledRows() < kMaxScaledRows];
      double more = spec.format.canSplitFactors() ? kSplitDecode
                    : spec.format.scalesElements  ? kDequantizeDecode
                                                  : kTwiceDecode;
      if (!isWide && !spec.format.getSumShift())
        cost.decode += more * scaled / kMaxScaledRows;
    }
    if (spec.multipliesByWarp()) {
      bool areFew = spec.getScaledRows() < kMaxScaledRows;
      bool areTwo = !areFew && spec.getTeams() > 1 && spec.format.isPacked &&
                    !spec.format.keepsChain;
      cost.decode *= areFew   ? kFewRowsWarpDecode
                     : areTwo ? kTwoTeamsWarpDecode
                              : kWarpDecode;
      if (areTwo)
        cost.hiddenWrite = kTwoTeamsEnd;
    }
    if (spec.format.isAcross())
      cost.decode += kAcrossDecode * scaled / kMaxScaledRows;
    if (spec.handsOverSums())
      cost.decode += kHandOver * plain;
    bool isAlone = spec.getWarpgroups() == 1;
    if (isAlone)
      cost.decode += kAloneDecode;
    cost.shownMultiply = isAlone ? kAloneShown : kShownMultiply;
    int64_t loaded = shared.plainBytes + shared.codeBytes + shared.scaleBytes;
    if (spec.getSharers() > 1) {
      cost.multiply *= kSharedMultiply;
      int64_t ofA =
          spec.format.isScaledA ? shared.codeBytes : shared.plainBytes;
      loaded -= ofA - ofA / spec.getSharers();
    }
    cost.load = static_cast<double>(loaded) /
                static_cast<double>(spec.getStageSteps()) *
                gpu.multiprocessors / kCacheBytes;
    int64_t blocks = spec.getClusterBlocks();
    cost.slots =
        static_cast<double>(countClusters(gpu, blocks) * spec.getSharers());
    cost.write = std::ceil(plain / 64) * kPartWrite * (addsSums ? 2 : 1);
    cost.start = kStart + (blocks > 1 ? kClusterStart : 0);
    cost.memory = countOperandBytes(sizes, spec.format) /
                  (gpu.peakBytes * kReadShare / kMicroseconds);
    return cost;
  }

  /// Elements that leave a power of two to sums give other bits where these are
  /// very small or very large.
  static bool keepsOrder(const WgmmaSpec &spec) {
    return spec.getTeams() == 1 && !spec.format.getSumShift() &&
           !spec.format.canSplitFactors();
  }

  static std::string getNote(const DecodedFormat &format) {
    if (!format.hasScales)
      return "";
    return format.isPacked
               ? "; data are prepacked"
               : "; data are row-major, which take longer to decode than "
                 "prepacked ones (blockscale.prepack)";
  }
};

} // namespace

constexpr ProductFamily kWgmmaFamily = describeFamily<WgmmaFamily>();

} // namespace blockscale::products

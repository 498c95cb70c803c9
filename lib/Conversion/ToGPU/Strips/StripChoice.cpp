//===- StripChoice.cpp - What a warp of a strip kernel has ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripChoice.h"
#include "DeviceEmission/ScaleStore.h"

#include "mlir/IR/Remarks.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

#include <cmath>

using namespace mlir;

namespace blockscale {

static constexpr int64_t kSectorBytes = 32;
/// Elements whose random words threads share, along a row.
static constexpr int64_t kRandomElements = 16;

/// Whether a warp of `spec` may have its fragments in that form.
static bool isLegal(const StripSpec &spec) {
  std::array<int64_t, 2> warp = {spec.shape->getWarpRows(),
                                 spec.shape->getWarpColumns()};
  if (warp[0] % spec.block[0] != 0 || warp[1] % spec.block[1] != 0)
    return false;
  bool isTiled = spec.swizzled || spec.groupedTiles;
  unsigned minor = spec.scaleForm[1].dim;
  if (isTiled && warp[minor] / spec.block[minor] % kTileCols != 0)
    return false;
  int64_t lanes =
      spec.transposed ? spec.shape->laneRows : spec.shape->getLaneColumns();
  if (spec.exchangesCodes && lanes < 2)
    return false;
  return !spec.stochastic || warp[1] % kRandomElements == 0;
}

/// Sectors of `rows` rows of so many bytes.
static int64_t countSectors(int64_t rows, double bytes) {
  return rows * static_cast<int64_t>(std::ceil(bytes / kSectorBytes));
}

static int64_t countSectors(const StripSpec &spec) {
  std::array<int64_t, 2> warp = {spec.shape->getWarpRows(),
                                 spec.shape->getWarpColumns()};
  double codeBytes = static_cast<double>(spec.getDataBits()) / 8;
  int64_t sectors =
      spec.transposed
          ? countSectors(warp[1], static_cast<double>(warp[0]) * codeBytes)
          : countSectors(warp[0], static_cast<double>(warp[1]) * codeBytes);
  const auto &[major, minor] = spec.scaleForm;
  int64_t rows = warp[major.dim] / major.divisor;
  int64_t bytes = warp[minor.dim] / minor.divisor;
  if (!spec.swizzled && !spec.groupedTiles)
    return sectors + countSectors(rows, static_cast<double>(bytes));
  // Rows of a strip that are 32 apart share 16 bytes.
  int64_t places = std::min<int64_t>(rows, kTileRows / kTileCols);
  int64_t strips = llvm::divideCeil(rows, kTileRows) * (bytes / kTileCols);
  return sectors + strips * countSectors(1, static_cast<double>(places * 16));
}

SmallVector<RatedStrip> rateStrips(const StripRequest &request) {
  SmallVector<RatedStrip> strips;
  for (int64_t laneRows = 1; laneRows <= kWarpThreads; laneRows *= 2) {
    StripRequest other = request;
    other.setLaneRows(laneRows);
    if (other.hasOtherStrip && !llvm::all_of(other.specs, isLegal))
      continue;
    const StripShape &shape = *other.shape;
    RatedStrip strip{shape.getWarpRows(), shape.getWarpColumns(), 0};
    strip.sectors = countSectors(
        strip.rows, static_cast<double>(strip.columns * shape.getInputBytes()));
    for (const StripSpec &spec : other.specs)
      strip.sectors += countSectors(spec);
    strips.push_back(strip);
  }
  int64_t rows = request.shape->getWarpRows();
  llvm::sort(strips, [&](const RatedStrip &a, const RatedStrip &b) {
    return std::tuple(a.rows != rows, a.sectors, a.rows) <
           std::tuple(b.rows != rows, b.sectors, b.rows);
  });
  return strips;
}

LogicalResult applyStrip(KernelOp kernel, StripRequest &request) {
  Attribute attr = kernel->getDiscardableAttr(kStripAttrName);
  if (!attr)
    return success();
  SmallVector<RatedStrip> strips = rateStrips(request);
  auto asked = dyn_cast<DenseI64ArrayAttr>(attr);
  for (const RatedStrip &strip : strips)
    if (asked && asked.asArrayRef() == ArrayRef{strip.rows, strip.columns}) {
      request.setLaneRows(strip.rows / request.shape->fragmentRows);
      return success();
    }
  InFlightDiagnostic diag =
      kernel.emitOpError() << "expected " << kStripAttrName << " to be one of ";
  llvm::interleaveComma(strips, diag, [&](const RatedStrip &strip) {
    diag << "array<i64: " << strip.rows << ", " << strip.columns << ">";
  });
  return diag << ", but got " << attr;
}

void remarkStripChoice(Location loc, ArrayRef<RatedStrip> strips) {
  const RatedStrip &best = strips.front();
  std::string others;
  for (const RatedStrip &strip : strips.drop_front())
    others += llvm::formatv("{0}{1} of {2}: {3}", others.empty() ? "" : ", ",
                            strip.rows, strip.columns, strip.sectors);
  remark::analysis(loc,
                   remark::RemarkOpts::name("strip").category("gpu-launch"))
      << remark::add("a warp has {0} rows of {1} columns, which takes {2} "
                     "sectors of 32 bytes to load and store; others: {3}",
                     best.rows, best.columns, best.sectors,
                     others.empty() ? "none" : others);
}

} // namespace blockscale

//===- PatchSpec.cpp - What a patch kernel computes -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PatchSpec.h"
#include "DeviceEmission/ScaleStore.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

static constexpr int64_t kAccessBytes = 16;
/// Elements of a patch along the rows of the data.
static constexpr int64_t kPatchSide = 16;
/// Rows of a warp that makes several results.
static constexpr int64_t kSharedRows = 64;
/// Elements of a warp along the dimension in which scale bytes are adjacent.
static constexpr int64_t kWarpReach = 128;

PatchSpec::PatchSpec(QuantizeOp op, const target::Chip &chip) {
  auto x = cast<RankedTensorType>(op.getX().getType());
  recipe = op.getArithmetic();
  format = getElementFormat(
      cast<RankedTensorType>(op.getData().getType()).getElementType());
  if (auto hadamard = op.getX().getDefiningOp<HadamardOp>())
    signMask = hadamard.getSignMask();
  inputType = x.getElementType();
  columns = x.getShape().back();
  block = {op.getBlock()[0], op.getBlock()[1]};
  bool takesTails = acceptsTails(op.getEffectiveRecipe());
  columnUnit = !hasDynamicColumns() ? columns : takesTails ? 1 : block[1];
  transposed = op.getTransposed();
  scaleForm = op.getScaleForm();
  scaleDim = op.getScaleDim();
  LayoutAttr layout = getLayout(op.getScale().getType());
  groupedTiles = layout && layout.isGrouped();
  swizzled = layout && !groupedTiles;
  int64_t rows = x.getShape().end()[-2];
  rowTails = block[0] > 1 && takesTails &&
             (ShapedType::isDynamic(rows) || rows % block[0] != 0);
  global = op.getGlobalOperand();
  stochastic = op.getRng() != nullptr;
  groupDim = op.getGroupOperand().dim;
  batched =
      x.getRank() > 2 && (swizzled || global.extent == GlobalExtent::Matrix ||
                          transposed || rowTails || !hasScalesAlongRows());
  hasPartialBlocks = rowTails || columnUnit % block[1] != 0;
  chooseShape(chip);
  rowUnit = rowTails ? 1 : std::min(patchRows, block[0]);
  chooseStore();
}

void PatchSpec::chooseShape(const target::Chip &chip) {
  patchRows = transposed ? kPatchSide : kWarpReach / kPatchSide;
  patchColumns = transposed ? kAccessBytes / getInputBytes() : kPatchSide;
  // A warp is as wide, or as high, as wanted, but holds whole blocks, and pairs
  // of threads that exchange codes.
  int64_t codes = kAccessBytes * 8 / getDataBits();
  if (hasScalesAlongRows()) {
    int64_t rows = std::max(block[0], transposed ? codes : patchRows);
    laneRows =
        std::max(kWarpThreads * patchColumns / kWarpReach, rows / patchRows);
  } else {
    int64_t columns = std::max(block[1], transposed ? patchColumns : codes);
    laneRows =
        std::min(kWarpReach / patchRows, kWarpThreads * patchColumns / columns);
  }
  int64_t widest = chip.hasWideGlobalAccess() ? 32 : kAccessBytes;
  loadBytes = std::gcd(columnUnit * getInputBytes(),
                       std::min(widest, patchColumns * getInputBytes()));
}

void PatchSpec::chooseStore() {
  storeBytes = getLineBytes();
  if (transposed)
    return;
  bool startsAnywhere = splitsRowBytes() && hasDynamicColumns();
  int64_t rowBytes = llvm::divideCeil(columnUnit * getDataBits(), 8);
  storeBytes = startsAnywhere ? 1 : std::gcd(rowBytes, storeBytes);
}

PatchShape::PatchShape(RankedTensorType x, bool batched, bool hasTransforms)
    : inputType(x.getElementType()), columns(x.getShape().back()),
      columnUnit(hasDynamicColumns() ? 1 : columns), batched(batched),
      patchRows(kPatchSide), patchColumns(kAccessBytes / getInputBytes()),
      laneRows(kSharedRows / kPatchSide),
      loadBytes(std::gcd(columnUnit * getInputBytes(), kAccessBytes)),
      rowUnit(hasTransforms ? kPatchSide : 1), hasPartialBlocks(false),
      isShared(true) {}

void PatchSpec::shareShape(MutableArrayRef<PatchSpec> specs,
                           PatchShape &shape) {
  for (const PatchSpec &spec : specs) {
    // All hold; dynamic ones are powers of two.
    shape.columnUnit = std::max(shape.columnUnit, spec.columnUnit);
    shape.batched |= spec.batched;
    shape.hasPartialBlocks |= spec.hasPartialBlocks;
    int64_t unit = spec.rowTails ? 1 : std::min(kPatchSide, spec.block[0]);
    shape.rowUnit = std::max(shape.rowUnit, unit);
  }
  shape.loadBytes =
      std::gcd(shape.columnUnit * shape.getInputBytes(), kAccessBytes);
  for (PatchSpec &spec : specs) {
    static_cast<PatchShape &>(spec) = shape;
    spec.chooseStore();
  }
}

int64_t PatchSpec::getRowGranule() const {
  if (!swizzled)
    return 1;
  return hasScalesAlongRows() ? kTileRows : kTileCols * block[0];
}

int64_t PatchSpec::getColumnGranule() const {
  if (!swizzled)
    return 1;
  return hasScalesAlongRows() ? kTileCols * block[1] : kTileRows;
}

std::string PatchSpec::getKernelName() const {
  std::string name;
  llvm::raw_string_ostream os(name);
  if (signMask)
    os << "rht" << *signMask << '_';
  os << "quantize_" << block[0] << 'x' << block[1] << '_'
     << numerics::getFormatInfo(format).name << '_' << numerics::getName(recipe)
     << '_' << inputType;
  if (!hasDynamicColumns())
    os << "_k" << columns;
  if (transposed)
    os << "_transposed";
  if (scaleDim)
    os << "_scales_" << stringifyScaleDim(*scaleDim);
  if (swizzled)
    os << "_swizzled";
  if (rowTails)
    os << "_tails";
  if (batched)
    os << "_batched";
  os << getGlobalName(global);
  if (stochastic)
    os << "_rng";
  os << getGroupName(groupDim);
  if (groupedTiles)
    os << "_tiles";
  return name;
}

} // namespace blockscale

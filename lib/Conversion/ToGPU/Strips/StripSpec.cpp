//===- StripSpec.cpp - What a strip kernel computes -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripSpec.h"
#include "DeviceEmission/ScaleStore.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

static constexpr int64_t kAccessBytes = 16;
/// Elements of a fragment along the rows of the data.
static constexpr int64_t kFragmentSide = 16;
/// Rows of a warp that makes several results.
static constexpr int64_t kSharedRows = 64;
/// Elements of a warp along the dimension in which scale bytes are adjacent.
static constexpr int64_t kWarpReach = 128;

StripSpec::StripSpec(QuantizeOp op, const target::Chip &chip) {
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
  rowUnit = rowTails ? 1 : std::min(fragmentRows, block[0]);
  chooseStore();
}

void StripSpec::chooseShape(const target::Chip &chip) {
  fragmentRows = transposed ? kFragmentSide : kWarpReach / kFragmentSide;
  fragmentColumns = transposed ? kAccessBytes / getInputBytes() : kFragmentSide;
  // A warp is as wide, or as high, as wanted, but holds whole blocks, and pairs
  // of threads that exchange codes.
  int64_t codes = kAccessBytes * 8 / getDataBits();
  if (hasScalesAlongRows()) {
    int64_t rows = std::max(block[0], transposed ? codes : fragmentRows);
    laneRows = std::max(kWarpThreads * fragmentColumns / kWarpReach,
                        rows / fragmentRows);
  } else {
    int64_t columns = std::max(block[1], transposed ? fragmentColumns : codes);
    laneRows = std::min(kWarpReach / fragmentRows,
                        kWarpThreads * fragmentColumns / columns);
  }
  int64_t widest = chip.hasWideGlobalAccess() ? 32 : kAccessBytes;
  loadBytes = std::gcd(columnUnit * getInputBytes(),
                       std::min(widest, fragmentColumns * getInputBytes()));
}

void StripSpec::chooseStore() {
  storeBytes = getAdjacentBytes();
  if (transposed)
    return;
  bool startsAnywhere = splitsRowBytes() && hasDynamicColumns();
  int64_t rowBytes = llvm::divideCeil(columnUnit * getDataBits(), 8);
  storeBytes = startsAnywhere ? 1 : std::gcd(rowBytes, storeBytes);
}

StripShape::StripShape(RankedTensorType x, bool batched, bool hasTransforms)
    : inputType(x.getElementType()), columns(x.getShape().back()),
      columnUnit(hasDynamicColumns() ? 1 : columns), batched(batched),
      fragmentRows(kFragmentSide),
      fragmentColumns(kAccessBytes / getInputBytes()),
      laneRows(kSharedRows / kFragmentSide),
      loadBytes(std::gcd(columnUnit * getInputBytes(), kAccessBytes)),
      rowUnit(hasTransforms ? kFragmentSide : 1), hasPartialBlocks(false),
      isShared(true) {}

void StripSpec::shareShape(MutableArrayRef<StripSpec> specs,
                           StripShape &shape) {
  for (const StripSpec &spec : specs) {
    // All hold; dynamic ones are powers of two.
    shape.columnUnit = std::max(shape.columnUnit, spec.columnUnit);
    shape.batched |= spec.batched;
    shape.hasPartialBlocks |= spec.hasPartialBlocks;
    int64_t unit = spec.rowTails ? 1 : std::min(kFragmentSide, spec.block[0]);
    shape.rowUnit = std::max(shape.rowUnit, unit);
  }
  shape.loadBytes =
      std::gcd(shape.columnUnit * shape.getInputBytes(), kAccessBytes);
  for (StripSpec &spec : specs) {
    static_cast<StripShape &>(spec) = shape;
    spec.chooseStore();
  }
}

int64_t StripSpec::getRowGranule() const {
  if (!swizzled)
    return 1;
  return hasScalesAlongRows() ? kTileRows : kTileCols * block[0];
}

int64_t StripSpec::getColumnGranule() const {
  if (!swizzled)
    return 1;
  return hasScalesAlongRows() ? kTileCols * block[1] : kTileRows;
}

std::string StripSpec::getKernelName() const {
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

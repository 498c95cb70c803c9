//===- StripSpec.cpp - What a strip kernel computes -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripSpec.h"
#include "DeviceEmission/ScaleStore.h"
#include "FragmentElements.h"
#include "StripKernel.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/ProductSwizzle.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

using namespace mlir;

namespace blockscale {

static constexpr int64_t kAccessBytes = 16;
/// Elements of a fragment along the rows of the data.
static constexpr int64_t kFragmentSide = 16;
/// Rows of a warp that makes several results.
static constexpr int64_t kSharedRows = 64;
/// Rows of a fragment of a long strip, at least.
static constexpr int64_t kLongRows = 8;
/// Elements of a warp along the dimension in which scale bytes are adjacent.
static constexpr int64_t kWarpReach = 128;

StripSpec::StripSpec(QuantizeOp op, const target::Chip &chip) {
  auto own = std::make_shared<StripShape>();
  shape = own;
  auto x = cast<RankedTensorType>(op.getX().getType());
  recipe = op.getArithmetic();
  format = getElementFormat(
      cast<RankedTensorType>(op.getData().getType()).getElementType());
  if (auto hadamard = op.getX().getDefiningOp<HadamardOp>())
    signMask = hadamard.getSignMask();
  own->inputType = x.getElementType();
  own->columns = x.getShape().back();
  block = {op.getBlock()[0], op.getBlock()[1]};
  bool takesTails = acceptsTails(op.getEffectiveRecipe());
  own->columnUnit = !own->hasDynamicColumns() ? own->columns
                    : takesTails              ? 1
                                              : block[1];
  transposed = op.getTransposed();
  scaleForm = op.getScaleForm();
  scaleDim = op.getScaleDim();
  DequantizeOp decoder = findDecoder(op);
  if (decoder)
    decoding.emplace(decoder);
  // Scales need no memory where they are decoded.
  if (!decoder || isStored(op.getScale())) {
    Type scale = op.getScale().getType();
    groupedTiles = getGroupedLayout(scale) != nullptr;
    swizzled = getScaleLayout(scale) == numerics::k128x4 && !groupedTiles;
  }
  int64_t rows = x.getShape().end()[-2];
  rowTails = block[0] > 1 && takesTails &&
             (ShapedType::isDynamic(rows) || rows % block[0] != 0);
  global = op.getGlobalOperand();
  globalPrologue = GlobalPrologue(GlobalChain::find(op));
  stochastic = op.getRng() != nullptr;
  decodesByScale = decoder && decoder.getGlobal() != op.getGlobal();
  roundsValues = decoder && !isStored(op.getData()) &&
                 decoding->roundsElements() &&
                 !(stochastic && chip.hasStochasticCvt());
  isPlaced = op.hasRandomPlace();
  groupDim = op.getGroupOperand().dim;
  PadGroupsOp padding = getPadding(op.getX());
  hasPaddedGroups = padding && op.getOffsets() == padding.getEnds();
  checksEnds =
      op.getOffsets() && !hasPaddedGroups && !op->hasAttr(kEndsCheckedAttrName);
  own->batched =
      x.getRank() > 2 && (swizzled || global.extent == GlobalExtent::Matrix ||
                          transposed || rowTails || !hasScalesAlongRows());
  own->hasPartialBlocks = rowTails || own->columnUnit % block[1] != 0;
  chooseShape(*own, chip);
  own->rowUnit = rowTails ? 1 : std::min(own->fragmentRows, block[0]);
  chooseStore(/*mayExchange=*/true);
}

void StripSpec::chooseShape(StripShape &own, const target::Chip &chip) {
  own.fragmentRows = transposed ? kFragmentSide : kWarpReach / kFragmentSide;
  own.fragmentColumns =
      transposed ? kAccessBytes / own.getInputBytes() : kFragmentSide;
  // A warp is as wide, or as high, as wanted, but holds whole blocks, and pairs
  // of threads that exchange codes.
  int64_t codes = kAccessBytes * 8 / getDataBits();
  if (hasScalesAlongRows()) {
    int64_t rows = std::max(block[0], transposed ? codes : own.fragmentRows);
    own.laneRows = std::max(kWarpThreads * own.fragmentColumns / kWarpReach,
                            rows / own.fragmentRows);
  } else {
    int64_t columns =
        std::max(block[1], transposed ? own.fragmentColumns : codes);
    own.laneRows = std::min(kWarpReach / own.fragmentRows,
                            kWarpThreads * own.fragmentColumns / columns);
  }
  int64_t widest = chip.hasWideGlobalAccess() ? 32 : kAccessBytes;
  own.loadBytes =
      std::gcd(own.columnUnit * own.getInputBytes(),
               std::min(widest, own.fragmentColumns * own.getInputBytes()));
}

void StripSpec::chooseStore(bool mayExchange) {
  exchangesCodes = mayExchange && !decoding && getDataBits() < 8 &&
                   getDataBits() * getAdjacentCodes() == 64;
  storeBytes = getAdjacentBytes();
  if (transposed)
    return;
  bool startsAnywhere = splitsRowBytes() && shape->hasDynamicColumns();
  int64_t rowBytes = llvm::divideCeil(shape->columnUnit * getDataBits(), 8);
  storeBytes = startsAnywhere ? 1 : std::gcd(rowBytes, storeBytes);
}

void StripSpec::followGroups(int64_t rows) {
  groupRows = rows;
  if (transposed)
    storeBytes = std::gcd(storeBytes, rows * getDataBits() / 8);
}

int64_t StripSpec::getDecodedStoreBytes() const {
  int64_t bytes = decoding->getValueBits() / 8;
  int64_t width = std::gcd(getAdjacentCodes() * bytes, kAccessBytes);
  if (transposed && groupRows != 0)
    width = std::gcd(width, groupRows * bytes);
  return transposed ? width : std::gcd(shape->columnUnit * bytes, width);
}

bool StripSpec::sharesColumns() const {
  // A warp stores the pieces of whole columns at a time.
  return roundsValues && transposed && !rowTails &&
         decoding->getValueBits() == 16 &&
         getDecodedStoreBytes() == kAccessBytes &&
         shape->getWarpRows() * 2 <= kWarpThreads * kAccessBytes;
}

int64_t StripSpec::getStageBytes() const {
  return kWarpThreads * FragmentElements::kPartColumns * shape->fragmentRows *
         decoding->getValueBits() / 8;
}

StripShape::StripShape(RankedTensorType x, bool batched, bool hasTransforms)
    : inputType(x.getElementType()), columns(x.getShape().back()),
      columnUnit(hasDynamicColumns() ? 1 : columns), batched(batched),
      fragmentRows(kFragmentSide),
      fragmentColumns(kAccessBytes / getInputBytes()),
      laneRows(kSharedRows / kFragmentSide),
      loadBytes(std::gcd(columnUnit * getInputBytes(), kAccessBytes)),
      rowUnit(hasTransforms ? kFragmentSide : 1), hasPartialBlocks(false) {}

void StripSpec::widen(StripShape &shared) const {
  // All hold; dynamic ones are powers of two.
  shared.columnUnit = std::max(shared.columnUnit, shape->columnUnit);
  shared.batched |= shape->batched;
  shared.hasPartialBlocks |= shape->hasPartialBlocks;
  // A row of a fragment has whole words of codes.
  if (!transposed)
    shared.fragmentColumns =
        std::max(shared.fragmentColumns, 32 / getDataBits());
  int64_t unit = rowTails ? 1 : std::min(kFragmentSide, block[0]);
  shared.rowUnit = std::max(shared.rowUnit, unit);
  shared.loadBytes =
      std::gcd(shared.columnUnit * shared.getInputBytes(), kAccessBytes);
}

bool StripSpec::hasLongStrips() const {
  return roundsValues && hasRowBlocks() && !transposed && !signMask &&
         !swizzled && groupDim == GroupDim::None;
}

void StripSpec::lengthen(StripShape &own) const {
  // The threads of a block have two rows or more each to compute scales of.
  own.fragmentRows = std::max(kLongRows, 2 * block[1] / own.fragmentColumns);
  int64_t most = own.laneRows;
  own.laneRows = 1;
  while (!own.hasDynamicColumns() && own.laneRows < most &&
         own.getWarpColumns() >= 2 * own.columns)
    own.laneRows *= 2;
}

void StripSpec::share(std::shared_ptr<const StripShape> shared) {
  shape = std::move(shared);
  chooseStore(/*mayExchange=*/false);
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
     << '_' << shape->inputType;
  if (!shape->hasDynamicColumns())
    os << "_k" << shape->columns;
  if (transposed)
    os << "_transposed";
  if (scaleDim)
    os << "_scales_" << stringifyScaleDim(*scaleDim);
  if (swizzled)
    os << "_swizzled";
  if (rowTails)
    os << "_tails";
  if (shape->batched)
    os << "_batched";
  os << getGlobalName(global) << globalPrologue.getName();
  if (sharedGlobal)
    os << "_shared" << *sharedGlobal;
  if (stochastic)
    os << (isPlaced ? "_placed_rng" : "_rng");
  os << getGroupName(groupDim);
  if (hasPaddedGroups)
    os << "_padded";
  else if (groupDim != GroupDim::None && !checksEnds)
    os << "_unchecked";
  if (groupedTiles)
    os << "_tiles";
  if (decoding)
    os << decoding->getName();
  return name;
}

} // namespace blockscale

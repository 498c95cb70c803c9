//===- TypeRules.cpp - Shapes, formats and storage of types ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/DataLayout.h"
#include "blockscale/Numerics/ScaleSweep.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

bool isNvfp4ScaleType(Type scaleElement) {
  return isa_and_present<Float8E4M3FNType>(scaleElement);
}

int64_t getFormatBlockSize(Type scaleElement) {
  return numerics::getBlockFormat(getScaleFormat(scaleElement)).blockSize;
}

numerics::ScaleFormat getScaleFormat(Type scaleElement) {
  return isNvfp4ScaleType(scaleElement) ? numerics::ScaleFormat::E4M3
                                        : numerics::ScaleFormat::E8M0;
}

numerics::ElementFormat getElementFormat(Type dataElement) {
  if (isa<Float8E4M3FNType>(dataElement))
    return numerics::ElementFormat::E4M3;
  if (isa<Float8E5M2Type>(dataElement))
    return numerics::ElementFormat::E5M2;
  if (isa<Float6E2M3FNType>(dataElement))
    return numerics::ElementFormat::E2M3;
  if (isa<Float6E3M2FNType>(dataElement))
    return numerics::ElementFormat::E3M2;
  if (dataElement.isInteger(8))
    return numerics::ElementFormat::INT8;
  return numerics::ElementFormat::E2M1;
}

// The enums of the dialect have the numbers of those of Numerics.
template <typename E, typename F>
static constexpr bool areSame(E left, F right) {
  return static_cast<unsigned>(left) == static_cast<unsigned>(right);
}
static_assert(getMaxEnumValForRecipe() + 1 == std::size(numerics::kRecipes));
static_assert(areSame(Recipe::Torchao, numerics::Recipe::Torchao));
static_assert(areSame(Recipe::Rceil, numerics::Recipe::Rceil));
static_assert(areSame(ScaleDim::N, numerics::ScaleDim::N));
static_assert(areSame(ScaleDim::K, numerics::ScaleDim::K));

numerics::Recipe getNumerics(Recipe recipe) {
  return static_cast<numerics::Recipe>(recipe);
}

numerics::InputFormat getInputFormat(Type xElement) {
  return xElement.isBF16()  ? numerics::InputFormat::BF16
         : xElement.isF16() ? numerics::InputFormat::F16
                            : numerics::InputFormat::F32;
}

numerics::Recipe getArithmetic(Recipe recipe, Type scaleElement,
                               Type dataElement, Type xElement) {
  numerics::Recipe named = getNumerics(recipe);
  return numerics::findVariant(named, getScaleFormat(scaleElement),
                               getElementFormat(dataElement),
                               getInputFormat(xElement))
      .value_or(named);
}

Recipe getRecipeOrDefault(std::optional<Recipe> recipe,
                          numerics::ScaleFormat scale) {
  if (recipe)
    return *recipe;
  return static_cast<Recipe>(numerics::getBlockFormat(scale).recipe);
}

bool isFourOverSix(Recipe recipe) {
  return numerics::isFourOverSix(getNumerics(recipe));
}

bool acceptsTails(Recipe recipe) {
  return numerics::acceptsTails(getNumerics(recipe));
}

bool computesFromAmax(Recipe recipe) {
  return numerics::computesFromAmax(getNumerics(recipe));
}

Recipe getSweepRecipe() { return static_cast<Recipe>(numerics::kSweepRecipe); }

static int64_t ceilDivDim(int64_t dim, int64_t divisor) {
  return ShapedType::isDynamic(dim) ? dim : llvm::divideCeil(dim, divisor);
}

ScaleForm getCompactForm(ArrayRef<int64_t> block) {
  return {{{0, block[0]}, {1, block[1]}}};
}

ScaleForm getExpandedForm(int64_t blockSize, ScaleDim dim) {
  if (dim == ScaleDim::K)
    return {{{0, 1}, {1, blockSize}}};
  return {{{1, 1}, {0, blockSize}}};
}

SmallVector<int64_t> getScaleShape(ArrayRef<int64_t> shape,
                                   const ScaleForm &form) {
  SmallVector<int64_t> result(shape.drop_back(2));
  for (const ScaleExtent &extent : form)
    result.push_back(
        ceilDivDim(shape.take_back(2)[extent.dim], extent.divisor));
  return result;
}

SmallVector<int64_t> getScaleShape(ArrayRef<int64_t> shape, int64_t block) {
  return getScaleShape(shape, getCompactForm({1, block}));
}

static OpFoldResult apply(OpBuilder &builder, Location loc, AffineExpr expr,
                          ArrayRef<OpFoldResult> operands) {
  auto map = AffineMap::get(0, operands.size(), expr);
  return affine::makeComposedFoldedAffineApply(builder, loc, map, operands);
}

SmallVector<OpFoldResult> getScaleSizes(OpBuilder &builder, Location loc,
                                        ArrayRef<OpFoldResult> sizes,
                                        const ScaleForm &form) {
  SmallVector<OpFoldResult> result(sizes.drop_back(2));
  AffineExpr s0 = builder.getAffineSymbolExpr(0);
  for (const ScaleExtent &extent : form)
    result.push_back(apply(builder, loc, s0.ceilDiv(extent.divisor),
                           {sizes.take_back(2)[extent.dim]}));
  return result;
}

SmallVector<OpFoldResult> getScaleSizes(OpBuilder &builder, Location loc,
                                        ArrayRef<OpFoldResult> sizes,
                                        int64_t block) {
  return getScaleSizes(builder, loc, sizes, getCompactForm({1, block}));
}

SmallVector<OpFoldResult> withStaticSizes(OpBuilder &builder,
                                          RankedTensorType type,
                                          SmallVector<OpFoldResult> sizes) {
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (!type.isDynamicDim(dim))
      size = builder.getIndexAttr(type.getDimSize(dim));
  return sizes;
}

ProductDims getProductDims(ProductOpInterface op, bool ofB) {
  int64_t rank = (ofB ? op.getB() : op.getA()).getType().getRank();
  bool isMnMajor = ofB ? op.getMnMajorB() : op.getMnMajorA();
  return isMnMajor ? ProductDims{rank - 1, rank - 2}
                   : ProductDims{rank - 2, rank - 1};
}

bool hasMnMajorScales(ProductOpInterface op, bool ofB) {
  return ofB ? op.getMnMajorB() && op.getScaleB()
             : op.getMnMajorA() && op.getScaleA();
}

bool hasPackedMnMajorScales(ProductOpInterface op) {
  return hasMnMajorScales(op, /*ofB=*/true) &&
         isPrepacked(op.getB().getType()) && !op.scalesElements();
}

int64_t getDepthUnit(ProductOpInterface op) {
  bool isAcross =
      hasMnMajorScales(op, /*ofB=*/false) || hasMnMajorScales(op, /*ofB=*/true);
  return isAcross ? kPlainBlockSize : op.getBlockSize();
}

OpFoldResult getProductRows(OpBuilder &builder, ProductOpInterface op,
                            bool ofB) {
  TypedValue<RankedTensorType> data = ofB ? op.getB() : op.getA();
  TypedValue<RankedTensorType> scale = ofB ? op.getScaleB() : op.getScaleA();
  int64_t dim = getProductDims(op, ofB).rows;
  if (isPrepacked(data.getType()) && data.getType().isDynamicDim(dim)) {
    if (getScaleLayout(scale.getType()).isLinear() || scale.getDefiningOp())
      return tensor::getMixedSize(builder, op.getLoc(), scale, dim);
    if (ofB && op.getBias())
      return tensor::getMixedSize(builder, op.getLoc(), op.getBias(),
                                  op.getBias().getType().getRank() - 1);
  }
  return tensor::getMixedSize(builder, op.getLoc(), data, dim);
}

LayoutAttr getLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<LayoutAttr>(tensor.getEncoding())
                : LayoutAttr();
}

const numerics::ScaleLayout &getScaleLayout(Type type) {
  LayoutAttr layout = getLayout(type);
  return layout ? layout.getOrder() : numerics::kLinear;
}

bool hasKernelOrder(Type type) {
  const numerics::ScaleLayout &layout = getScaleLayout(type);
  return layout.isLinear() || layout == numerics::k128x4;
}

LayoutAttr getGroupedLayout(Type type) {
  LayoutAttr layout = getLayout(type);
  return layout && layout.isGrouped() ? layout : LayoutAttr();
}

bool hasDynamicGroups(Type type) {
  LayoutAttr layout = getLayout(type);
  return layout && layout.hasDynamicGroups();
}

DataLayoutAttr getDataLayout(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor ? dyn_cast_if_present<DataLayoutAttr>(tensor.getEncoding())
                : DataLayoutAttr();
}

bool isPrepacked(Type type) { return getDataLayout(type) != nullptr; }

bool hasLayout(Type type) { return getLayout(type) || isPrepacked(type); }

template <typename OpTy>
static Value getSourceOfSameType(OpTy op) {
  return op.getSource().getType() == op.getType() ? op.getSource() : Value();
}

Value getUnchangedSource(Operation *op) {
  if (auto swizzle = dyn_cast<SwizzleOp>(op))
    return getSourceOfSameType(swizzle);
  if (auto prepack = dyn_cast<PrepackOp>(op))
    return getSourceOfSameType(prepack);
  return {};
}

int64_t getPrepackedBits(Type dataElement) {
  return isa<Float4E2M1FNType>(dataElement) ? 4 : 8;
}

static bool isPacked(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getRank() > 0 && !tensor.getEncoding() &&
         isa<Float4E2M1FNType>(tensor.getElementType());
}

static bool isSixBit(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && !tensor.getEncoding() &&
         isa<Float6E2M3FNType, Float6E3M2FNType>(tensor.getElementType());
}

bool needsStorageForm(Type type) {
  return hasLayout(type) || isPacked(type) || isSixBit(type);
}

namespace {

/// An affine expression as an index of Numerics.
struct AffineIndex {
  AffineExpr expr;

  friend AffineIndex operator+(AffineIndex x, int64_t y) {
    return {x.expr + y};
  }
  friend AffineIndex operator+(AffineIndex x, AffineIndex y) {
    return {x.expr + y.expr};
  }
  friend AffineIndex operator*(AffineIndex x, AffineIndex y) {
    return {x.expr * y.expr};
  }
  friend AffineIndex operator*(AffineIndex x, int64_t y) {
    return {x.expr * y};
  }
  friend AffineIndex operator/(AffineIndex x, int64_t y) {
    return {x.expr.floorDiv(y)};
  }
  friend AffineIndex ceilDivide(AffineIndex x, int64_t y) {
    return {x.expr.ceilDiv(y)};
  }
};

} // namespace

int64_t getPaddedRows(int64_t rows, int64_t groups, int64_t unit) {
  if (ShapedType::isDynamic(rows) || ShapedType::isDynamic(groups))
    return ShapedType::kDynamic;
  return numerics::getPaddedRows(rows, groups, unit);
}

OpFoldResult getPaddedRows(OpBuilder &builder, Location loc, OpFoldResult rows,
                           OpFoldResult groups, int64_t unit) {
  AffineIndex size{builder.getAffineSymbolExpr(0)};
  AffineIndex count{builder.getAffineSymbolExpr(1)};
  return apply(builder, loc, numerics::getPaddedRows(size, count, unit).expr,
               {rows, groups});
}

/// Tiles of a matrix of `rows` x `cols` scales in `groups` groups, for any
/// offsets.
template <typename Index, typename Groups>
static Index getGroupedTiles(LayoutAttr layout, Index rows, Index cols,
                             Groups groups) {
  return numerics::getGroupedTiles(layout.getDim() == 0 ? GroupDim::Rows
                                                        : GroupDim::Columns,
                                   rows, cols, groups);
}

Value getGroupOffsets(Operation *op) {
  if (auto quantize = dyn_cast_if_present<QuantizeOp>(op))
    return quantize.getOffsets();
  if (auto swizzle = dyn_cast_if_present<SwizzleOp>(op))
    return swizzle.getOffsets();
  auto product = dyn_cast_if_present<ProductOpInterface>(op);
  return product ? product.getGroupOperand().ends : Value();
}

/// Blocks of prepacked data along `size` rows or columns; dynamic where it is.
static int64_t getFragmentBlocks(int64_t size) {
  return ShapedType::isDynamic(size) ? size : numerics::getFragmentBlocks(size);
}

Type getStorageType(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return type;
  if (isPacked(type)) {
    SmallVector<int64_t> shape(tensor.getShape());
    shape.back() = ceilDivDim(shape.back(), 2);
    return RankedTensorType::get(shape, IntegerType::get(type.getContext(), 8));
  }
  if (isSixBit(type))
    return tensor.clone(IntegerType::get(type.getContext(), 8));
  if (isPrepacked(type)) {
    SmallVector<int64_t> shape(tensor.getShape());
    for (int64_t &size : MutableArrayRef(shape).take_back(2))
      size = getFragmentBlocks(size);
    shape.push_back(numerics::getFragmentBlockBytes(
        getPrepackedBits(tensor.getElementType())));
    return RankedTensorType::get(shape, IntegerType::get(type.getContext(), 8));
  }
  LayoutAttr layout = getLayout(type);
  if (!layout)
    return type;
  const numerics::ScaleLayout &order = layout.getOrder();
  SmallVector<int64_t> shape(tensor.getShape().drop_back(2));
  int64_t rows = tensor.getDimSize(tensor.getRank() - 2);
  int64_t cols = tensor.getDimSize(tensor.getRank() - 1);
  if (layout.isGrouped()) {
    bool isDynamic = ShapedType::isDynamic(rows) ||
                     ShapedType::isDynamic(cols) || layout.hasDynamicGroups();
    shape.push_back(
        isDynamic ? ShapedType::kDynamic
                  : getGroupedTiles(layout, rows, cols, layout.getGroups()));
  } else {
    shape.append({ceilDivDim(rows, order.getTileRows()),
                  ceilDivDim(cols, order.getTileCols())});
  }
  for (const numerics::BitRun &run : order.tile)
    shape.push_back(run.getSize());
  return RankedTensorType::get(shape, tensor.getElementType());
}

SmallVector<OpFoldResult> getStorageSizes(OpBuilder &builder, Location loc,
                                          RankedTensorType type,
                                          ArrayRef<OpFoldResult> sizes,
                                          OpFoldResult groups) {
  SmallVector<OpFoldResult> result(sizes);
  AffineExpr s0 = builder.getAffineSymbolExpr(0);
  AffineExpr s1 = builder.getAffineSymbolExpr(1);
  if (isPacked(type)) {
    result.back() = apply(builder, loc, s0.ceilDiv(2), {result.back()});
    return result;
  }
  if (isPrepacked(type)) {
    AffineExpr blocks = numerics::getFragmentBlocks(AffineIndex{s0}).expr;
    for (OpFoldResult &size : MutableArrayRef(result).take_back(2))
      size = apply(builder, loc, blocks, {size});
    result.push_back(builder.getIndexAttr(numerics::getFragmentBlockBytes(
        getPrepackedBits(type.getElementType()))));
    return result;
  }
  LayoutAttr layout = getLayout(type);
  if (!layout)
    return result;
  const numerics::ScaleLayout &order = layout.getOrder();
  OpFoldResult cols = result.pop_back_val();
  OpFoldResult rows = result.pop_back_val();
  if (layout.hasDynamicGroups()) {
    AffineIndex count{builder.getAffineSymbolExpr(2)};
    AffineIndex tiles =
        getGroupedTiles(layout, AffineIndex{s0}, AffineIndex{s1}, count);
    result.push_back(apply(builder, loc, tiles.expr, {rows, cols, groups}));
  } else if (layout.isGrouped()) {
    AffineIndex tiles = getGroupedTiles(layout, AffineIndex{s0},
                                        AffineIndex{s1}, layout.getGroups());
    result.push_back(apply(builder, loc, tiles.expr, {rows, cols}));
  } else {
    AffineIndex size{s0};
    result.push_back(apply(builder, loc, order.getRowTiles(size).expr, {rows}));
    result.push_back(apply(builder, loc, order.getColTiles(size).expr, {cols}));
  }
  for (const numerics::BitRun &run : order.tile)
    result.push_back(builder.getIndexAttr(run.getSize()));
  return result;
}

} // namespace blockscale

//===- QuantizeOps.cpp - amax, quantize, dequantize, swizzle --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::verification;

/// Sizes of `value` as the result of its defining op where they can be reified,
/// so that `tensor.dim` of an encoded tensor is not asked for.
static SmallVector<OpFoldResult> getSizes(OpBuilder &builder, Value value) {
  return tensor::getMixedSizes(builder, value.getLoc(), value);
}

//===----------------------------------------------------------------------===//
// amax
//===----------------------------------------------------------------------===//

// amax_c1: x has rank 2 or more and no encoding.
// amax_c2: the result is a scalar, or one value a leading dimension.
LogicalResult AmaxOp::verify() {
  RankedTensorType x = getX().getType(), amax = getAmax().getType();
  if (failed(verifyPlainMatrix(*this, "x", x)))
    return failure();
  if (amax.getEncoding())
    return emitOpError() << "expected the result to have no encoding, but got "
                         << amax.getEncoding();
  if (amax.getRank() == 0)
    return success();
  return verifyShape(*this, "the result", x.getShape().drop_back(2),
                     amax.getShape());
}

LogicalResult AmaxOp::reifyResultShapes(OpBuilder &builder,
                                        ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes = getSizes(builder, getX());
  sizes.resize(getAmax().getType().getRank());
  shapes.push_back(withStaticSizes(builder, getAmax().getType(), sizes));
  return success();
}

//===----------------------------------------------------------------------===//
// global_scale
//===----------------------------------------------------------------------===//

Recipe GlobalScaleOp::getEffectiveRecipe() {
  return getRecipeOrDefault(getRecipe(), /*isNvfp4=*/true);
}

// global_scale_c1: the recipe is an NVFP4 recipe.
LogicalResult GlobalScaleOp::verify() {
  return verifyRecipe(*this, getEffectiveRecipe(), /*isNvfp4=*/true);
}

LogicalResult
GlobalScaleOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(getSizes(builder, getAmax()));
  return success();
}

//===----------------------------------------------------------------------===//
// quantize
//===----------------------------------------------------------------------===//

Recipe QuantizeOp::getEffectiveRecipe() {
  return getRecipeOrDefault(
      getRecipe(), isNvfp4ScaleType(getScale().getType().getElementType()));
}

LogicalResult QuantizeOp::verify() {
  RankedTensorType x = getX().getType();
  RankedTensorType data = getData().getType(), scale = getScale().getType();
  bool isNvfp4 = isNvfp4ScaleType(scale.getElementType());
  Recipe recipe = getEffectiveRecipe();
  // quantize_c1: x has rank 2 or more and no encoding.
  if (failed(verifyPlainMatrix(*this, "x", x)))
    return failure();
  // quantize_c2: block and element types are those of a format.
  if (failed(verifyFormat(*this, getBlock(), data.getElementType(),
                          scale.getElementType())))
    return failure();
  // quantize_c3: the recipe belongs to the format.
  if (failed(verifyRecipe(*this, recipe, isNvfp4)))
    return failure();
  // quantize_c4: data has the shape of x and no encoding.
  if (failed(verifyPlainMatrix(*this, "data", data)) ||
      failed(verifyShape(*this, "data", x.getShape(), data.getShape())))
    return failure();
  // quantize_c5: one scale a block.
  if (failed(verifyShape(*this, "scale",
                         getScaleShape(x.getShape(), getBlockSize()),
                         scale.getShape())))
    return failure();
  // quantize_c6: no tails, except in recipes that take them.
  if (!acceptsTails(recipe) &&
      failed(
          verifyBlockMultiple(*this, "x", x.getShape().back(), getBlockSize())))
    return failure();
  // quantize_c7, quantize_c8: at most one global operand, of a legal shape.
  if (getGlobalScale() && getGlobalAmax())
    return emitOpError() << "expected at most one of global_scale and "
                            "global_amax, but got both";
  ArrayRef<int64_t> batch = x.getShape().drop_back(2);
  if (failed(verifyGlobalOperand(*this, "global_scale", getGlobalScale(),
                                 isNvfp4, batch)) ||
      failed(verifyGlobalOperand(*this, "global_amax", getGlobalAmax(), isNvfp4,
                                 batch)))
    return failure();
  // quantize_c9: no grouped layout.
  return verifyScaleLayout(*this, "scale", scale);
}

LogicalResult
QuantizeOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes = getSizes(builder, getX());
  shapes.push_back(withStaticSizes(builder, getData().getType(), sizes));
  shapes.push_back(
      withStaticSizes(builder, getScale().getType(),
                      getScaleSizes(builder, getLoc(), sizes, getBlockSize())));
  return success();
}

//===----------------------------------------------------------------------===//
// dequantize
//===----------------------------------------------------------------------===//

Recipe DequantizeOp::getEffectiveRecipe() {
  return getRecipeOrDefault(
      getRecipe(), isNvfp4ScaleType(getScale().getType().getElementType()));
}

LogicalResult DequantizeOp::verify() {
  RankedTensorType data = getData().getType(), scale = getScale().getType();
  RankedTensorType result = getResult().getType();
  bool isNvfp4 = isNvfp4ScaleType(scale.getElementType());
  // dequantize_c1: data has rank 2 or more and no encoding.
  if (failed(verifyPlainMatrix(*this, "data", data)))
    return failure();
  // dequantize_c2: block and element types are those of a format.
  if (failed(verifyFormat(*this, getBlock(), data.getElementType(),
                          scale.getElementType())))
    return failure();
  // dequantize_c3: the recipe belongs to the format.
  if (failed(verifyRecipe(*this, getEffectiveRecipe(), isNvfp4)))
    return failure();
  // dequantize_c4: the result has the data shape and no encoding.
  if (failed(verifyPlainMatrix(*this, "the result", result)) ||
      failed(
          verifyShape(*this, "the result", data.getShape(), result.getShape())))
    return failure();
  // dequantize_c5: one scale a block.
  if (failed(verifyShape(*this, "scale",
                         getScaleShape(data.getShape(), getBlockSize()),
                         scale.getShape())))
    return failure();
  // dequantize_c6, dequantize_c7: at most one global operand, of a legal shape.
  if (getGlobalScale() && getGlobalAmax())
    return emitOpError() << "expected at most one of global_scale and "
                            "global_amax, but got both";
  ArrayRef<int64_t> batch = data.getShape().drop_back(2);
  if (failed(verifyGlobalOperand(*this, "global_scale", getGlobalScale(),
                                 isNvfp4, batch)) ||
      failed(verifyGlobalOperand(*this, "global_amax", getGlobalAmax(), isNvfp4,
                                 batch)))
    return failure();
  // dequantize_c8: no grouped layout.
  if (failed(verifyScaleLayout(*this, "scale", scale)))
    return failure();
  // dequantize_c9: no tails, except in recipes that take them.
  if (acceptsTails(getEffectiveRecipe()))
    return success();
  return verifyBlockMultiple(*this, "data", data.getShape().back(),
                             getBlockSize());
}

LogicalResult
DequantizeOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(withStaticSizes(builder, getResult().getType(),
                                   getSizes(builder, getData())));
  return success();
}

//===----------------------------------------------------------------------===//
// swizzle
//===----------------------------------------------------------------------===//

LogicalResult SwizzleOp::verify() {
  RankedTensorType source = getSource().getType(),
                   result = getResult().getType();
  LayoutAttr from = getLayout(source), to = getLayout(result);
  // swizzle_c1: same logical shape and element type.
  if (source.getElementType() != result.getElementType())
    return emitOpError() << "expected the result element type to be "
                         << source.getElementType() << ", but got "
                         << result.getElementType();
  if (failed(verifyShape(*this, "the result", source.getShape(),
                         result.getShape())))
    return failure();
  if (source.getEncoding() == result.getEncoding() && source != result)
    return emitOpError() << "expected equal types between equal layouts, but "
                            "got "
                         << source << " and " << result;
  // swizzle_c2: encodings are absent or layouts; without one the rank is 2 or
  // more, which layouts ask for themselves.
  for (RankedTensorType type : {source, result})
    if (type.getEncoding() && !getLayout(type))
      return emitOpError() << "expected an absent encoding or a blockscale "
                              "layout, but got "
                           << type.getEncoding();
  // swizzle_c3: sizes of what a swizzled source does not store.
  int64_t expected = from && !to ? result.getNumDynamicDims() : 0;
  if (static_cast<int64_t>(getSizes().size()) != expected)
    return emitOpError() << "expected one size operand for each dynamic "
                            "dimension of a linear result of a swizzled "
                            "source, "
                         << expected << ", but got " << getSizes().size();
  // swizzle_c4: offsets where, and only where, one side is grouped.
  LayoutAttr grouped = from && from.isGrouped() ? from
                       : to && to.isGrouped()   ? to
                                                : LayoutAttr();
  if (grouped && from && to && from != to)
    return emitOpError() << "expected the other side of a grouped layout to be "
                            "linear, but got "
                         << (grouped == from ? to : from);
  bool needsOffsets = grouped && from != to;
  if (needsOffsets != static_cast<bool>(getOffsets()))
    return emitOpError() << "expected offsets "
                         << (needsOffsets ? "with" : "only with")
                         << " a grouped layout on one side, but got "
                         << (getOffsets() ? "offsets" : "none");
  if (getOffsets() &&
      failed(verifyShape(*this, "offsets", {grouped.getGroups()},
                         getOffsets().getType().getShape())))
    return failure();
  // swizzle_c5: block scales the offsets of column groups only.
  bool takesBlock = needsOffsets && grouped.getDim() == 1;
  // The accessor is unsigned: a negative block would pass for a large one.
  auto block = static_cast<int64_t>(getBlock());
  if (block < 1 || (block != 1 && !takesBlock))
    return emitOpError() << "expected block to be "
                         << (takesBlock ? "positive"
                                        : "1 without offsets of columns")
                         << ", but got " << block;
  return success();
}

/// swizzle(x) -> x between equal types, and from there and back:
///   swizzle(swizzle(x : A -> B) : B -> A) -> x
/// Grouped layouts do not keep rows (columns) that no group covers, so only
/// ungrouped pairs cancel.
OpFoldResult SwizzleOp::fold(FoldAdaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  auto inner = getSource().getDefiningOp<SwizzleOp>();
  if (inner && !inner.getOffsets() && !getOffsets() &&
      inner.getSource().getType() == getResult().getType())
    return inner.getSource();
  return {};
}

LogicalResult
SwizzleOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  RankedTensorType result = getResult().getType();
  if (getSizes().empty()) {
    shapes.push_back(
        withStaticSizes(builder, result, ::getSizes(builder, getSource())));
    return success();
  }
  shapes.push_back(getMixedValues(result.getShape(), getSizes(), builder));
  return success();
}

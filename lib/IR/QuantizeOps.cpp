//===- QuantizeOps.cpp - hadamard, quantize, dequantize -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReifiedSizes.h"
#include "Verification.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Philox.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::verification;

//===----------------------------------------------------------------------===//
// hadamard
//===----------------------------------------------------------------------===//

/// Elements that are transformed together.
static constexpr int64_t kHadamardGroup = 16;

LogicalResult HadamardOp::verify() {
  RankedTensorType x = getX().getType();
  auto dim = static_cast<int64_t>(getDim());
  auto mask = static_cast<int64_t>(getSignMask());
  // hadamard_c1: x has rank 2 or more and no encoding.
  if (failed(verifyPlainMatrix(*this, "x", x)))
    return failure();
  // hadamard_c2: bf16.
  if (!x.getElementType().isBF16())
    return emitOpError() << "expected x to be bf16, for which the transform is "
                            "defined, but got "
                         << x.getElementType();
  // hadamard_c3: a dimension of the matrix.
  if (dim != 0 && dim != 1)
    return emitOpError() << "expected dim to be 0 (down columns) or 1 (along "
                            "rows), but got "
                         << dim;
  // hadamard_c4: whole groups.
  int64_t size = x.getShape().take_back(2)[dim];
  if (!ShapedType::isDynamic(size) && size % kHadamardGroup != 0)
    return emitOpError() << "expected the transformed dimension of x to be a "
                            "multiple of "
                         << kHadamardGroup << ", but got " << size
                         << " in shape " << formatShape(x.getShape());
  // hadamard_c5: one sign an element of a group.
  if (mask < 0 || mask >= int64_t(1) << kHadamardGroup)
    return emitOpError() << "expected sign_mask to be 0 .. 65535, but got "
                         << mask;
  return success();
}

LogicalResult
HadamardOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(withStaticSizes(builder, getResult().getType(),
                                   getReifiedSizes(builder, getX())));
  return success();
}

//===----------------------------------------------------------------------===//
// quantize
//===----------------------------------------------------------------------===//

Recipe QuantizeOp::getEffectiveRecipe() {
  return getRecipeOrDefault(
      getRecipe(),
      blockscale::getScaleFormat(getScale().getType().getElementType()));
}

numerics::Recipe QuantizeOp::getArithmetic() {
  return blockscale::getArithmetic(
      getEffectiveRecipe(), getScale().getType().getElementType(),
      getData().getType().getElementType(), getX().getType().getElementType());
}

ScaleForm QuantizeOp::getScaleForm() {
  if (std::optional<ScaleDim> dim = getScaleDim())
    return getExpandedForm(getBlockSize(), *dim);
  ScaleForm form = getCompactForm(getBlock());
  if (getTransposed())
    std::swap(form[0], form[1]);
  return form;
}

GroupOperand QuantizeOp::getGroupOperand() {
  if (!getOffsets())
    return {};
  return {getGroupDim() == 0 ? GroupDim::Rows : GroupDim::Columns,
          getOffsets()};
}

GlobalOperand QuantizeOp::getGlobalOperand() {
  return GlobalOperand::get(getGlobal(),
                            getGlobalScale() ? GlobalKind::DecodeScale
                                             : getAmaxKind(getNonzeroAmax()),
                            getX().getType().getRank(),
                            getOffsets() != nullptr);
}

/// Shape of the data of x with shape `shape`.
template <typename T>
static SmallVector<T> transposeIf(bool transposed, ArrayRef<T> shape) {
  SmallVector<T> result(shape);
  if (transposed)
    std::swap(result.end()[-2], result.end()[-1]);
  return result;
}

/// quantize_c7, quantize_c8, quantize_c12, quantize_c16: at most one global
/// operand, of a legal shape.
static LogicalResult verifyGlobals(QuantizeOp op, bool isNvfp4) {
  if (op.getGlobalScale() && op.getGlobalAmax())
    return op.emitOpError() << "expected at most one of global_scale and "
                               "global_amax, but got both";
  if (op.getNonzeroAmax() && !op.getGlobalAmax())
    return op.emitOpError()
           << "expected global_amax with nonzero_amax, but got none";
  SmallVector<SmallVector<int64_t>> shapes =
      getGlobalShapes(op.getX().getType().getShape());
  if (op.getOffsets())
    shapes.assign(1,
                  SmallVector<int64_t>(op.getOffsets().getType().getShape()));
  if (failed(verifyGlobalOperand(op, "global_scale", op.getGlobalScale(),
                                 isNvfp4, shapes)) ||
      failed(verifyGlobalOperand(op, "global_amax", op.getGlobalAmax(), isNvfp4,
                                 shapes)))
    return failure();
  if (op.getGlobalOperand().extent != GlobalExtent::Row)
    return success();
  StringRef found = !op.hasRowBlocks() ? "blocks of several rows"
                    : op.getRng()      ? "rng"
                    : isFourOverSix(op.getEffectiveRecipe()) ? "a 4over6 recipe"
                                                             : "";
  if (found.empty())
    return success();
  return op.emitOpError() << "expected blocks of one row, no rng and no 4over6 "
                             "recipe with a global value a row, but got "
                          << found;
}

/// quantize_c9: linear, or a layout of one scale row for each row of the data.
static LogicalResult verifyLayout(QuantizeOp op) {
  ScaleForm form = op.getScaleForm();
  RankedTensorType scale = op.getScale().getType();
  if (scale.getEncoding() && form[0].divisor != 1)
    return op.emitOpError()
           << "expected linear scales, or transposed or expanded ones "
              "(scale_dim), of blocks of several rows, but got "
           << scale.getEncoding();
  std::optional<int64_t> groups;
  if (op.getOffsets())
    groups = op.getOffsets().getType().getDimSize(0);
  int64_t dim = form[0].dim == static_cast<unsigned>(op.getGroupDim()) ? 0 : 1;
  return verifyScaleLayout(op, "scale", scale, groups, dim);
}

/// quantize_c13, quantize_c14: the optional operands of a block.
static LogicalResult verifyBlockOperands(QuantizeOp op, bool isNvfp4) {
  bool isFourOverSixRecipe = isFourOverSix(op.getEffectiveRecipe());
  if (op.getBlockAmax()) {
    if (!isNvfp4 || !op.hasRowBlocks())
      return op.emitOpError()
             << "expected block [1, 16] with block_amax, but got ["
             << op.getBlock()[0] << ", " << op.getBlock()[1] << "]";
    if (isFourOverSixRecipe)
      return op.emitOpError()
             << "expected no 4over6 recipe with block_amax, but got "
             << stringifyRecipe(op.getEffectiveRecipe());
    if (failed(verifyShape(
            op, "block_amax",
            getScaleShape(op.getX().getType().getShape(), op.getBlockSize()),
            op.getBlockAmax().getType().getShape())))
      return failure();
  }
  if (!op.getRng())
    return success();
  Type element = op.getData().getType().getElementType();
  if (!isa<Float4E2M1FNType>(element))
    return op.emitOpError()
           << "expected f4E2M1FN data with rng, but got " << element;
  if (isFourOverSixRecipe)
    return op.emitOpError() << "expected no 4over6 recipe with rng, but got "
                            << stringifyRecipe(op.getEffectiveRecipe());
  ArrayRef<int64_t> shape = op.getRng().getType().getShape();
  constexpr int64_t kNumbers[] = {numerics::kRandomNumbers,
                                  numerics::kPlacedRandomNumbers};
  if (shape.size() == 1 && (ShapedType::isDynamic(shape.front()) ||
                            llvm::is_contained(kNumbers, shape.front())))
    return success();
  return op->emitOpError() << "expected rng to have shape " << kNumbers[0]
                           << " or " << kNumbers[1] << ", but got "
                           << formatShape(shape);
}

bool QuantizeOp::hasRandomPlace() {
  return getRng() &&
         getRng().getType().getDimSize(0) == numerics::kPlacedRandomNumbers;
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
  bool isSquare = getBlock()[0] == getBlock()[1];
  if (isNvfp4 && getBlock()[1] == 1 && !getTransposed())
    return emitOpError() << "expected transposed results with block [16, 1] of "
                            "f8E4M3FN scales, but got results as x lies";
  // quantize_c3: the recipe belongs to the format.
  if (failed(verifyRecipe(*this, recipe, scale.getElementType(),
                          data.getElementType())))
    return failure();
  if (isFourOverSix(recipe) && isSquare)
    return emitOpError() << "expected blocks of one row or column with recipe "
                         << stringifyRecipe(recipe) << ", but got ["
                         << getBlock()[0] << ", " << getBlock()[1] << "]";
  // quantize_c10: blocks that run down columns.
  if (getTransposed() && hasRowBlocks())
    return emitOpError() << "expected blocks of several rows with transposed "
                            "results, but got [1, "
                         << getBlock()[1] << "]";
  // quantize_c11: only a square block's scale serves two dimensions.
  if (getScaleDim() && !isSquare)
    return emitOpError() << "expected square blocks with scale_dim, but got ["
                         << getBlock()[0] << ", " << getBlock()[1] << "]";
  // quantize_c4: data has the shape of x, or its transpose, and no encoding.
  if (failed(verifyPlainMatrix(*this, "data", data)) ||
      failed(verifyShape(*this, "data",
                         transposeIf(getTransposed(), x.getShape()),
                         data.getShape())))
    return failure();
  // quantize_c5: the scale shape.
  if (failed(verifyShape(*this, "scale",
                         getScaleShape(x.getShape(), getScaleForm()),
                         scale.getShape())))
    return failure();
  // quantize_c6: no tails, except in recipes that take them.
  if (!acceptsTails(recipe) &&
      failed(verifyBlockMultiples(*this, "x", x.getShape(), getBlock())))
    return failure();
  // quantize_c15: groups of a matrix.
  if (failed(verifyGroupDim(*this, static_cast<int64_t>(getGroupDim()),
                            getOffsets())) ||
      (getOffsets() &&
       failed(verifyGroupedMatrix(*this, "x", x, getOffsets().getType()))))
    return failure();
  if (failed(verifyGlobals(*this, isNvfp4)) || failed(verifyLayout(*this)))
    return failure();
  return verifyBlockOperands(*this, isNvfp4);
}

LogicalResult
QuantizeOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes = getReifiedSizes(builder, getX());
  shapes.push_back(withStaticSizes(
      builder, getData().getType(),
      transposeIf(getTransposed(), ArrayRef<OpFoldResult>(sizes))));
  shapes.push_back(
      withStaticSizes(builder, getScale().getType(),
                      getScaleSizes(builder, getLoc(), sizes, getScaleForm())));
  return success();
}

//===----------------------------------------------------------------------===//
// dequantize
//===----------------------------------------------------------------------===//

Recipe DequantizeOp::getEffectiveRecipe() {
  return getRecipeOrDefault(
      getRecipe(),
      blockscale::getScaleFormat(getScale().getType().getElementType()));
}

numerics::Recipe DequantizeOp::getArithmetic() {
  return blockscale::getArithmetic(
      getEffectiveRecipe(), getScale().getType().getElementType(),
      getData().getType().getElementType(), Float32Type::get(getContext()));
}

ScaleForm DequantizeOp::getScaleForm() { return getCompactForm(getBlock()); }

GlobalOperand DequantizeOp::getGlobalOperand() {
  return GlobalOperand::get(getGlobal(),
                            getGlobalScale() ? GlobalKind::DecodeScale
                                             : GlobalKind::Amax,
                            getData().getType().getRank(), /*hasGroups=*/false);
}

QuantizeOp DequantizeOp::getQuantizer() {
  auto quantize = getData().getDefiningOp<QuantizeOp>();
  return quantize && quantize.getData() == getData() &&
                 quantize.getScale() == getScale()
             ? quantize
             : QuantizeOp();
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
  if (failed(verifyRecipe(*this, getEffectiveRecipe(), scale.getElementType(),
                          data.getElementType())))
    return failure();
  // dequantize_c4: the result has the data shape and no encoding.
  if (failed(verifyPlainMatrix(*this, "the result", result)) ||
      failed(
          verifyShape(*this, "the result", data.getShape(), result.getShape())))
    return failure();
  // dequantize_c5: one scale a block.
  if (failed(verifyShape(*this, "scale",
                         getScaleShape(data.getShape(), getScaleForm()),
                         scale.getShape())))
    return failure();
  // dequantize_c6, dequantize_c7: at most one global operand, of a legal shape.
  if (getGlobalScale() && getGlobalAmax())
    return emitOpError() << "expected at most one of global_scale and "
                            "global_amax, but got both";
  if (getGlobalAmax() && numerics::roundsToInput(getArithmetic()))
    return emitOpError() << "expected global_scale with recipe "
                         << stringifyRecipe(getEffectiveRecipe())
                         << ", which derives the global scale by the type of "
                            "what was quantized, but got global_amax";
  SmallVector<SmallVector<int64_t>> shapes = getGlobalShapes(data.getShape());
  if (failed(verifyGlobalOperand(*this, "global_scale", getGlobalScale(),
                                 isNvfp4, shapes)) ||
      failed(verifyGlobalOperand(*this, "global_amax", getGlobalAmax(), isNvfp4,
                                 shapes)))
    return failure();
  if (getGlobalOperand().extent == GlobalExtent::Row && !hasRowBlocks())
    return emitOpError() << "expected blocks of one row with a global value a "
                            "row, but got ["
                         << getBlock()[0] << ", " << getBlock()[1] << "]";
  // dequantize_c8: linear, or an ungrouped layout of blocks of one row.
  if (scale.getEncoding() && !hasRowBlocks())
    return emitOpError() << "expected linear scales of blocks of several rows, "
                            "but got "
                         << scale.getEncoding();
  if (failed(verifyScaleLayout(*this, "scale", scale)))
    return failure();
  // dequantize_c9: no tails, except in recipes that take them.
  if (acceptsTails(getEffectiveRecipe()))
    return success();
  return verifyBlockMultiples(*this, "data", data.getShape(), getBlock());
}

LogicalResult
DequantizeOp::reifyResultShapes(OpBuilder &builder,
                                ReifiedRankedShapedTypeDims &shapes) {
  shapes.push_back(withStaticSizes(builder, getResult().getType(),
                                   getReifiedSizes(builder, getData())));
  return success();
}

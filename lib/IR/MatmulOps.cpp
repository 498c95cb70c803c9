//===- MatmulOps.cpp - Scaled and grouped matmul --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Verification.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/TypeUtilities.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::verification;

using Tensor = TypedValue<RankedTensorType>;

/// The format of an operand with scales, or the type of a plain one.
static LogicalResult verifyOperandFormat(ProductOpInterface op, StringRef name,
                                         Tensor data, Tensor scale) {
  Type element = data.getType().getElementType();
  Type scaleElement = op.getScaleElementType();
  bool isNvfp4 = isNvfp4ScaleType(scaleElement);
  if (scale && !isa<BFloat16Type, Float16Type>(element))
    return verifyRowFormat(op, op.getBlock(), element, scaleElement);
  if (scale)
    return op.emitOpError()
           << "expected " << name << " to have no scales, as it is plain "
           << element << ", but got scale_" << name;
  if (element.isBF16() || (isNvfp4 && element.isF16()))
    return success();
  InFlightDiagnostic diag = op.emitOpError();
  diag << "expected " << name << ", which has no scales, to be bf16"
       << (isNvfp4 ? " or f16" : "") << " beside " << scaleElement
       << " scales, but got " << element;
  if (element.isF16())
    diag << ", which does not hold the range of MX values";
  return diag;
}

/// Both operands are plain: of one type, in blocks that have no scales.
static LogicalResult verifyPlainFormats(ProductOpInterface op) {
  Type a = op.getA().getType().getElementType();
  Type b = op.getB().getType().getElementType();
  if (a != b || !isa<BFloat16Type, Float16Type>(a))
    return op.emitOpError() << "expected operands without scales to be both "
                               "bf16 or both f16, but got "
                            << a << " and " << b;
  if (op.getBlock() == ArrayRef<int64_t>{1, kPlainBlockSize})
    return success();
  return op.emitOpError() << "expected block to be [1, " << kPlainBlockSize
                          << "] where no operand has scales, but got ["
                          << op.getBlock() << "]";
}

/// A format for each operand, and the same scale type for both; a plain operand
/// has none.
static LogicalResult verifyFormats(ProductOpInterface op) {
  Tensor scaleA = op.getScaleA(), scaleB = op.getScaleB();
  if (!scaleA && !scaleB)
    return verifyPlainFormats(op);
  if (scaleA && scaleB &&
      scaleA.getType().getElementType() != scaleB.getType().getElementType())
    return op.emitOpError()
           << "expected both operands to have the same scale element type, "
              "but got "
           << scaleA.getType().getElementType() << " and "
           << scaleB.getType().getElementType();
  if (failed(verifyOperandFormat(op, "a", op.getA(), scaleA)))
    return failure();
  return verifyOperandFormat(op, "b", op.getB(), scaleB);
}

/// What scales of a shape that is not that of blocks along K are, and what
/// makes the right ones; empty where there is no telling.
static StringRef getScaleShapeHint(ArrayRef<int64_t> data,
                                   ArrayRef<int64_t> scale, int64_t block) {
  auto isShapeOf = [&](const ScaleForm &form) {
    return scale == ArrayRef<int64_t>(getScaleShape(data, form));
  };
  if (isShapeOf(getCompactForm({block, block})))
    return ", the compact scales of square blocks (blockscale.expand_scale "
           "with scale_dim k makes it)";
  if (isShapeOf(getExpandedForm(block, ScaleDim::N)))
    return ", that of scale_dim n (scale_dim k makes it)";
  if (isShapeOf(getCompactForm({block, 1})))
    return ", the scales of blocks along the other dimension";
  return "";
}

static LogicalResult verifyScaleShape(Operation *op, StringRef name,
                                      RankedTensorType data, Tensor scale,
                                      int64_t block) {
  if (!scale)
    return success();
  ArrayRef<int64_t> found = scale.getType().getShape();
  SmallVector<int64_t> expected = getScaleShape(data.getShape(), block);
  if (succeeded(verifyCompatibleShape(expected, found)))
    return success();
  return op->emitOpError() << "expected " << name << " to have shape "
                           << formatShape(expected) << ", but got "
                           << formatShape(found)
                           << getScaleShapeHint(data.getShape(), found, block);
}

/// Scales are linear, swizzled or, where `groups` is given, in that many groups
/// along `dim`.
static LogicalResult
verifyScaleOrder(Operation *op, StringRef name, Tensor scale,
                 std::optional<int64_t> groups = std::nullopt,
                 int64_t dim = 0) {
  if (!scale)
    return success();
  if (LayoutAttr layout = getLayout(scale.getType());
      layout && !hasKernelOrder(scale.getType()))
    return op->emitOpError()
           << "expected " << name
           << " to be linear or in the layout swizzle_128x4, which products "
              "read, but got "
           << layout << " (blockscale.swizzle changes it)";
  LayoutAttr layout = getGroupedLayout(scale.getType());
  if (!layout)
    return verifyScaleLayout(op, name, scale.getType());
  if (groups && layout.getDim() == dim && layout.mayHaveGroups(*groups))
    return success();
  InFlightDiagnostic diag = op->emitOpError() << "expected " << name;
  if (!groups)
    diag << " to be linear or swizzled without groups";
  else
    diag << " to be linear, swizzled or grouped with one group an offset along "
            "dim = "
         << dim;
  return diag << ", but got " << layout << " (blockscale.swizzle makes it)";
}

/// Equal contraction sizes, a multiple of the block, and one scale a block.
static LogicalResult verifyContraction(ProductOpInterface op) {
  RankedTensorType a = op.getA().getType(), b = op.getB().getType();
  int64_t ka = a.getDimSize(getProductDims(op, /*ofB=*/false).depth);
  int64_t kb = b.getDimSize(getProductDims(op, /*ofB=*/true).depth);
  bool isMnMajor = op.getMnMajorA() || op.getMnMajorB();
  if (!ShapedType::isDynamic(ka) && !ShapedType::isDynamic(kb) && ka != kb)
    return op.emitOpError()
           << "expected " << (isMnMajor ? "K" : "the last dimension")
           << " of b to be that of a, " << ka << ", but got " << kb;
  int64_t block = op.getBlockSize();
  if (failed(verifyScaleShape(op, "scale_a", a, op.getScaleA(), block)) ||
      failed(verifyScaleShape(op, "scale_b", b, op.getScaleB(), block)))
    return failure();
  for (auto [name, type, ofB] : {std::tuple("a", a, false), {"b", b, true}})
    if (hasMnMajorScales(op, ofB) &&
        failed(verifyBlockMultiple(op, name, type.getShape().back(), block)))
      return failure();
  if (isMnMajor) {
    int64_t depth = ShapedType::isDynamic(ka) ? kb : ka;
    int64_t unit = getDepthUnit(op);
    if (ShapedType::isDynamic(depth) || depth % unit == 0)
      return success();
    return op.emitOpError() << "expected K to be a multiple of " << unit
                            << ", but got " << depth;
  }
  if (failed(verifyBlockMultiple(op, "a", ka, block)))
    return failure();
  return verifyBlockMultiple(op, "b", kb, block);
}

/// An operand whose rows run along M or N has no groups of rows, and scales
/// only where it is alone in having them and no groups cut K.
static LogicalResult verifyMnMajor(ProductOpInterface op) {
  Tensor scaleA = op.getScaleA(), scaleB = op.getScaleB();
  GroupDim groups = op.getGroupOperand().dim;
  if (op.getMnMajorA() && groups == GroupDim::Rows)
    return op.emitOpError() << "expected a to be K-major, for groups of rows "
                               "begin anywhere in them, but got mn_major_a";
  for (auto [name, isMnMajor, own, otherName, other] :
       {std::tuple("a", op.getMnMajorA(), scaleA, "b", scaleB),
        {"b", op.getMnMajorB(), scaleB, "a", scaleA}}) {
    if (isMnMajor && other)
      return op.emitOpError()
             << "expected mn_major_" << name << " only beside a plain "
             << otherName << ", but got " << op.getScaleElementType()
             << " scales of " << otherName;
    if (isMnMajor && own && groups == GroupDim::Columns)
      return op.emitOpError()
             << "expected an operand with scales to be K-major where groups "
                "cut K, but got mn_major_"
             << name;
  }
  return success();
}

/// A factor has no encoding, or a data layout.
static LogicalResult verifyFactor(Operation *op, StringRef name,
                                  RankedTensorType type) {
  return isPrepacked(type) ? success() : verifyPlainMatrix(op, name, type);
}

/// Prepacked data has the order of a register operand, and a product has one of
/// those. Where both operands have scales, the other one is decoded before. An
/// MN-major one is brought back to rows, which its blocks do not tell.
static LogicalResult verifyDataLayouts(ProductOpInterface op) {
  for (auto [name, data, ofB] :
       {std::tuple("a", op.getA(), false), {"b", op.getB(), true}}) {
    ArrayRef<int64_t> matrix = data.getType().getShape().take_back(2);
    if (isPrepacked(data.getType()) && hasMnMajorScales(op, ofB) &&
        ShapedType::isDynamicShape(matrix))
      return op.emitOpError()
             << "expected " << name << " to have static rows and columns where "
             << "it is prepacked and MN-major, but got " << data.getType();
  }
  DataLayoutAttr layout = getDataLayout(op.getA().getType());
  if (!layout || !isPrepacked(op.getB().getType()))
    return success();
  return op.emitOpError()
         << "expected a to have no data layout where b has one, for one of "
            "them alone can be in registers, but got "
         << layout << " (blockscale.prepack undoes it)";
}

using Shapes = SmallVector<SmallVector<int64_t>>;

/// The shapes that global scales of an operand may have, but for rank 0: one
/// for each matrix or for each row, M or N. What blocks across K have a row of
/// is K, and a global scale of each would be no factor of a sum.
static Shapes getGlobalShapes(ProductOpInterface op, bool ofB) {
  SmallVector<int64_t> shape(
      (ofB ? op.getB() : op.getA()).getType().getShape());
  ProductDims dims = getProductDims(op, ofB);
  if (dims.rows > dims.depth)
    std::swap(shape[dims.rows], shape[dims.depth]);
  Shapes shapes = verification::getGlobalShapes(shape);
  if (hasMnMajorScales(op, ofB))
    shapes.pop_back();
  return shapes;
}

/// Where both operands are plain, global scales are those of what was decoded.
static LogicalResult verifyGlobals(ProductOpInterface op, const Shapes &shapesA,
                                   const Shapes &shapesB) {
  Type scale = op.getScaleElementType();
  bool mayHaveGlobals = !scale || isNvfp4ScaleType(scale);
  if (failed(verifyGlobalOperand(op, "global_scale_a",
                                 op.getGlobalOperandA().value, mayHaveGlobals,
                                 shapesA)))
    return failure();
  return verifyGlobalOperand(op, "global_scale_b", op.getGlobalOperandB().value,
                             mayHaveGlobals, shapesB);
}

/// Elements that a global scale multiplies are rounded to the type of a plain
/// operand, and those of a block share the factor.
static LogicalResult verifyElementScaling(ProductOpInterface op) {
  if (!op.scalesElements())
    return success();
  bool hasScaleA = static_cast<bool>(op.getScaleA());
  if (hasScaleA == static_cast<bool>(op.getScaleB()))
    return op.emitOpError()
           << "expected global_scaling in_elements only where "
              "one operand is plain, but got "
           << (hasScaleA ? "scales of both" : "two plain operands");
  GlobalOperand a = op.getGlobalOperandA(), b = op.getGlobalOperandB();
  if ((hasScaleA ? b : a).value)
    return op.emitOpError()
           << "expected no global scale of the plain operand with "
              "global_scaling in_elements, but got global_scale_"
           << (hasScaleA ? "b" : "a");
  if ((hasScaleA ? a : b).extent != GlobalExtent::Row)
    return success();
  return op.emitOpError()
         << "expected one global scale for all rows of a matrix with "
            "global_scaling in_elements, but got one for each in global_scale_"
         << (hasScaleA ? "a" : "b");
}

//===----------------------------------------------------------------------===//
// scaled_mm
//===----------------------------------------------------------------------===//

LogicalResult ScaledMMOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  RankedTensorType result = getResult().getType();
  // scaled_mm_c1: same rank and leading dimensions, no encodings but of data.
  if (failed(verifyFactor(*this, "a", a)) ||
      failed(verifyFactor(*this, "b", b)) ||
      failed(verifyPlainMatrix(*this, "the result", result)))
    return failure();
  ArrayRef<int64_t> batch = a.getShape().drop_back(2);
  if (failed(verifyShape(*this, "the leading dimensions of b", batch,
                         b.getShape().drop_back(2))))
    return failure();
  // scaled_mm_c3, scaled_mm_c11: formats and orders.
  if (failed(verifyFormats(*this)) || failed(verifyMnMajor(*this)))
    return failure();
  // scaled_mm_c2, scaled_mm_c4, scaled_mm_c5: contraction sizes and scales.
  if (failed(verifyContraction(*this)))
    return failure();
  // scaled_mm_c6: [.., M, N].
  SmallVector<int64_t> expected(batch);
  expected.push_back(a.getDimSize(getProductDims(*this, /*ofB=*/false).rows));
  int64_t n = b.getDimSize(getProductDims(*this, /*ofB=*/true).rows);
  expected.push_back(n);
  if (failed(verifyShape(*this, "the result", expected, result.getShape())))
    return failure();
  // scaled_mm_c7: global scales.
  if (failed(verifyGlobals(*this, getGlobalShapes(*this, /*ofB=*/false),
                           getGlobalShapes(*this, /*ofB=*/true))))
    return failure();
  // scaled_mm_c12: global scales of elements.
  if (failed(verifyElementScaling(*this)))
    return failure();
  // scaled_mm_c8: bias [N].
  if (getBias() &&
      failed(verifyShape(*this, "bias", {n}, getBias().getType().getShape())))
    return failure();
  // scaled_mm_c9: no grouped layouts.
  if (failed(verifyScaleOrder(*this, "scale_a", getScaleA())) ||
      failed(verifyScaleOrder(*this, "scale_b", getScaleB())))
    return failure();
  // scaled_mm_c10: data layouts.
  return verifyDataLayouts(*this);
}

LogicalResult
ScaledMMOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes;
  for (int64_t dim = 0; dim < getA().getType().getRank() - 2; ++dim)
    sizes.push_back(tensor::getMixedSize(builder, getLoc(), getA(), dim));
  for (bool ofB : {false, true})
    sizes.push_back(getProductRows(builder, *this, ofB));
  shapes.push_back(withStaticSizes(builder, getResult().getType(), sizes));
  return success();
}

//===----------------------------------------------------------------------===//
// scaled_grouped_mm
//===----------------------------------------------------------------------===//

GroupOperand ScaledGroupedMMOp::getGroupOperand() {
  return {isKGrouped() ? GroupDim::Columns : GroupDim::Rows, getOffsets()};
}

bool ScaledGroupedMMOp::isKGrouped() { return getB().getType().getRank() == 2; }

LogicalResult ScaledGroupedMMOp::verify() {
  RankedTensorType a = getA().getType(), b = getB().getType();
  RankedTensorType offsets = getOffsets().getType();
  RankedTensorType result = getResult().getType();
  // scaled_grouped_mm_c1: 2d-3d or 2d-2d, no encodings but of data.
  if (failed(verifyFactor(*this, "a", a)) ||
      failed(verifyFactor(*this, "b", b)) ||
      failed(verifyPlainMatrix(*this, "the result", result)))
    return failure();
  if (a.getRank() != 2)
    return emitOpError() << "expected a to have rank 2, but got rank "
                         << a.getRank();
  if (b.getRank() > 3)
    return emitOpError() << "expected b to have rank 2 or 3, but got rank "
                         << b.getRank();
  // scaled_grouped_mm_c3, scaled_grouped_mm_c11: formats and orders.
  if (failed(verifyFormats(*this)) || failed(verifyMnMajor(*this)))
    return failure();
  // scaled_grouped_mm_c2, _c4, _c5: contraction sizes and scales.
  if (failed(verifyContraction(*this)))
    return failure();
  // scaled_grouped_mm_c6: offsets and result shapes.
  if (offsets.getRank() != 1)
    return emitOpError() << "expected offsets to have rank 1, but got rank "
                         << offsets.getRank();
  int64_t groups = offsets.getDimSize(0);
  int64_t m = a.getDimSize(getProductDims(*this, /*ofB=*/false).rows);
  int64_t n = b.getDimSize(getProductDims(*this, /*ofB=*/true).rows);
  SmallVector<int64_t> expected;
  if (isKGrouped()) {
    expected = {groups, m, n};
  } else {
    if (failed(verifyShape(*this, "offsets", {b.getDimSize(0)}, {groups})))
      return failure();
    expected = {m, n};
  }
  if (failed(verifyShape(*this, "the result", expected, result.getShape())))
    return failure();
  // scaled_grouped_mm_c7: global scales.
  Shapes perGroup = {{groups}};
  if (failed(verifyGlobals(*this, perGroup, perGroup)))
    return failure();
  // scaled_grouped_mm_c12: global scales of elements.
  if (failed(verifyElementScaling(*this)))
    return failure();
  // scaled_grouped_mm_c8: layouts.
  int64_t dim = isKGrouped() ? 1 : 0;
  if (failed(verifyScaleOrder(*this, "scale_a", getScaleA(), groups, dim)))
    return failure();
  std::optional<int64_t> groupsOfB;
  if (isKGrouped())
    groupsOfB = groups;
  if (failed(verifyScaleOrder(*this, "scale_b", getScaleB(), groupsOfB, dim)))
    return failure();
  // scaled_grouped_mm_c9: bias [N] or [G, N].
  if (getBias()) {
    RankedTensorType bias = getBias().getType();
    if (failed(verifyShape(*this, "bias",
                           bias.getRank() == 2 ? ArrayRef<int64_t>({groups, n})
                                               : ArrayRef<int64_t>(n),
                           bias.getShape())))
      return failure();
  }
  // scaled_grouped_mm_c10: data layouts, of matrices that no group begins in.
  for (auto [name, data] : {std::pair("a", getA()), {"b", getB()}}) {
    DataLayoutAttr layout = getDataLayout(data.getType());
    bool isCut = data == getA() || isKGrouped();
    if (layout && isCut)
      return emitOpError() << "expected " << name
                           << " to have no data layout, for groups of "
                           << (isKGrouped() ? "K" : "rows")
                           << " begin anywhere in its blocks, but got "
                           << layout << " (blockscale.prepack undoes it)";
  }
  return verifyDataLayouts(*this);
}

LogicalResult
ScaledGroupedMMOp::reifyResultShapes(OpBuilder &builder,
                                     ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes;
  if (isKGrouped())
    sizes.push_back(tensor::getMixedSize(builder, getLoc(), getOffsets(), 0));
  for (bool ofB : {false, true})
    sizes.push_back(getProductRows(builder, *this, ofB));
  shapes.push_back(withStaticSizes(builder, getResult().getType(), sizes));
  return success();
}

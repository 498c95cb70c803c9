//===- ScaleOps.cpp - swizzle, expand_scale -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReifiedSizes.h"
#include "Verification.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Builders.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::verification;

//===----------------------------------------------------------------------===//
// swizzle
//===----------------------------------------------------------------------===//

LayoutAttr SwizzleOp::getGroupedLayout() {
  if (LayoutAttr from = blockscale::getGroupedLayout(getSource().getType()))
    return from;
  return blockscale::getGroupedLayout(getResult().getType());
}

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
  int64_t expected = from && from != to ? result.getNumDynamicDims() : 0;
  if (static_cast<int64_t>(getSizes().size()) != expected)
    return emitOpError() << "expected one size operand for each dynamic "
                            "dimension of what a swizzled source becomes, "
                         << expected << ", but got " << getSizes().size();
  // swizzle_c4: offsets where, and only where, one side is grouped.
  LayoutAttr grouped = getGroupedLayout();
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
    shapes.push_back(withStaticSizes(builder, result,
                                     getReifiedSizes(builder, getSource())));
    return success();
  }
  shapes.push_back(getMixedValues(result.getShape(), getSizes(), builder));
  return success();
}

//===----------------------------------------------------------------------===//
// expand_scale
//===----------------------------------------------------------------------===//

LogicalResult ExpandScaleOp::verify() {
  RankedTensorType source = getSource().getType(),
                   result = getResult().getType();
  Type element = source.getElementType();
  // expand_scale_c1: source has rank 2 or more and no encoding.
  if (failed(verifyPlainMatrix(*this, "source", source)))
    return failure();
  // expand_scale_c2: square blocks of the format.
  int64_t size = getFormatBlockSize(element);
  if (getBlock() != ArrayRef<int64_t>({size, size})) {
    InFlightDiagnostic diag = emitOpError()
                              << "expected block [" << size << ", " << size
                              << "] with " << element << " scales, but got [";
    llvm::interleaveComma(getBlock(), diag);
    return diag << "]";
  }
  // expand_scale_c3: the same element type, linear or swizzled.
  if (result.getElementType() != element)
    return emitOpError() << "expected the result element type to be " << element
                         << ", but got " << result.getElementType();
  if (failed(verifyScaleLayout(*this, "the result", result)))
    return failure();
  // expand_scale_c4: the other sizes, and as many blocks as expanded rows have.
  bool alongK = getScaleDim() == ScaleDim::K;
  if (result.getRank() != source.getRank())
    return emitOpError() << "expected the result to have rank "
                         << source.getRank() << ", but got "
                         << result.getRank();
  ArrayRef<int64_t> blocks = source.getShape().take_back(2);
  SmallVector<int64_t> expected(source.getShape().drop_back(2));
  expected.push_back(result.getShape().take_back(2).front());
  expected.push_back(blocks[alongK ? 1 : 0]);
  if (failed(verifyShape(*this, "the result", expected, result.getShape())))
    return failure();
  int64_t rows = result.getShape().take_back(2).front();
  int64_t found = blocks[alongK ? 0 : 1];
  if (!ShapedType::isDynamic(rows) && !ShapedType::isDynamic(found) &&
      static_cast<int64_t>(llvm::divideCeil(rows, size)) != found)
    return emitOpError() << "expected " << llvm::divideCeil(rows, size)
                         << " blocks for the expanded dimension of size "
                         << rows << ", but got " << found;
  // expand_scale_c5: the expanded size where the type does not say it.
  bool needsSize = result.isDynamicDim(result.getRank() - 2);
  if (needsSize == static_cast<bool>(getSize()))
    return success();
  return emitOpError() << "expected sizes "
                       << (needsSize ? "with" : "only with")
                       << " a dynamic expanded dimension, but got "
                       << (getSize() ? "one" : "none");
}

LogicalResult
ExpandScaleOp::reifyResultShapes(OpBuilder &builder,
                                 ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes = getReifiedSizes(builder, getSource());
  if (getScaleDim() == ScaleDim::N)
    std::swap(sizes.end()[-2], sizes.end()[-1]);
  if (getSize())
    sizes.end()[-2] = getSize();
  shapes.push_back(withStaticSizes(builder, getResult().getType(), sizes));
  return success();
}

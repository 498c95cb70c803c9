//===- DataOps.cpp - prepack ----------------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReifiedSizes.h"
#include "Verification.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::verification;

LogicalResult PrepackOp::verify() {
  RankedTensorType source = getSource().getType(),
                   result = getResult().getType();
  // prepack_c1: same logical shape and element type.
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
  // prepack_c2: encodings are absent or data layouts, of matrices.
  for (RankedTensorType type : {source, result})
    if (type.getEncoding() && !isPrepacked(type))
      return emitOpError()
             << "expected an absent encoding or a blockscale data "
                "layout, but got "
             << type.getEncoding();
  if (source.getRank() < 2)
    return emitOpError() << "expected source to have rank 2 or more, but got "
                            "rank "
                         << source.getRank();
  // prepack_c3: sizes of what a prepacked source does not store.
  int64_t expected = isPrepacked(source) && !isPrepacked(result)
                         ? result.getNumDynamicDims()
                         : 0;
  if (static_cast<int64_t>(getSizes().size()) != expected)
    return emitOpError() << "expected one size operand for each dynamic "
                            "dimension of a row-major result of a prepacked "
                            "source, "
                         << expected << ", but got " << getSizes().size();
  return success();
}

/// prepack(x) -> x between equal types, and from there and back:
///   prepack(prepack(x : A -> B) : B -> A) -> x
OpFoldResult PrepackOp::fold(FoldAdaptor) {
  if (getSource().getType() == getResult().getType())
    return getSource();
  auto inner = getSource().getDefiningOp<PrepackOp>();
  if (inner && inner.getSource().getType() == getResult().getType())
    return inner.getSource();
  return {};
}

LogicalResult
PrepackOp::reifyResultShapes(OpBuilder &builder,
                             ReifiedRankedShapedTypeDims &shapes) {
  RankedTensorType result = getResult().getType();
  if (getSizes().empty())
    shapes.push_back(withStaticSizes(builder, result,
                                     getReifiedSizes(builder, getSource())));
  else
    shapes.push_back(getMixedValues(result.getShape(), getSizes(), builder));
  return success();
}

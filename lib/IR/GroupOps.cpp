//===- GroupOps.cpp - pad_groups ------------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ReifiedSizes.h"
#include "Verification.h"
#include "blockscale/IR/TypeRules.h"

using namespace mlir;
using namespace blockscale;
using namespace blockscale::verification;

/// The largest unit: far more than any product's step of K, and small enough
/// for sizes not to overflow.
static constexpr int64_t kMostPadUnit = 65536;

LogicalResult PadGroupsOp::verify() {
  RankedTensorType x = getX().getType(), padded = getPadded().getType();
  RankedTensorType offsets = getOffsets().getType();
  // pad_groups_c1: a matrix and its ends.
  if (failed(verifyPlainMatrix(*this, "x", x)) ||
      failed(verifyGroupedMatrix(*this, "x", x, offsets)))
    return failure();
  // pad_groups_c2: the unit.
  auto unit = static_cast<int64_t>(getUnit());
  if (unit < 1 || unit > kMostPadUnit)
    return emitOpError() << "expected unit to be from 1 to " << kMostPadUnit
                         << ", but got " << unit;
  // pad_groups_c3: the result.
  if (padded.getElementType() != x.getElementType())
    return emitOpError() << "expected the result element type to be "
                         << x.getElementType() << ", but got "
                         << padded.getElementType();
  if (padded.getEncoding())
    return emitOpError() << "expected the result to have no encoding, but got "
                         << padded.getEncoding();
  // pad_groups_c4: ends can say all rows, and these can be computed.
  for (auto [name, size] : {std::pair("rows of x", x.getDimSize(0)),
                            std::pair("groups", offsets.getDimSize(0))})
    if (size > kMostPaddedRows)
      return emitOpError() << "expected the number of " << name
                           << " to be below " << kMostPaddedRows + 1
                           << ", but got " << size;
  int64_t rows = getPaddedRows(x.getDimSize(0), offsets.getDimSize(0), unit);
  if (failed(verifyShape(*this, "the result", {rows, x.getDimSize(1)},
                         padded.getShape())))
    return failure();
  if (rows > kMostPaddedRows)
    return emitOpError() << "expected the number of rows of the result to be "
                            "below "
                         << kMostPaddedRows + 1 << ", but got " << rows;
  return success();
}

LogicalResult
PadGroupsOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  SmallVector<OpFoldResult> sizes = getReifiedSizes(builder, getX());
  SmallVector<OpFoldResult> groups = getReifiedSizes(builder, getOffsets());
  sizes.front() =
      getPaddedRows(builder, getLoc(), sizes.front(), groups.front(),
                    static_cast<int64_t>(getUnit()));
  shapes.push_back(withStaticSizes(builder, getPadded().getType(), sizes));
  shapes.push_back(groups);
  return success();
}

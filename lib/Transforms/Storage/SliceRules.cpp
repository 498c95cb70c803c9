//===- SliceRules.cpp - Slices that keep storage elements whole -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SliceRules.h"
#include "KnownDivisor.h"
#include "StorageRules.h"
#include "blockscale/IR/TypeRules.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace blockscale;

namespace {

/// What the three slice ops have in common.
struct Slice {
  /// The tensor that the slice is a part of.
  Value whole;
  RankedTensorType wholeType;
  RankedTensorType sliceType;
  SmallVector<OpFoldResult> offsets;
  SmallVector<OpFoldResult> sizes;
  SmallVector<OpFoldResult> strides;
  llvm::SmallBitVector droppedDims;
};

} // namespace

template <typename OpTy>
static Slice getSlice(OpTy op, Value whole, RankedTensorType sliceType) {
  return {whole,
          cast<RankedTensorType>(whole.getType()),
          sliceType,
          op.getMixedOffsets(),
          op.getMixedSizes(),
          op.getMixedStrides(),
          op.getDroppedDims()};
}

static Slice getSlice(Operation *op) {
  if (auto extract = dyn_cast<tensor::ExtractSliceOp>(op))
    return getSlice(extract, extract.getSource(), extract.getType());
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(op))
    return getSlice(insert, insert.getDest(), insert.getSourceType());
  auto insert = cast<tensor::ParallelInsertSliceOp>(op);
  return getSlice(insert, insert.getDest(), insert.getSourceType());
}

bool blockscale::isSlice(Operation *op) {
  return isa<tensor::ExtractSliceOp, tensor::InsertSliceOp,
             tensor::ParallelInsertSliceOp>(op);
}

/// Whether a part of `whole` that begins at `offset` along `dim` surely ends
/// where the tensor does if it has size `sizeMap(sizeOperands)`.
static bool reachesEnd(Value whole, int64_t dim, OpFoldResult offset,
                       AffineMap sizeMap, ValueRange sizeOperands) {
  using Bounds = ValueBoundsConstraintSet;
  MLIRContext *context = whole.getContext();
  Bounds::Variable rest(
      AffineMap::get(
          2, 0, getAffineDimExpr(0, context) - getAffineDimExpr(1, context)),
      {Bounds::Variable(whole, dim), Bounds::Variable(offset)});
  return Bounds::areEqual(Bounds::Variable(sizeMap, sizeOperands), rest)
      .value_or(false);
}

bool blockscale::isWholeSize(Value whole, int64_t dim, OpFoldResult offset,
                             OpFoldResult size, int64_t unit) {
  if (isKnownMultiple(size, unit))
    return true;
  MLIRContext *context = whole.getContext();
  if (std::optional<int64_t> constant = getConstantIntValue(size))
    return reachesEnd(whole, dim, offset,
                      AffineMap::getConstantMap(*constant, context), {});
  auto value = cast<Value>(size);
  auto min = value.getDefiningOp<affine::AffineMinOp>();
  if (!min)
    return reachesEnd(whole, dim, offset,
                      AffineMap::getMultiDimIdentityMap(1, context), value);
  AffineMap map = min.getMap();
  return llvm::all_of(llvm::seq(map.getNumResults()), [&](unsigned i) {
    AffineMap result = map.getSubMap({i});
    return result.getResult(0).isMultipleOf(unit) ||
           reachesEnd(whole, dim, offset, result, min.getOperands());
  });
}

static InFlightDiagnostic &operator<<(InFlightDiagnostic &diag,
                                      OpFoldResult found) {
  if (std::optional<int64_t> constant = getConstantIntValue(found))
    return diag << *constant;
  return diag << "a value not known to be one";
}

/// Checks dimension `dim`, of which `unit` elements share a storage position.
static LogicalResult verifySlicedDim(Operation *op, const Slice &slice,
                                     int64_t dim, int64_t unit) {
  if (slice.droppedDims.test(dim))
    return op->emitOpError()
           << "expected a slice to keep dimension " << dim << " of "
           << slice.wholeType << ", but got " << slice.sliceType;
  if (!isConstantIntValue(slice.strides[dim], 1)) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected the stride of dimension " << dim
                              << " to be 1, but got ";
    return diag << slice.strides[dim];
  }
  if (!isKnownMultiple(slice.offsets[dim], unit)) {
    InFlightDiagnostic diag =
        op->emitOpError() << "expected the offset of dimension " << dim
                          << " to be a multiple of " << unit << ", but got ";
    return diag << slice.offsets[dim];
  }
  if (!isWholeSize(slice.whole, dim, slice.offsets[dim], slice.sizes[dim],
                   unit)) {
    InFlightDiagnostic diag = op->emitOpError()
                              << "expected the size of dimension " << dim
                              << " to be a multiple of " << unit
                              << " or to reach the end, but got ";
    return diag << slice.sizes[dim];
  }
  return success();
}

LogicalResult blockscale::verifySlice(Operation *op) {
  Slice slice = getSlice(op);
  if (slice.wholeType.getEncoding() != slice.sliceType.getEncoding())
    return op->emitOpError()
           << "expected a slice to keep the layout of " << slice.wholeType
           << ", but got " << slice.sliceType;
  if (getGroupedLayout(slice.wholeType))
    return op->emitOpError()
           << "expected no slice of a grouped layout, where the place of a row "
              "depends on the offsets, but got "
           << slice.wholeType;
  for (int64_t dim = 0; dim < slice.wholeType.getRank(); ++dim)
    if (!isStoredDim(slice.wholeType, dim) &&
        failed(verifySlicedDim(op, slice, dim,
                               getStorageUnit(slice.wholeType, dim))))
      return failure();
  return success();
}

LogicalResult blockscale::verifyConcat(tensor::ConcatOp op) {
  RankedTensorType type = op.getResultType();
  // Upstream infers and casts the types of a concatenation without encodings.
  SmallVector<Type> types(op->getOperandTypes());
  types.push_back(type);
  for (Type found : types) {
    if (!getScaleLayout(found).isLinear())
      return op.emitOpError()
             << "expected a concatenation of linear scales "
                "(tensor.insert_slice joins whole tiles, and "
                "blockscale.swizzle takes the result), but got "
             << found;
    if (isPrepacked(found))
      return op.emitOpError()
             << "expected a concatenation of row-major data "
                "(tensor.insert_slice joins whole blocks, and "
                "blockscale.prepack takes the result), but got "
             << found;
  }
  auto dim = static_cast<int64_t>(op.getDim());
  int64_t unit = getStorageUnit(type, dim);
  for (Type piece : op.getInputs().drop_back().getTypes()) {
    int64_t size = cast<RankedTensorType>(piece).getDimSize(dim);
    if (unit == 1 || (!ShapedType::isDynamic(size) && size % unit == 0))
      continue;
    return op.emitOpError()
           << "expected the size of dimension " << dim
           << " of each piece but the last to be a multiple of " << unit
           << ", but got " << piece;
  }
  return success();
}

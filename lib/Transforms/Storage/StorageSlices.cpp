//===- StorageSlices.cpp - Slices of storage ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "SliceRules.h"
#include "StoragePatterns.h"
#include "StorageRules.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {
namespace {

/// A slice in positions of storage.
struct StorageSlice {
  SmallVector<OpFoldResult> offsets;
  SmallVector<OpFoldResult> sizes;
  SmallVector<OpFoldResult> strides;
};

} // namespace

/// Storage position of a slice [offset, size] of `type`: units of each
/// dimension, and whole tiles. `sliceType` is the storage type of the slice;
/// its static sizes are attributes and its dynamic ones values, as the slice
/// ops ask for.
template <typename OpTy>
static StorageSlice getStorageSlice(OpBuilder &builder, OpTy op,
                                    RankedTensorType type,
                                    RankedTensorType sliceType) {
  Location loc = op.getLoc();
  AffineExpr s0 = builder.getAffineSymbolExpr(0);
  StorageSlice slice{{},
                     getStorageSizes(builder, loc, type, op.getMixedSizes()),
                     op.getMixedStrides()};
  for (auto [dim, offset] : llvm::enumerate(op.getMixedOffsets())) {
    auto map = AffineMap::get(0, 1, s0.floorDiv(getStorageUnit(type, dim)));
    slice.offsets.push_back(
        affine::makeComposedFoldedAffineApply(builder, loc, map, {offset}));
  }
  slice.offsets.resize(slice.sizes.size(), builder.getIndexAttr(0));
  slice.strides.resize(slice.sizes.size(), builder.getIndexAttr(1));
  llvm::SmallBitVector dropped = op.getDroppedDims();
  dropped.resize(slice.sizes.size());
  int64_t sliceDim = 0;
  for (auto [dim, size] : llvm::enumerate(slice.sizes)) {
    if (dropped.test(dim))
      continue;
    int64_t staticSize = sliceType.getDimSize(sliceDim++);
    if (ShapedType::isDynamic(staticSize))
      size = getValueOrCreateConstantIndexOp(builder, loc, size);
    else
      size = builder.getIndexAttr(staticSize);
  }
  return slice;
}

namespace {

/// tensor.extract_slice %s[128, 4] [72, 1] [1, 1] : tensor<200x5xf8, #swizzled>
///   ->  tensor.extract_slice %s'[1, 1, 0, 0, 0] [1, 1, 32, 4, 4] [1, 1, 1, 1,
///   1]
///       : tensor<2x2x32x4x4xf8>
struct ConvertExtractSlice : public StoragePattern<tensor::ExtractSliceOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::ExtractSliceOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    RankedTensorType storage = getStorage(op.getType());
    StorageSlice slice =
        getStorageSlice(rewriter, op, op.getSourceType(), storage);
    rewriter.replaceOpWithNewOp<tensor::ExtractSliceOp>(
        op, storage, adaptor.getSource(), slice.offsets, slice.sizes,
        slice.strides);
    return success();
  }
};

/// tensor.insert_slice into scales, whose positions become those of the storage
/// form as above.
struct ConvertInsertSlice : public StoragePattern<tensor::InsertSliceOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::InsertSliceOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    StorageSlice slice = getStorageSlice(rewriter, op, op.getDestType(),
                                         getStorage(op.getSourceType()));
    rewriter.replaceOpWithNewOp<tensor::InsertSliceOp>(
        op, adaptor.getSource(), adaptor.getDest(), slice.offsets, slice.sizes,
        slice.strides);
    return success();
  }
};

/// tensor.parallel_insert_slice into scales, whose positions become those of
/// the storage form as above. They are computed before the
/// scf.forall.in_parallel that holds it.
struct ConvertParallelInsertSlice
    : public StoragePattern<tensor::ParallelInsertSliceOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::ParallelInsertSliceOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    rewriter.setInsertionPoint(op->getParentOp());
    StorageSlice slice = getStorageSlice(rewriter, op, op.getDestType(),
                                         getStorage(op.getSourceType()));
    rewriter.setInsertionPoint(op);
    rewriter.replaceOpWithNewOp<tensor::ParallelInsertSliceOp>(
        op, adaptor.getSource(), adaptor.getDest(), slice.offsets, slice.sizes,
        slice.strides);
    return success();
  }
};

/// tensor.concat dim(1) %a, %b
///     : (tensor<4x6xf4>, tensor<4x3xf4>) -> tensor<4x9xf4>
///   ->  tensor.concat dim(1) %a', %b'
///           : (tensor<4x3xi8>, tensor<4x2xi8>) -> tensor<4x5xi8>
struct ConvertConcat : public StoragePattern<tensor::ConcatOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::ConcatOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<tensor::ConcatOp>(
        op, getStorage(op.getResultType()), op.getDim(), adaptor.getInputs());
    return success();
  }
};

} // namespace

void populateStorageSlicePatterns(const TypeConverter &converter,
                                  RewritePatternSet &patterns) {
  patterns.add<ConvertExtractSlice, ConvertInsertSlice,
               ConvertParallelInsertSlice, ConvertConcat>(
      converter, patterns.getContext());
}

} // namespace blockscale

//===- LogicalSizes.cpp - Sizes that memory does not hold -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StorageRules.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Storage.h"
#include "blockscale/Transforms/StoredDim.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace blockscale;

/// The tensor of the same sizes that `value` was made from, or null.
static Value getSameSizedSource(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto loop =
        dyn_cast_if_present<scf::ForallOp>(argument.getOwner()->getParentOp());
    bool isOutput = loop && argument.getArgNumber() >= loop.getRank();
    return isOutput ? loop.getTiedOpOperand(argument)->get() : Value();
  }
  auto result = cast<OpResult>(value);
  if (auto kernel = dyn_cast<KernelOp>(result.getOwner()))
    return kernel.getOutputs()[result.getResultNumber()];
  if (auto loop = dyn_cast<scf::ForallOp>(result.getOwner()))
    return loop.getOutputs()[result.getResultNumber()];
  if (auto insert = dyn_cast<tensor::InsertSliceOp>(result.getOwner()))
    return insert.getDest();
  if (auto cast = dyn_cast<tensor::CastOp>(result.getOwner()))
    return cast.getSource();
  return {};
}

/// Size of dimension `dim` of `value` where its type or its making says it;
/// null otherwise.
static OpFoldResult findSize(OpBuilder &builder, Value value, int64_t dim) {
  for (; value; value = getSameSizedSource(value)) {
    auto type = dyn_cast<RankedTensorType>(value.getType());
    if (!type || dim < 0 || dim >= type.getRank())
      return {};
    if (!type.isDynamicDim(dim))
      return builder.getIndexAttr(type.getDimSize(dim));
    if (auto empty = value.getDefiningOp<tensor::EmptyOp>())
      return empty.getMixedSizes()[dim];
    if (auto slice = value.getDefiningOp<tensor::ExtractSliceOp>()) {
      // The result has the dimensions that are not dropped, in order.
      llvm::SmallBitVector dropped = slice.getDroppedDims();
      for (int64_t i = 0; i < slice.getSourceType().getRank(); ++i)
        if (!dropped.test(i) && dim-- == 0)
          return slice.getMixedSizes()[i];
      return {};
    }
  }
  return {};
}

void blockscale::resolveLogicalSizes(Operation *root) {
  IRRewriter rewriter(root->getContext());
  root->walk([&](tensor::DimOp op) {
    std::optional<int64_t> dim = op.getConstantIndex();
    if (!dim || !isPackedOrSwizzled(op.getSource().getType()) ||
        op->hasAttr(kStoredDimAttrName))
      return;
    // Reification leaves questions that nobody asked.
    if (op->use_empty())
      return rewriter.eraseOp(op);
    rewriter.setInsertionPoint(op);
    if (OpFoldResult size = findSize(rewriter, op.getSource(), *dim))
      rewriter.replaceOp(
          op, getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), size));
  });
}

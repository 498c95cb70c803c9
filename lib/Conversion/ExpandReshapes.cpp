//===- ExpandReshapes.cpp - Reshapes into several dynamic sizes -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_EXPANDRESHAPES
#include "blockscale/Conversion/Passes.h.inc"

/// Whether a dimension is expanded to more than one dynamic size.
static bool hasSeveralDynamicSizes(memref::ExpandShapeOp op) {
  ArrayRef<int64_t> shape = op.getResultType().getShape();
  return llvm::any_of(op.getReassociationIndices(),
                      [&](ArrayRef<int64_t> dims) {
                        return llvm::count_if(dims, [&](int64_t dim) {
                                 return ShapedType::isDynamic(shape[dim]);
                               }) > 1;
                      });
}

/// `value`, as an attribute if a type says so.
static OpFoldResult asTyped(OpBuilder &b, Location loc, int64_t typed,
                            OpFoldResult value) {
  if (ShapedType::isDynamic(typed))
    return getValueOrCreateConstantIndexOp(b, loc, value);
  return b.getIndexAttr(typed);
}

///   %y = memref.expand_shape %x [[0, 1], [2]] output_shape [%m, %n, 16]
/// becomes
///   %base, %offset, %sizes:2, %strides:2 = memref.extract_strided_metadata %x
///   %y = memref.reinterpret_cast %base to offset: [%offset],
///       sizes: [%m, %n, 16], strides: [%n * %strides#0, %strides#0, 1]
static void expand(RewriterBase &b, memref::ExpandShapeOp op) {
  Location loc = op.getLoc();
  b.setInsertionPoint(op);
  auto metadata = memref::ExtractStridedMetadataOp::create(b, loc, op.getSrc());
  MemRefType type = op.getResultType();
  auto [typedStrides, typedOffset] = type.getStridesAndOffset();
  SmallVector<OpFoldResult> sizes = op.getMixedOutputShape();
  SmallVector<OpFoldResult> strides(sizes.size());
  AffineExpr product = b.getAffineSymbolExpr(0) * b.getAffineSymbolExpr(1);
  for (auto [dims, stride] :
       llvm::zip_equal(op.getReassociationIndices(),
                       metadata.getConstifiedMixedStrides())) {
    OpFoldResult inner = stride;
    for (int64_t dim : llvm::reverse(dims)) {
      strides[dim] = asTyped(b, loc, typedStrides[dim], inner);
      if (dim != dims.front())
        inner = affine::makeComposedFoldedAffineApply(b, loc, product,
                                                      {inner, sizes[dim]});
    }
  }
  OpFoldResult offset =
      asTyped(b, loc, typedOffset, metadata.getConstifiedMixedOffset());
  b.replaceOpWithNewOp<memref::ReinterpretCastOp>(
      op, type, metadata.getBaseBuffer(), offset, sizes, strides);
}

namespace {

struct ExpandReshapesPass
    : public impl::ExpandReshapesBase<ExpandReshapesPass> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](memref::ExpandShapeOp op) {
      if (hasSeveralDynamicSizes(op))
        expand(rewriter, op);
    });
  }
};

} // namespace
} // namespace blockscale

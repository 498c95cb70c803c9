//===- MaterializeStorage.cpp - From logical to storage types -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoragePatterns.h"
#include "StorageRules.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/Storage.h"
#include "blockscale/Transforms/StoredDim.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_MATERIALIZESTORAGE
#include "blockscale/Transforms/Passes.h.inc"

StorageTypeConverter::StorageTypeConverter() {
  addConversion([](Type type) { return getStorageType(type); });
}

namespace {

/// tensor.empty(%r, %k) : tensor<?x?xf4>
///   ->  tensor.empty(%r, ceil(%k / 2)) : tensor<?x?xi8>
struct ConvertEmpty : public StoragePattern<tensor::EmptyOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::EmptyOp op, OpAdaptor,
                        ConversionPatternRewriter &rewriter) const override {
    if (hasDynamicGroups(op.getType()))
      return rewriter.notifyMatchFailure(op, "no offsets tell the groups");
    RankedTensorType storage = getStorage(op.getType());
    SmallVector<OpFoldResult> sizes = getStorageSizes(
        rewriter, op.getLoc(), op.getType(), op.getMixedSizes());
    SmallVector<Value> dynamic;
    for (auto [dim, size] : llvm::enumerate(sizes))
      if (storage.isDynamicDim(dim))
        dynamic.push_back(
            getValueOrCreateConstantIndexOp(rewriter, op.getLoc(), size));
    rewriter.replaceOpWithNewOp<tensor::EmptyOp>(op, storage, dynamic);
    return success();
  }
};

/// tensor.cast : tensor<?x80xf4> to tensor<200x80xf4>
///   ->  tensor.cast : tensor<?x40xi8> to tensor<200x40xi8>
struct ConvertCast : public StoragePattern<tensor::CastOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::CastOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<tensor::CastOp>(op, getStorage(op.getType()),
                                                adaptor.getSource());
    return success();
  }
};

/// tensor.dim of rows and batches is that of storage; along packed data it is
///
///   tensor.dim %q, 1 : tensor<?x?xf4>  ->  2 * (tensor.dim %q', 1)
///
/// where the rules have found it to be even.
struct ConvertDim : public StoragePattern<tensor::DimOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(tensor::DimOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    std::optional<int64_t> dim = op.getConstantIndex();
    auto type = dyn_cast<RankedTensorType>(op.getSource().getType());
    if (!dim || !type)
      return rewriter.notifyMatchFailure(op, "the dimension is not constant");
    if (op->hasAttr(kStoredDimAttrName)) {
      // Tiles of groups are one dimension.
      bool isGrouped = getGroupedLayout(type) != nullptr;
      rewriter.replaceOpWithNewOp<tensor::DimOp>(op, adaptor.getSource(),
                                                 isGrouped ? 0 : *dim);
      return success();
    }
    if (!isStoredDim(type, *dim) && hasLayout(type))
      return rewriter.notifyMatchFailure(op, "tiles do not tell the size");
    Value size =
        tensor::DimOp::create(rewriter, op.getLoc(), adaptor.getSource(), *dim);
    if (!isStoredDim(type, *dim)) {
      Value unit = arith::ConstantIndexOp::create(rewriter, op.getLoc(),
                                                  getStorageUnit(type, *dim));
      size = arith::MulIOp::create(rewriter, op.getLoc(), size, unit);
    }
    rewriter.replaceOp(op, size);
    return success();
  }
};

/// builtin.unrealized_conversion_cast : tensor<8x6xf4> to tensor<8x3xi8>
///   ->  the operand, which is the storage form
struct ConvertView : public StoragePattern<UnrealizedConversionCastOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(UnrealizedConversionCastOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    if (!isStorageView(op))
      return rewriter.notifyMatchFailure(
          op, "not between a type and its storage form");
    rewriter.replaceOp(op, adaptor.getInputs());
    return success();
  }
};

/// The operands and results of a kernel are what memory holds; its body goes on
/// to speak of logical tensors.
struct ConvertKernel : public StoragePattern<KernelOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(KernelOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    auto kernel = KernelOp::create(
        rewriter, op.getLoc(), TypeRange(ValueRange(adaptor.getOutputs())),
        adaptor.getInputs(), adaptor.getOutputs(), op.getFamilyAttr());
    kernel->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.inlineRegionBefore(op.getBody(), kernel.getBody(),
                                kernel.getBody().end());
    rewriter.replaceOp(op, kernel.getResults());
    return success();
  }
};

struct MaterializeStoragePass
    : public impl::MaterializeStorageBase<MaterializeStoragePass> {
  void runOnOperation() override {
    resolveLogicalSizes(getOperation());
    if (failed(verifyRules()))
      return signalPassFailure();
    recordSignatures();
    StorageTypeConverter converter;
    ConversionTarget target(getContext());
    configureStorageLegality(converter, target);
    RewritePatternSet patterns(&getContext());
    populateStorageStructuralPatterns(converter, patterns);
    populateStorageSlicePatterns(converter, patterns);
    populateStorageReshapePatterns(converter, patterns);
    populateStorageConstantPatterns(converter, patterns);
    if (failed(applyPartialConversion(getOperation(), target,
                                      std::move(patterns))))
      signalPassFailure();
  }

private:
  /// Types of storage form do not tell what the bytes mean, and callers have to
  /// know.
  void recordSignatures() {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          !function->hasAttr(kSignatureAttrName))
        function->setAttr(kSignatureAttrName,
                          TypeAttr::get(function.getFunctionType()));
  }

  /// Reports every op that no pattern converts, for reasons a user can act on.
  LogicalResult verifyRules() {
    bool isLegal = true;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<KernelOp>(op))
        return WalkResult::skip();
      isLegal &= succeeded(verifyStorageRules(op));
      if (!isa_and_present<BlockScaleDialect>(op->getDialect()))
        return WalkResult::advance();
      if (Type type = findType(op, isPackedOrSwizzled)) {
        op->emitOpError() << "expected to be in a kernel "
                             "(blockscale-form-kernels) where operands or "
                             "results have a storage form, but got "
                          << type;
        isLegal = false;
      }
      return WalkResult::advance();
    });
    return success(isLegal);
  }
};

} // namespace

void configureStorageLegality(const TypeConverter &converter,
                              ConversionTarget &target) {
  target.markUnknownOpDynamicallyLegal([&](Operation *op) {
    if (op->getParentOfType<KernelOp>())
      return true;
    if (auto function = dyn_cast<FunctionOpInterface>(op))
      return converter.isLegal(function.getArgumentTypes()) &&
             converter.isLegal(function.getResultTypes());
    return converter.isLegal(op);
  });
}

void populateStorageStructuralPatterns(const TypeConverter &converter,
                                       RewritePatternSet &patterns) {
  populateStorageControlFlowPatterns(converter, patterns);
  patterns
      .add<ConvertEmpty, ConvertCast, ConvertDim, ConvertView, ConvertKernel>(
          converter, patterns.getContext());
}

} // namespace blockscale

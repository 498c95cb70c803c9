//===- StorageControlFlow.cpp - Storage types through control flow --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StoragePatterns.h"
#include "blockscale/Transforms/Storage.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/Transforms/StructuralTypeConversions.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Func/Transforms/FuncConversions.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/Patterns.h"

using namespace mlir;

namespace blockscale {
namespace {

/// arith.select %c, %x, %y : T  ->  arith.select %c, %x', %y' : storage of T
struct ConvertSelect : public StoragePattern<arith::SelectOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(arith::SelectOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, adaptor.getCondition(),
                                                 adaptor.getTrueValue(),
                                                 adaptor.getFalseValue());
    return success();
  }
};

/// scf.forall .. shared_outs(%o = %t) -> T  ->  the same on storage of T; the
/// upstream structural conversions leave forall out.
struct ConvertForall : public StoragePattern<scf::ForallOp> {
  using StoragePattern::StoragePattern;

  LogicalResult convert(scf::ForallOp op, OpAdaptor adaptor,
                        ConversionPatternRewriter &rewriter) const override {
    auto loop = scf::ForallOp::create(
        rewriter, op.getLoc(), op.getMixedLowerBound(), op.getMixedUpperBound(),
        op.getMixedStep(), adaptor.getOutputs(), op.getMapping());
    loop->setDiscardableAttrs(op->getDiscardableAttrDictionary());
    rewriter.eraseBlock(loop.getBody());
    rewriter.inlineRegionBefore(op.getRegion(), loop.getRegion(),
                                loop.getRegion().begin());
    if (failed(rewriter.convertRegionTypes(&loop.getRegion(),
                                           *getTypeConverter())))
      return rewriter.notifyMatchFailure(op, "the body does not convert");
    rewriter.replaceOp(op, loop.getResults());
    return success();
  }
};

} // namespace

void populateStorageControlFlowPatterns(const TypeConverter &converter,
                                        RewritePatternSet &patterns) {
  populateFunctionOpInterfaceTypeConversionPattern<func::FuncOp>(patterns,
                                                                 converter);
  populateCallOpTypeConversionPattern(patterns, converter);
  populateReturnOpTypeConversionPattern(patterns, converter);
  cf::populateCFStructuralTypeConversions(converter, patterns);
  scf::populateSCFStructuralTypeConversions(converter, patterns);
  patterns.add<ConvertSelect, ConvertForall>(converter, patterns.getContext());
}

} // namespace blockscale

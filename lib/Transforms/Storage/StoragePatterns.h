//===- StoragePatterns.h - What storage patterns share ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_STORAGE_STORAGEPATTERNS_H
#define BLOCKSCALE_LIB_TRANSFORMS_STORAGE_STORAGEPATTERNS_H

#include "mlir/Transforms/DialectConversion.h"

namespace blockscale {

/// A conversion of an op that no rewrite touches while its types are storage
/// types already.
template <typename OpTy>
struct StoragePattern : public mlir::OpConversionPattern<OpTy> {
  using mlir::OpConversionPattern<OpTy>::OpConversionPattern;
  using Adaptor = typename mlir::OpConversionPattern<OpTy>::OpAdaptor;

  llvm::LogicalResult
  matchAndRewrite(OpTy op, Adaptor adaptor,
                  mlir::ConversionPatternRewriter &rewriter) const final {
    if (this->getTypeConverter()->isLegal(op.getOperation()))
      return rewriter.notifyMatchFailure(op, "in storage form already");
    return convert(op, adaptor, rewriter);
  }

  virtual llvm::LogicalResult
  convert(OpTy op, Adaptor adaptor,
          mlir::ConversionPatternRewriter &rewriter) const = 0;

  mlir::RankedTensorType getStorage(mlir::Type type) const {
    return mlir::cast<mlir::RankedTensorType>(
        this->getTypeConverter()->convertType(type));
  }
};

/// Adds the patterns for scf and arith.select.
void populateStorageControlFlowPatterns(const mlir::TypeConverter &converter,
                                        mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_STORAGE_STORAGEPATTERNS_H

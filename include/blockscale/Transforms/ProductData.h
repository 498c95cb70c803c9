//===- ProductData.h - The order of the data of products --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_PRODUCTDATA_H
#define BLOCKSCALE_TRANSFORMS_PRODUCTDATA_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// The data operands of a product.
inline mlir::OpOperand &getOperandA(ProductOpInterface op) {
  return op->getOpOperand(0);
}
inline mlir::OpOperand &getOperandB(ProductOpInterface op) {
  return op->getOpOperand(1);
}

/// Prepack constant weights before products that may take them so.
void populatePrepackProductWeightPatterns(mlir::RewritePatternSet &patterns);

/// Bring prepacked data back before the products that take them.
void populateUnpackProductDataPatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_PRODUCTDATA_H

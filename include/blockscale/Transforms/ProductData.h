//===- ProductData.h - The order of the data of products --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_PRODUCTDATA_H
#define BLOCKSCALE_TRANSFORMS_PRODUCTDATA_H

#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// Prepacks constant weights before products that may take them so. Weights of
/// more than `maxElements` elements, which are not evaluated at compile time,
/// are kept, with a remark.
void populatePrepackProductWeightPatterns(mlir::RewritePatternSet &patterns,
                                          int64_t maxElements);

/// Brings prepacked data back before the products that take them.
void populateUnpackProductDataPatterns(mlir::RewritePatternSet &patterns);

/// Adds patterns that transpose MN-major operands.
void populateTransposeProductDataPatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_PRODUCTDATA_H

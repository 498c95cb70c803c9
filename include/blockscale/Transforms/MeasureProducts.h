//===- MeasureProducts.h - Functions that measure products ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A function that measures what quantization changes computes each product
// twice, as it is and quantized, from the same operands: those of the function
// in which nothing is quantized. So the error of a product is its own, and not
// that of products before it. One that measures amaxes computes those of the
// same operands.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_MEASUREPRODUCTS_H
#define BLOCKSCALE_TRANSFORMS_MEASUREPRODUCTS_H

#include "blockscale/Transforms/QuantizeProducts.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscale {

/// Whether the decision is to quantize a product that is computed once in a
/// call of its function, and not in a loop, a branch or one of several blocks.
bool isMeasured(const ProductDecision &decision);

/// Gives `function`, which has one block, other results: for each decision that
/// is measured, two tensor<f64>, the sum of the squares of the product, and
/// that of the squares of what quantization changes of its elements.
void measureProducts(mlir::func::FuncOp function,
                     llvm::ArrayRef<ProductDecision> decisions);

/// Gives `function`, which has one block, other results: for each decision that
/// is measured and reads an amax, that, a tensor<f32>.
void measureAmaxes(mlir::func::FuncOp function,
                   llvm::ArrayRef<ProductDecision> decisions);

/// Makes `results` those of `function`, which has one block.
void returnMeasured(mlir::RewriterBase &rewriter, mlir::func::FuncOp function,
                    llvm::ArrayRef<mlir::Value> results);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_MEASUREPRODUCTS_H

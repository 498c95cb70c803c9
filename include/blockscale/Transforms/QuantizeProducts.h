//===- QuantizeProducts.h - Products of quantized operands ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of matrices in `linalg` becomes a `scaled_mm` of operands that are
// quantized before it. This changes its numbers, so it is done where a policy
// says so, and if
//
//  - product_c1 to product_c3 hold (MatrixProduct.h);
//  - policy_c1: a rule of the policy matches the product, and quantizes it;
//  - policy_c2: the product is not the last projection, or the policy does not
//    leave that: a product with a weight that needs the result of another one,
//    and that no other one needs;
//  - policy_c3: the weight, or else B, has at least as many rows as a block has
//    elements, or the policy does not leave narrow products;
//  - policy_c4: K is static and of whole blocks;
//  - policy_c5: a rule for weights alone is for a product with a weight beside
//    bf16, or f16 with NVFP4 weights;
//  - policy_c6: a rule with a random Hadamard transform is for operands of
//    bf16.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_QUANTIZEPRODUCTS_H
#define BLOCKSCALE_TRANSFORMS_QUANTIZEPRODUCTS_H

#include "blockscale/Transforms/QuantizationPolicy.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace blockscale {

/// A product of a function, and what a policy makes of it.
struct ProductDecision {
  /// The op; what else is known of it only if it is a matrix product.
  mlir::Operation *op = nullptr;
  MatrixProduct product;
  /// Which operands are weights.
  bool isWeightA = false, isWeightB = false;
  /// How it is quantized, by which rule; nothing if it is left.
  std::optional<ProductForm> form;
  std::string rule;
  /// Why it is left.
  std::optional<FusionObstacle> obstacle;

  /// What A and B are quantized to; nothing of an operand that stays plain.
  OperandForm getFormA() const;
  OperandForm getFormB() const;
  /// Whether the decision is to quantize, with a global scale that is of the
  /// amax of what the product reads beside its weight (readsAmax).
  bool readsAmax() const;
};

/// The decisions for all ops on tensors of `function` that add products, in the
/// order of the program. Ops in kernels are not looked at.
std::vector<ProductDecision> decideProducts(mlir::FunctionOpInterface function,
                                            const QuantizationPolicy &policy);

/// The obstacle of clauses policy_c3 to policy_c6 to quantizing a product in
/// that form.
std::optional<FusionObstacle> findFormObstacle(const ProductDecision &decision,
                                               const ProductForm &form,
                                               bool leavesNarrow);

/// Creates the quantized product before the op of a decision with a form, and
/// returns the value to replace the op's result with:
///
///   %y = linalg.matmul indexing_maps = [(m, n, k) -> (m, k), (n, k), (m, n)]
///            ins(%x, %w) outs(%zeros)
///     ->  %qx, %sx = blockscale.quantize %x block [1, 16] ..
///         %qw, %sw = blockscale.quantize %w block [1, 16] ..
///         %y = blockscale.scaled_mm %qx, %qw scales(%sx, %sw) block [1, 16]
///
/// An operand of K rows is quantized with `transposed`; other orders of
/// dimensions are transposed before. Several loops of m, n or k are collapsed
/// to one dimension. What a sum begins with, other than zeros, is added after.
mlir::Value createQuantizedProduct(mlir::RewriterBase &rewriter,
                                   const ProductDecision &decision);

/// Creates the amax, a tensor<f32>, of what the product of a decision with a
/// form reads beside its weight, before its op: of all matrices of a batch, and
/// of what the layer's type makes of f32.
mlir::Value createActivationAmax(mlir::RewriterBase &rewriter,
                                 const ProductDecision &decision);

/// Replaces each product of the decisions of a function, in the order of the
/// program, that has a form. If the form casts, the result of the layer is
/// rounded: the product, or its sum with a bias.
void replaceProducts(mlir::RewriterBase &rewriter,
                     llvm::ArrayRef<ProductDecision> decisions);

/// Quantizes the products of all functions as the policy says. Each product
/// that is left gets a remark.
void quantizeProducts(mlir::ModuleOp module, const QuantizationPolicy &policy);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_QUANTIZEPRODUCTS_H

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
  /// What is made of it by the rows that M has at run time, where these decide
  /// and M is dynamic: two decisions or more, not all of which leave it.
  /// `form`, `rule` and `obstacle` are those of the most rows then.
  std::vector<RowsDecision> byRows;
  /// The most rows that it has in its branch, where M is dynamic.
  std::optional<int64_t> maxRows;

  /// Makes of it what is made of so many rows. None are a row.
  void decideFor(int64_t rows);
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

/// An operand as `scaled_mm` takes it: its codes with scales, or a plain one
/// without. There may be no global scale.
struct ProductOperand {
  mlir::Value data, scale, global;
};

/// Creates the ops that quantize the weight of a decision with a form, at the
/// insertion point of `rewriter`.
ProductOperand createQuantizedWeight(mlir::RewriterBase &rewriter,
                                     const ProductDecision &decision);

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
/// A weight that was quantized before in that form may be given.
mlir::Value createQuantizedProduct(mlir::RewriterBase &rewriter,
                                   const ProductDecision &decision,
                                   const ProductOperand *weight = nullptr);

/// Replaces the product of a decision by rows, and what alone reads it element
/// by element, by a branch on the rows that it has at run time:
///
///   %y = linalg.matmul ins(%x, %w) ..
///   %z = linalg.generic ins(%y, %bias) ..
///     ->  %qw, %sw = blockscale.quantize %w ..
///         %few = arith.cmpi ult, (tensor.dim %x, 0), 17
///         %z = scf.if %few {
///           %y = blockscale.scaled_mm %x, %qw scales(none, %sw) ..
///           scf.yield (linalg.generic ins(%y, %bias) ..)
///         } else {
///           %qx, %sx = blockscale.quantize %x ..
///           %y = blockscale.scaled_mm %qx, %qw scales(%sx, %sw) ..
///           scf.yield (linalg.generic ins(%y, %bias) ..)
///         }
///
/// A weight that several branches read in one form is quantized before them,
/// once. An epilogue is in each branch, so that kernels of products have it.
void replaceByRows(mlir::RewriterBase &rewriter,
                   const ProductDecision &decision);

/// Makes one of branches of `function` on the same condition that follow one
/// another, as those of products that read the same activations:
///
///   %y = scf.if %few { A } else { B }
///   %z = scf.if %few { C } else { D }
///     ->  %y, %z = scf.if %few { A; C } else { B; D }
///
/// Then what both need, as quantized activations, is computed once. What only
/// one way of a branch needs is moved into it.
void joinBranches(mlir::RewriterBase &rewriter,
                  mlir::FunctionOpInterface function);

/// Rounds the result of the layer whose product is `value` to the type that the
/// form of the decision casts to, if it does.
void roundLayer(mlir::RewriterBase &rewriter, mlir::Value value,
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

//===- MatrixProduct.h - Ops of linalg that are products --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// `linalg` has many ops that compute products of matrices: `matmul` and
// `batch_matmul` with any indexing maps, `contract`, `generic`, and
// convolutions whose filter is a point. They are all told by what they
// compute: a loop nest whose body adds the product of its two inputs to its
// output. Each loop has a role:
//
//  - a batch loop is one of both operands and of the result;
//  - an m loop is one of A and of the result, an n loop one of B and of the
//    result;
//  - a k loop is one of A and of B, and sums.
//
// Several loops of a role are one dimension of a matrix.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_MATRIXPRODUCT_H
#define BLOCKSCALE_ANALYSIS_MATRIXPRODUCT_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace blockscale {

/// Loops of a nest, by their numbers.
using Loops = llvm::SmallVector<unsigned, 4>;

/// What a dimension of an operand has in the place of a loop where its size is
/// 1 and no loop runs over it.
inline constexpr unsigned kNoLoop = ~0u;

/// An operand of a product, before the ops between it and the product that
/// change no number: extensions and transpositions.
struct ProductFactor {
  mlir::Value source;
  /// The loop that runs over each dimension of `source`, or kNoLoop.
  Loops loops;
  /// The loops of its rows, m or n, in the order of the result.
  Loops rows;

  mlir::RankedTensorType getType() const {
    return llvm::cast<mlir::RankedTensorType>(source.getType());
  }
  mlir::Type getElementType() const { return getType().getElementType(); }
};

/// A product of matrices: the factor `a` has its rows before those of `b` in
/// the result, wherever the result has them so.
struct MatrixProduct {
  mlir::Operation *op = nullptr;
  ProductFactor a, b;
  /// Loops of both, in the order of the result, and in that of `a`.
  Loops batch, k;
  /// The loop that runs over each dimension of the result.
  Loops result;
  /// The number of iterations of each loop, which may be dynamic.
  llvm::SmallVector<int64_t> sizes;

  mlir::RankedTensorType getType() const {
    return llvm::cast<mlir::RankedTensorType>(op->getResult(0).getType());
  }
  /// The iterations of some loops together, dynamic if those of one are.
  int64_t getSize(llvm::ArrayRef<unsigned> loops) const;
};

/// The product that `body`, of an op with one output, adds to its last
/// argument; null if it adds none.
mlir::arith::MulFOp getAddedProduct(mlir::Block &body);

/// The product of its two inputs, as they are or cast, that `op` adds to its
/// output; null if it adds none.
mlir::arith::MulFOp findAddedProduct(mlir::linalg::LinalgOp op);

/// Whether `op` adds products of its two inputs, floats, to its output: no
/// other op is a matrix product.
bool addsProducts(mlir::linalg::LinalgOp op);

/// Describes an op on tensors that adds products, or says why it is no product
/// of matrices:
///
///  - product_c1: its operands are bf16, f16 or f32 and are multiplied as they
///    are or extended, its result is one of these, and no tensor has an
///    encoding.
///  - product_c2: each index of an operand is a loop: a convolution has a
///    filter of one point at a stride of 1.
///  - product_c3: each loop has a role, and there are m, n and k loops.
std::optional<FusionObstacle> matchMatrixProduct(mlir::linalg::LinalgOp op,
                                                 MatrixProduct &product);

/// The operand of an op on tensors that extends each bf16 or f16; null of other
/// ops.
mlir::Value getExtended(mlir::Operation *op);

/// What the name of an argument attribute says: the argument holds the same
/// numbers in each call of its function.
inline constexpr llvm::StringLiteral kWeightAttrName = "blockscale.weight";

/// What the name of an attribute of a product in a branch, or of a function,
/// says, an integer: it has so many rows at most, where M is dynamic, or all
/// matrices of its calls have. Schedules of products go by the former, layouts
/// of norms by the latter; results are the same with more rows.
inline constexpr llvm::StringLiteral kMaxRowsAttrName = "blockscale.max_rows";

/// Whether `value` is a constant, or an argument with that attribute of a
/// function, or is one of these moved, reshaped or cast.
bool isWeight(mlir::Value value);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_MATRIXPRODUCT_H

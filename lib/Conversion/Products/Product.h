//===- Product.h - What dense and grouped products have ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCT_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCT_H

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Target/Chip.h"

namespace blockscale::products {

/// The operands of a product; absent ones are null. Groups cut the rows of A
/// and of the result (2d-3d), or K, the columns of both operands (2d-2d).
struct Product {
  using Tensor = mlir::TypedValue<mlir::RankedTensorType>;

  explicit Product(ProductOpInterface op);

  mlir::Operation *op;
  GroupDim groups;
  Tensor a, b, scaleA, scaleB, result;
  /// Whether the data of A are [K, M], and those of B [K, N].
  bool isMnMajorA, isMnMajorB;
  /// The ends of groups.
  Tensor offsets;
  GlobalOperand factorA, factorB;
  /// The global scale of the operand with scales, where it multiplies elements
  /// and not sums.
  GlobalOperand elementFactor;
  Tensor bias;
  bool scalesAfterRounding;
  /// Whether sums have the bits of one chain along K (`order chain`).
  bool keepsChain;

  /// The rows of A, or the most that they are known to be where M is dynamic;
  /// dynamic if neither is known.
  int64_t getMaxRows() const;

  /// How many operands have scales; others are bf16 or f16.
  int64_t countScaled() const { return (scaleA ? 1 : 0) + (scaleB ? 1 : 0); }
  /// Whether an operand with scales has them across K.
  bool isMnMajorScaled() const {
    return (isMnMajorA && scaleA) || (isMnMajorB && scaleB);
  }
  /// Whether kernels of the chip that decode an operand read the one with
  /// scales as it lies.
  bool canBeDecoded(const target::Chip &chip) const;
  /// Whether an operand is bf16 or f16 without scales.
  bool hasPlainOperand() const { return countScaled() < 2; }

  /// Products of its kernel, and whether other ops follow there.
  int64_t siblings = 1;
  bool hasEpilogue = false;
  /// Whether no other kernel can add sums of parts of K: results of groups, and
  /// those that other ops take, are made where all of a sum is.
  bool needsWholeSums() const {
    return groups != GroupDim::None || hasEpilogue;
  }

private:
  void lookAtKernel();
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCT_H

//===- RaisedFactor.h - An operand of a product by linalg ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_RAISING_RAISEDFACTOR_H
#define BLOCKSCALE_LIB_TRANSFORMS_RAISING_RAISEDFACTOR_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace blockscale {

/// An operand of a product, before the ops between it and the product that
/// change no number: extensions to f32, transpositions, and a broadcast of one
/// matrix to all of a batch.
struct RaisedFactor {
  /// How the product reads its matrices: one for each matrix of the result, one
  /// for all of them, or in another way.
  enum class Kind { Matrices, Shared, Other };

  Kind kind;
  /// Whether the rows of `source` run along its last dimension, and not K.
  bool isTransposed;
  mlir::Value source;
  /// What makes `source`, if it is dequantized.
  DequantizeOp dequantize;

  mlir::RankedTensorType getType() const {
    return llvm::cast<mlir::RankedTensorType>(source.getType());
  }
  mlir::Type getElementType() const { return getType().getElementType(); }
  /// The size of K as this operand knows it.
  int64_t getK() const;
};

/// Whether `op` is `linalg.matmul`, `linalg.batch_matmul`, or a
/// `linalg.generic` with the loops (batch.., m, n, k) and a body that adds the
/// product of its two inputs, which it may extend, to the sum.
bool isProductByLinalg(mlir::linalg::LinalgOp op);

/// Whether nothing but such products takes `values`, as they are or through the
/// ops that a factor looks through. Their sizes can be taken by any op.
bool feedsProductsOnly(mlir::Value values);

/// A (`number` 0), whose rows are m, or B (1), whose rows are n, of such an op.
RaisedFactor getRaisedFactor(mlir::linalg::LinalgOp op, unsigned number);

/// Whether the result of such an op has M rows and N columns.
bool hasMatrixResult(mlir::linalg::LinalgOp op);

/// `matrices` with the last two dimensions of each exchanged.
mlir::Value createTransposed(mlir::OpBuilder &builder, mlir::Location loc,
                             mlir::Value matrices);

/// `factor` as a matrix of rows along K.
mlir::Value createRows(mlir::OpBuilder &builder, mlir::Location loc,
                       const RaisedFactor &factor);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_RAISING_RAISEDFACTOR_H

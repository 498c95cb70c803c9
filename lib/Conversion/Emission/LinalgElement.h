//===- LinalgElement.h - One iteration of a linalg op -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_LINALGELEMENT_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_LINALGELEMENT_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace blockscale::emit {

/// Emits scalar code for one iteration of a linalg op on memrefs.
class LinalgElement {
public:
  /// `place` has the index of each loop of the op.
  LinalgElement(mlir::ImplicitLocOpBuilder &b, mlir::linalg::LinalgOp op,
                mlir::ValueRange place)
      : b(b), op(op), place(place) {}

  /// The element of an operand that the iteration has: a load, or the operand
  /// itself if it is a scalar.
  mlir::Value load(mlir::OpOperand &operand);
  /// Stores the element of an output.
  void store(mlir::Value value, mlir::OpOperand &output);

  /// What the body yields. `outputs` are the values of the output's elements
  /// before; those that the body does not read may be null.
  llvm::SmallVector<mlir::Value> evaluate(mlir::ValueRange outputs);

private:
  llvm::SmallVector<mlir::Value> getIndices(mlir::OpOperand &operand);

  mlir::ImplicitLocOpBuilder &b;
  mlir::linalg::LinalgOp op;
  llvm::SmallVector<mlir::Value> place;
};

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_LINALGELEMENT_H

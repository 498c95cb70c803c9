//===- ElementwiseStep.h - One operation on each element --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_ELEMENTWISESTEP_H
#define BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_ELEMENTWISESTEP_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace blockscale {

/// An operand of an operation on each element of a tensor.
struct StepOperand {
  /// How its elements lie on those of the result.
  enum class Spread { Elements, Columns, Single };

  Spread spread;
  /// A tensor, or one number: a scalar, or a tensor of one element. If it is
  /// spread by columns, it is a row: all its sizes but the last one are 1.
  mlir::Value value;
  /// Of a number that is written in the body alone; `value` is null then.
  mlir::FloatAttr constant;
  /// The type in which the operand is stored.
  mlir::Type type;
};

/// `result = round(lhs op rhs)`, an operation in floating point on each element
/// of a tensor, in the type of the result or in f32 and rounded once.
struct ElementwiseStep {
  enum class Kind { Multiply, Divide, Add };

  Kind kind;
  StepOperand lhs, rhs;
  /// The type of the result.
  mlir::Type type;
  /// Whether the operation is one of f32.
  bool isWide;
};

/// The step that an op on tensors is: `arith` on tensors, or a
/// `linalg.generic`; nullopt if it is none.
std::optional<ElementwiseStep> getElementwiseStep(mlir::Operation *op);

/// What `value` in the body of an elementwise `op` is: an input, a number from
/// outside, or a constant; nullopt if the body computes it, or reads it in
/// another way.
std::optional<StepOperand> getBodyOperand(mlir::linalg::GenericOp op,
                                          mlir::Value value);

/// The f32 number of which `value`, a number or a tensor of one, is the
/// rounding to its own type; null if no op rounds it.
mlir::Value getUnrounded(mlir::Value value);

/// The two f32 numbers of which `value`, a number or a tensor of rank 0, is the
/// product; null if it is none.
std::pair<mlir::Value, mlir::Value> getFactors(mlir::Value value);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_ELEMENTWISE_ELEMENTWISESTEP_H

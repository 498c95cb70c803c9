//===- ElementwiseBody.h - Bodies that kernels evaluate ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels on a GPU evaluate the bodies of linalg ops in registers. They take
// what has one meaning on every target: one IEEE rounding an op, integers, and
// no function whose value a library decides (blockscale-expand-math).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_ELEMENTWISEBODY_H
#define BLOCKSCALE_ANALYSIS_ELEMENTWISEBODY_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Block.h"
#include "mlir/IR/BuiltinAttributeInterfaces.h"

#include <optional>

namespace blockscale {

/// Whether kernels compute `op` on elements in registers.
bool isEvaluable(mlir::Operation *op);

/// The first op of `body`, but for its terminator, that kernels do not
/// evaluate; null if they evaluate all.
mlir::Operation *findUnevaluable(mlir::Block &body);

/// Whether kernels have elements of this type in registers: f32, bf16 or f16.
bool isElementFloat(mlir::Type type);

/// The op that `generic` computes of each element of its one input, which lies
/// at the element's own place; null if it is another one.
mlir::Operation *getUnaryOp(mlir::linalg::GenericOp generic);

/// The constant that all elements of `value` are, or null.
mlir::TypedAttr getUniformConstant(mlir::Value value);

/// Whether an op of `arith` rounds to the nearest, ties to even: without a mode
/// it does.
bool isNearest(std::optional<mlir::arith::RoundingMode> mode);

/// What `isEvaluable` takes, for diagnostics.
llvm::StringRef describeEvaluable();

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_ELEMENTWISEBODY_H

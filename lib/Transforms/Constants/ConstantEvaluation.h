//===- ConstantEvaluation.h - Ops of the dialect on constants ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ops of constants are evaluated with the arithmetic of Numerics. Rows are
// computed on the context's threads.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_CONSTANTS_CONSTANTEVALUATION_H
#define BLOCKSCALE_LIB_TRANSFORMS_CONSTANTS_CONSTANTEVALUATION_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace blockscale {

using ConstantResults = llvm::SmallVector<mlir::TypedAttr, 2>;

/// The results of an op with static types, or nothing where an operand is no
/// constant or the form is not evaluated (groups, random bits).
std::optional<ConstantResults> evaluate(AmaxOp op);
std::optional<ConstantResults> evaluate(GlobalScaleOp op);
std::optional<ConstantResults> evaluate(ScaleSweepOp op);
std::optional<ConstantResults> evaluate(HadamardOp op);
std::optional<ConstantResults> evaluate(QuantizeOp op);
std::optional<ConstantResults> evaluate(ExpandScaleOp op);
std::optional<ConstantResults> evaluate(SwizzleOp op);
std::optional<ConstantResults> evaluate(PrepackOp op);

/// The same of upstream's ops that move elements, or convert them between f32,
/// bf16 and f16.
std::optional<ConstantResults> evaluate(mlir::tensor::CollapseShapeOp op);
std::optional<ConstantResults> evaluate(mlir::tensor::ExpandShapeOp op);
std::optional<ConstantResults> evaluate(mlir::tensor::ExtractSliceOp op);
std::optional<ConstantResults> evaluate(mlir::linalg::TransposeOp op);
std::optional<ConstantResults> evaluate(mlir::arith::TruncFOp op);
std::optional<ConstantResults> evaluate(mlir::arith::ExtFOp op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_CONSTANTS_CONSTANTEVALUATION_H

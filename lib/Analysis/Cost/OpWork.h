//===- OpWork.h - Bytes and FLOP of ops -------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_ANALYSIS_COST_OPWORK_H
#define BLOCKSCALE_LIB_ANALYSIS_COST_OPWORK_H

#include "blockscale/Analysis/Cost/CostModel.h"

namespace blockscale {

/// The work of an op or kernel: storage of the distinct operands and of the
/// results once each, what is in between being on chip.
llvm::Expected<Work> getExactWork(mlir::Operation *op, ShapeEvaluator &sizes);

/// The work that torchao's formulas give an op, or a kernel of one op.
llvm::Expected<Work> getTorchaoWork(mlir::Operation *op, ShapeEvaluator &sizes);

/// Adds the bytes in memory of tensors; none of scalars, parameters of kernels.
llvm::Error addStoredBytes(llvm::ArrayRef<mlir::Value> values,
                           ShapeEvaluator &sizes, Work &work);

/// What multiplies operands of these element types.
target::Unit getProductUnit(mlir::Type a, mlir::Type b);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_ANALYSIS_COST_OPWORK_H

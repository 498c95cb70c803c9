//===- ShapeEvaluator.h - Shapes under assumed sizes ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_COST_SHAPEEVALUATOR_H
#define BLOCKSCALE_ANALYSIS_COST_SHAPEEVALUATOR_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/Value.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/Support/Error.h"

#include <optional>

namespace blockscale {

/// The shapes of tensors where the dynamic sizes of a function's arguments have
/// assumed values: those of others follow from the ops that make them.
class ShapeEvaluator {
public:
  /// `sizes` are those of the dynamic dimensions of a function's arguments, in
  /// order; the last one also serves all that follow. May be empty.
  explicit ShapeEvaluator(llvm::ArrayRef<int64_t> sizes) : sizes(sizes) {}

  /// The shape of a tensor, or why it is not known.
  llvm::Expected<llvm::SmallVector<int64_t>> getShape(mlir::Value tensor);

private:
  llvm::Error unknown(mlir::Value tensor);
  llvm::Expected<llvm::SmallVector<int64_t>>
  getArgumentShape(mlir::BlockArgument argument);
  llvm::Expected<llvm::SmallVector<int64_t>>
  getKernelArgumentShape(KernelOp kernel, mlir::BlockArgument argument);
  llvm::Expected<llvm::SmallVector<int64_t>>
  getResultShape(mlir::OpResult result);
  /// One of the sizes of `tensor`, which errors name.
  llvm::Expected<int64_t> evaluate(mlir::OpFoldResult size, mlir::Value tensor);

  llvm::SmallVector<int64_t> sizes;
  /// Shapes that were found so far; nullopt for one that is being found out, or
  /// was found to be unknown.
  llvm::DenseMap<mlir::Value, std::optional<llvm::SmallVector<int64_t>>> known;
};

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_COST_SHAPEEVALUATOR_H

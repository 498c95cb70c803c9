//===- Producers.h - Elementwise ops that kernels evaluate ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_PRODUCERS_H
#define BLOCKSCALE_ANALYSIS_PRODUCERS_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace blockscale {

/// How the elements of an input lie on those of a result.
enum class Spread {
  /// The input has an element for each element of the result.
  Elements,
  /// The input has an element for each row, or each column, of the result.
  Rows,
  Columns,
  /// The input has a single element.
  Single,
};

/// How an input with the indexing map `map`, whose loops are those of the
/// result, lies on the result; nullopt if it lies in none of these ways.
std::optional<Spread> getSpread(mlir::AffineMap map);

/// What a kernel that computes `op` reads. What destinations held is not read.
llvm::SmallVector<mlir::Value> getInputs(mlir::Operation *op);

/// The tensor that has the sizes of the only result of `op`, which no memory
/// holds; null for ops whose results memory holds.
mlir::Value getSameSizedSource(mlir::Operation *op);

/// The tensors whose columns lie side by side in `x`: the operands of a
/// concatenation along the last dimension, and else `x` itself.
llvm::SmallVector<mlir::Value> getSideBySide(mlir::Value x);

/// An input of `op` that has all elements, hence the sizes of the result; null
/// if there is none.
mlir::Value getSameSizedInput(mlir::linalg::LinalgOp op);

/// Why a kernel of a GPU cannot evaluate `op`, a linalg op on tensors:
///
///  - producer_c1: it is elementwise, with one result: all loops are parallel,
///    the result has the elements in the order of the loops, and its old
///    content is not read.
///  - producer_c2: an input has an element for each one of the result, for each
///    row, for each column, or a single one, in the order of the loops; one of
///    them has all.
///  - producer_c3: inputs and results are bf16, f16 or f32.
///  - producer_c4: its body takes its arguments and constants, and does what
///    kernels evaluate (ElementwiseBody.h).
std::optional<FusionObstacle>
findElementwiseObstacle(mlir::linalg::LinalgOp op);

/// Why kernels that use the result of `op` cannot compute it in registers: the
/// clauses above, or
///
///  - producer_c5: a use is in the block of `op`, by `ops` of one kernel, each
///  of
///    which takes each element for itself.
///  - producer_c6: all uses are, or of sizes; unless the kernel keeps the
///  result
///    in memory, too.
///
/// Where the length of rows is dynamic and each block is quantized without its
/// row, a plan of kernels asks for one more:
///
///  - producer_c7: inputs have an element for each one of the result.
///
/// Users that `isUse` denies are none; without it all are.
std::optional<FusionObstacle> findProducerObstacle(
    mlir::linalg::LinalgOp op, llvm::ArrayRef<mlir::Operation *> ops,
    bool isKept,
    llvm::function_ref<bool(mlir::Operation *user)> isUse = nullptr);

/// Why a kernel of a GPU whose threads have fragments cannot take the elements
/// of `op`, which lays tensors side by side, from these, or compute them:
///
///  - join_c1: the tensors lie side by side along the last dimension, with
///    static numbers of columns that are multiples of the 16 that a thread has
///    at most.
///  - join_c2: all uses are in its block, by `ops` of one kernel, as their x,
///    or of sizes.
std::optional<FusionObstacle>
findJoinObstacle(mlir::tensor::ConcatOp op,
                 llvm::ArrayRef<mlir::Operation *> ops);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_PRODUCERS_H

//===- RowMoves.h - Ops that permute dimensions -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The heads of attention are matrices of a batch, whose rows a linear layer
// writes beside each other: [sentence, word, head, number]. A transposition
// brings all rows of a matrix together: [sentence, head, word, number]. Kernels
// of products read and write matrices that are interleaved so, where they lie.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_ROWMOVES_H
#define BLOCKSCALE_ANALYSIS_ROWMOVES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"

#include <optional>

namespace blockscale {

/// A `linalg.generic` that moves the elements of its only input and writes each
/// element of the result, in the order of its loops; null of other ops.
mlir::linalg::GenericOp getMove(mlir::Operation *op);

/// For each dimension of the result of an op that permutes the dimensions of a
/// tensor, and does no more, the dimension of its input; empty for other ops.
llvm::SmallVector<int64_t> getPermutation(mlir::Operation *op);

/// Of an op that permutes [.., rows, inner.., columns], of which at least one
/// dimension is inner, to [.., inner.., rows, columns]: the dimension of rows
/// of its input.
std::optional<int64_t> getGatheredRows(mlir::Operation *op);

/// Of an op that permutes [.., inner.., rows, columns] back to [.., rows,
/// inner.., columns]: the dimension of rows of its result.
std::optional<int64_t> getScatteredRows(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_ROWMOVES_H

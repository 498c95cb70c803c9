//===- RowProgram.h - Linalg ops over the rows of a tensor ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row program computes from each row of a tensor something of the same shape,
// or of one value a row: norms, softmax. Its ops run over the elements, and may
// reduce them along the last dimension, or over one value a row.
//
// The order in which a reduction combines the elements of a row, those of index
// j in [0, K), depends on K alone:
//
//  1. Leaves. Elements [32 i, 32 i + 32) of a row become one value: element j
//  of
//     the leaf is combined with element j + 16, what this gives with j + 8,
//     then j + 4, j + 2 and j + 1.
//  2. A tree. Of the values in order, that of place 2 i is combined with that
//  of
//     2 i + 1 and takes place i, until one is left.
//  3. The initial value is combined with that.
//
// A value without a partner stays as it is.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_ROWPROGRAM_H
#define BLOCKSCALE_ANALYSIS_ROWPROGRAM_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace blockscale {

/// Elements of a leaf of reductions.
inline constexpr int64_t kLeafElements = 32;

/// How a value varies: with the element, the row, the column, or not at all.
enum class RowForm : uint8_t { Elements, Rows, Columns, Scalar };

/// An op of a row program.
struct RowOp {
  mlir::linalg::LinalgOp op;
  /// What it has an iteration for: Elements or Rows.
  RowForm iterations;
  /// How each operand varies, inits included.
  llvm::SmallVector<RowForm> operands;
  /// The op that combines two values of a reduction; null for other ops.
  mlir::Operation *combiner = nullptr;
  /// The initial value of a reduction, a scalar; null for other ops.
  mlir::Value initial;

  RowForm getResultForm() const {
    return combiner ? RowForm::Rows : iterations;
  }
};

/// Why `op` is no op of a program over rows of `elements`:
///
///  - norm_c2: rows have a static length from 1 to 65536.
///  - norm_c3: the op iterates over the elements, or over one value a row, and
///    it has inputs, each read where the iteration is, or is one of the row,
///    one of the column, or one for all.
///  - norm_c4: what reduces, does so along rows only, by a sum, a product, a
///    maximum or a minimum in f32 of a value of the element, and starts from a
///    `linalg.fill`; no other op reads its init.
///  - norm_c5: its body can be evaluated in registers (ElementwiseBody.h).
///
/// Fills `row` where there is no reason.
std::optional<FusionObstacle> analyzeRowOp(mlir::linalg::LinalgOp op,
                                           mlir::RankedTensorType elements,
                                           RowOp &row);

/// Whether the kernel of a row program takes strips of rows for `ops`, which
/// quantize what it computes: they are several, or have blocks of several rows.
bool takeStrips(llvm::ArrayRef<QuantizeOp> ops);

/// Why `ops` cannot quantize what a row program computes in its kernel:
///
///  - norm_c8: where they take strips, the ops of the program that compute
///    elements of x from others, or from values of rows, are elementwise ops as
///    quantizers compute them (Producers.h).
///
/// Several of them meet the clauses of FusionLegality.h, too. `isInside` says
/// which linalg ops are in the program.
///
/// The planner (RowProgramPlan.cpp) adds what the ops around them decide:
///
///  - norm_c1: nothing pads groups of x before.
///  - norm_c6: where they take strips, x has no amax and no transform, and they
///    are no members of a group.
///  - norm_c7: what the kernel computes beside is used after it alone.
///  - norm_c9: where they take strips of known sizes, one kernel is estimated
///  to
///    take no longer than several, although its CTAs are few where rows are.
std::optional<FusionObstacle>
findRowQuantizeObstacle(llvm::ArrayRef<QuantizeOp> ops,
                        llvm::function_ref<bool(mlir::Operation *)> isInside);

/// The scalar that `op` fills a tensor with, by linalg.fill or an op that does
/// the same; null for other ops.
mlir::Value getFilledScalar(mlir::Operation *op);

/// Whether a program makes what `op` gives anew where it needs it: constants,
/// tensors of one value and empty ones.
bool isMadeAnew(mlir::Operation *op);

/// The shape that a program with the reduction `op` has; null where it reduces
/// nothing along its last dimension.
mlir::RankedTensorType getReducedElements(mlir::linalg::LinalgOp op);

/// What combines the values of an op that reduces its last dimension, and no
/// other, by a sum, a product, a maximum or a minimum in f32; null for others.
mlir::Operation *findRowCombiner(mlir::linalg::LinalgOp op);

/// As findRowCombiner, but null where the row's length is dynamic or 0, or the
/// row has more than one result: sums have the order of the loops there instead
/// of the one above.
mlir::Operation *findOrderedCombiner(mlir::linalg::LinalgOp op);

/// The value that `combiner` leaves the other one as it is with.
llvm::APFloat getNeutralElement(mlir::Operation *combiner);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_ROWPROGRAM_H

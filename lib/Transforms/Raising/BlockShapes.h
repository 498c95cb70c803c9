//===- BlockShapes.h - Shapes of blocks, row by row -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_RAISING_BLOCKSHAPES_H
#define BLOCKSCALE_LIB_TRANSFORMS_RAISING_BLOCKSHAPES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace blockscale {

/// Whether elements row by row may be given another shape: both are the same,
/// or all sizes are known, and as many.
bool canReshape(llvm::ArrayRef<int64_t> from, llvm::ArrayRef<int64_t> to);

/// The elements of `value`, row by row, in such a shape.
mlir::Value createReshape(mlir::OpBuilder &builder, mlir::Location loc,
                          mlir::Value value, llvm::ArrayRef<int64_t> shape);

/// Whether a tensor [.., K / `block`, `block`] has a dimension for the elements
/// of a block, and more than one other.
bool hasBlockDim(mlir::RankedTensorType type, int64_t block);

/// The type of such a tensor as [.., K].
mlir::RankedTensorType getJoinedType(mlir::RankedTensorType type);

/// [.., K / block, block] as [.., K].
mlir::Value createJoinedBlocks(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value value);

/// [.., K] as [.., K / block, block], in the shape of `like`, which has the
/// sizes.
mlir::Value createSplitBlocks(mlir::OpBuilder &builder, mlir::Location loc,
                              mlir::Value value, mlir::Value like);

/// [[0, .., rank - 2], [rank - 1]]: the leading dimensions and the rows of all
/// matrices become the rows of one.
llvm::SmallVector<mlir::ReassociationIndices> getRowReassociation(int64_t rank);

/// `value` [.., M, K] as one matrix.
mlir::Value flattenRows(mlir::OpBuilder &builder, mlir::Location loc,
                        mlir::Value value);

/// `rows` reshaped as `op` reshapes others, of which it leaves the last
/// dimension as it is; that of `rows` is their own.
mlir::Value createRowReshape(mlir::OpBuilder &builder,
                             mlir::tensor::CollapseShapeOp op,
                             mlir::Value rows);
mlir::Value createRowReshape(mlir::OpBuilder &builder,
                             mlir::tensor::ExpandShapeOp op, mlir::Value rows);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_RAISING_BLOCKSHAPES_H

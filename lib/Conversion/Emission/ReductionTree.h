//===- ReductionTree.h - Reductions of rows in registers --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_REDUCTIONTREE_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_REDUCTIONTREE_H

#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "llvm/ADT/STLFunctionalExtras.h"

namespace blockscale::emit {

/// Emits the reduction of a row of `count` elements, at least one, by one
/// thread, in the order of blockscale/Analysis/RowProgram.h. `element` emits
/// the value of the element with an index, and `combine` a combination of two
/// values. It takes as many registers as the tree has levels, and those of one
/// leaf.
mlir::Value emitReductionTree(
    mlir::ImplicitLocOpBuilder &b, int64_t count,
    llvm::function_ref<mlir::Value(mlir::Value)> element,
    llvm::function_ref<mlir::Value(mlir::Value, mlir::Value)> combine);

/// A combination of two values by an op like `combiner` of
/// blockscale/Analysis/RowProgram.h.
mlir::Value emitCombination(mlir::OpBuilder &b, mlir::Location loc,
                            mlir::Operation *combiner, mlir::Value lhs,
                            mlir::Value rhs);
/// The f32 that changes no value that `combiner` combines it with.
mlir::Value emitNeutral(mlir::ImplicitLocOpBuilder &b,
                        mlir::Operation *combiner);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_REDUCTIONTREE_H

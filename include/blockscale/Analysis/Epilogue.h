//===- Epilogue.h - What a kernel makes of its products ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
// Matrices of a batch whose rows alternate in memory, as those of the heads of
// attention do, are read and written there, so that what gathers the rows of
// each, or scatters them, has a part in the kernel, too.
//
//===----------------------------------------------------------------------===//
//
// A kernel of a product on tensor cores has results in registers, up to 32
// columns of a row in a thread. What is elementwise can go on from there, and
// so can a quantization of rows, whose blocks are in one thread:
//
//   %g = blockscale.scaled_mm %a, %w ..
//   %u = blockscale.scaled_mm %a, %v ..
//   %h = linalg.generic .. ins(%g, %u)       silu(g) * u
//   %q, %s = blockscale.quantize %h ..
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_EPILOGUE_H
#define BLOCKSCALE_ANALYSIS_EPILOGUE_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace blockscale {

/// The most columns of a row that a thread has at a time.
inline constexpr int64_t kEpilogueColumns = 32;

/// The most products that a kernel has.
inline constexpr size_t kMostProducts = 2;

struct Epilogue {
  /// Ops of `scaled_mm` or `scaled_grouped_mm`.
  llvm::SmallVector<mlir::Operation *> products;
  llvm::SmallVector<mlir::linalg::LinalgOp> elementwise;
  /// The op at the end that takes the value and has the kernel's results, as a
  /// quantization; null where the value is stored.
  mlir::Operation *sink = nullptr;
  /// What gathers the rows of operands, and what scatters those of the value,
  /// which are interleaved in memory ("blockscale/Analysis/RowMoves.h").
  llvm::SmallVector<mlir::linalg::LinalgOp, 2> gathers;
  mlir::linalg::LinalgOp scatter = nullptr;
  /// Why others that move rows are copies, where there are such.
  std::optional<FusionObstacle> moveObstacle;

  /// Whether nothing is computed behind the products.
  bool isEmpty() const { return elementwise.empty() && !sink; }
  bool hasMoves() const { return scatter || !gathers.empty(); }
  llvm::SmallVector<mlir::Operation *> getOps() const;
  /// The value that the kernel computes, and stores or gives its sink.
  mlir::Value getValue() const;
  /// The value that memory holds where there is no sink: in the order of rows
  /// there.
  mlir::Value getStored() const;
};

bool isProduct(mlir::Operation *op);
/// The products of a kernel, in order.
llvm::SmallVector<mlir::Operation *> getProducts(KernelOp kernel);

/// What can follow `product` in its kernel; empty where nothing can, for the
/// reason that `obstacle` gets if there is something:
///
///  - epilogue_c1: what is computed has one use, in the next op. Results of two
///    products that an elementwise op reads may have others, and are stored.
///  - epilogue_c2: scales of blocks of one row that follow from amaxes of the
///    blocks, rounding to nearest; one global value, or one for each group.
///  - epilogue_c3: of a product in groups of rows, scales are linear, or in the
///    layout of the same groups; of others they are not grouped.
///  - epilogue_c4: a second product has the A of the first, with its global
///    scale where that multiplies elements, its groups, types, sizes and the
///    forms of its other operands.
///
///  - epilogue_c5: rows that are interleaved in memory are those of the only
///    product, which has no scales and no groups, and whose operand or result
///    nothing else takes.
///
/// and the clauses of elementwise ops ("blockscale/Analysis/Producers.h"). Ops
/// that `isTaken` has, which other kernels compute, are not there; without it
/// all are.
Epilogue
findEpilogue(mlir::Operation *product, std::optional<FusionObstacle> &obstacle,
             llvm::function_ref<bool(mlir::Operation *op)> isTaken = nullptr);

/// What follows the first product of `ops`, those of a kernel; `obstacle` says
/// why these are not all of it.
Epilogue findWholeEpilogue(llvm::ArrayRef<mlir::Operation *> ops,
                           std::optional<FusionObstacle> &obstacle);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_EPILOGUE_H

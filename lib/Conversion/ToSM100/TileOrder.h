//===- TileOrder.h - Which tiles a thread block computes --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Thread blocks stay: each computes every so many-th tile. Tiles that run at
// the same time are a band of some rows of tiles, and go through it column by
// column, so that together they read few rows of both operands.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_TILEORDER_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_TILEORDER_H

#include "Cluster.h"
#include "GemmSpec.h"

#include "../ToGPU/KernelBuilder.h"

namespace blockscale::sm100 {

/// Numbers (i32) of a tile: its matrix, and its row and column among tiles. The
/// tiles of a cluster are beside each other.
struct TilePlace {
  mlir::Value matrix;
  mlir::Value row;
  mlir::Value col;
  /// The matrix of sums: one of each part of K of a matrix.
  mlir::Value sums;
  /// The first step of K, and the one after the last.
  mlir::Value begin, end;
};

class TileOrder {
public:
  TileOrder(KernelBuilder &b, const GemmSpec &spec,
            const GemmArguments &arguments, const Cluster &cluster);

  /// Runs `body` on each tile of the thread block, with values that it carries
  /// from tile to tile. Gives the last ones.
  llvm::SmallVector<mlir::Value>
  emitTiles(KernelBuilder &b, mlir::ValueRange inits,
            llvm::function_ref<llvm::SmallVector<mlir::Value>(const TilePlace &,
                                                              mlir::ValueRange)>
                body) const;

private:
  TilePlace getPlace(KernelBuilder &b, mlir::Value number) const;

  const GemmSpec &spec;
  Cluster cluster;
  /// i32: tiles of a matrix along M, those of clusters along N, and of all
  /// matrices.
  mlir::Value tileRows, tileCols, tiles;
  /// i32: steps of K, and of a part of it.
  mlir::Value steps, partSteps;
};

/// ceil(value / divisor) of an i32.
mlir::Value emitCeilDiv(KernelBuilder &b, mlir::Value value, int64_t divisor);

/// for (i = 0; i < count; ++i) on i32, with values carried.
llvm::SmallVector<mlir::Value>
emitCount(KernelBuilder &b, mlir::Value count, mlir::ValueRange inits,
          llvm::function_ref<llvm::SmallVector<mlir::Value>(mlir::Value,
                                                            mlir::ValueRange)>
              body);

} // namespace blockscale::sm100

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_TILEORDER_H

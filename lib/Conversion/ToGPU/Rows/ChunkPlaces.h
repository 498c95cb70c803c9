//===- ChunkPlaces.h - Which threads have a chunk ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_CHUNKPLACES_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_CHUNKPLACES_H

#include "QuantizeChunk.h"

namespace blockscale {

/// The place of a thread among those that have chunks: full ones, tails and
/// padding.
class ChunkPlaces {
public:
  ChunkPlaces(KernelBuilder &b, const QuantizeSpec &spec,
              const ThreadMapping &mapping, const QuantizeOperands &arguments,
              ChunkPosition position);

  /// ceil(rows / 128) of swizzled scales, else null.
  mlir::Value getRowTiles() const { return rowTiles; }

  /// Whether all lanes of the warp have a full chunk.
  mlir::Value isFullWarp();

  /// Quantizes the chunk and stores its scales, where the thread has one.
  void emit(ChunkEmitter &chunk);

private:
  mlir::Value isChunkBelow(int64_t bound);
  llvm::SmallVector<mlir::Value> emitRow(ChunkEmitter &chunk);
  void emitSwizzled(ChunkEmitter &chunk);

  KernelBuilder &b;
  const QuantizeSpec &spec;
  const ThreadMapping &mapping;
  const QuantizeOperands &arguments;
  ChunkPosition position;
  mlir::Value rowTiles, matrixExists;
  /// Types of the pairs of scale bytes that `emitRow` returns.
  llvm::SmallVector<mlir::Type> pairTypes;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_ROWS_CHUNKPLACES_H

//===- ThreadMapping.h - How rows fall on threads ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A thread quantizes one chunk: consecutive blocks of a row, 64 elements where
// the row has them. Threads run along rows, then across them, so a warp reads
// one stretch of memory. Rows fall in groups of the fewest rows that fill
// whole thread blocks, so that row and chunk come from 32-bit numbers:
//
//   thread blocks of the grid's x:   | group 0 ............ | group 1 ...
//   a group:      rowsPerGroup rows of chunksPerRow chunks
//               = blocksPerGroup thread blocks of kThreads threads
//
// The grid's y and z count the matrices of a batch. With swizzled scales the
// rows and chunks of padding have threads too, which write the zero bytes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_THREADMAPPING_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_THREADMAPPING_H

#include "QuantizeSpec.h"

namespace blockscale {

struct ThreadMapping {
  static constexpr int64_t kThreads = 128;
  static constexpr int64_t kChunkElements = 64;
  /// Largest number of thread blocks along y and z (CUDA).
  static constexpr int64_t kMaxGridY = 65535;

  explicit ThreadMapping(const QuantizeSpec &spec);

  /// Blocks of a full chunk: 4 of 16 elements or 2 of 32.
  int64_t chunkBlocks;
  /// Full chunks of a row, and elements in the one after them.
  int64_t fullChunks;
  int64_t tailElements;
  /// Chunks of a row with threads, those of padding included.
  int64_t chunksPerRow;
  int64_t rowsPerGroup;
  int64_t blocksPerGroup;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_THREADMAPPING_H

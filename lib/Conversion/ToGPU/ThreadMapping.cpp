//===- ThreadMapping.cpp - How rows fall on threads -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ThreadMapping.h"
#include "ScaleStore.h"

#include "llvm/Support/MathExtras.h"

#include <numeric>

namespace blockscale {

ThreadMapping::ThreadMapping(const QuantizeSpec &spec)
    : chunkBlocks(kChunkElements / spec.getBlockElements()),
      fullChunks(spec.rowElements / kChunkElements),
      tailElements(spec.rowElements % kChunkElements) {
  int64_t rowBlocks = spec.getBlocksPerRow();
  int64_t columns =
      spec.swizzled ? llvm::alignTo(rowBlocks, kTileCols) : rowBlocks;
  chunksPerRow = llvm::divideCeil(columns, chunkBlocks);
  int64_t common = std::gcd(chunksPerRow, kThreads);
  rowsPerGroup = kThreads / common;
  blocksPerGroup = chunksPerRow / common;
}

} // namespace blockscale

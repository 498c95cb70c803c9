//===- PatchTile.h - What a warp of a patch kernel has ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The patches of a warp may lie in different rectangles of x. What the warp
// loads and stores is the same, but not in how many accesses: memory moves
// sectors of 32 bytes, of which a short row fills a part.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHTILE_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHTILE_H

#include "PatchJob.h"

namespace blockscale {

/// The attribute of a kernel with the rows and columns of x that a warp has,
/// array<i64: rows, columns>.
inline constexpr llvm::StringLiteral kTileAttrName = "blockscale.tile";

/// A rectangle, and the sectors that it takes to load and store.
struct RatedTile {
  int64_t rows;
  int64_t columns;
  int64_t sectors;
};

/// The rectangles that a warp of `job` may have: of whole blocks, of whole
/// words of tiled scales, and of what threads exchange. The one that `job` has
/// comes first, then those with the fewest sectors.
llvm::SmallVector<RatedTile> rateTiles(const PatchJob &job);

/// Gives the warps of `job` the rectangle that `kernel` asks for, if any. Emits
/// an error where they may not have it.
llvm::LogicalResult applyTile(KernelOp kernel, PatchJob &job);

/// Says at `loc` that a warp has the first of `tiles`, and what each takes.
void remarkTile(mlir::Location loc, llvm::ArrayRef<RatedTile> tiles);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHES_PATCHTILE_H

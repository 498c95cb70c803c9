//===- StripChoice.h - What a warp of a strip kernel has --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The fragments of a warp may lie in different rectangles of x. What the warp
// loads and stores is the same, but not in how many accesses: memory moves
// sectors of 32 bytes, of which a short row fills a part.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPCHOICE_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPCHOICE_H

#include "StripRequest.h"

namespace blockscale {

/// The attribute of a kernel with the rows and columns of x that a warp has,
/// array<i64: rows, columns>.
inline constexpr llvm::StringLiteral kStripAttrName = "blockscale.strip";

/// A rectangle, and the sectors that it takes to load and store.
struct RatedStrip {
  int64_t rows;
  int64_t columns;
  int64_t sectors;
};

/// The rectangles that a warp of `request` may have: of whole blocks, of whole
/// words of tiled scales, and of what threads exchange. The one that `request`
/// has comes first, then those with the fewest sectors.
llvm::SmallVector<RatedStrip> rateStrips(const StripRequest &request);

/// Gives the warps of `request` the rectangle that `kernel` asks for, if any.
/// Emits an error where they may not have it.
llvm::LogicalResult applyStrip(KernelOp kernel, StripRequest &request);

/// Says at `loc` that a warp has the first of `strips`, and what each takes.
void remarkStripChoice(mlir::Location loc, llvm::ArrayRef<RatedStrip> strips);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_STRIPS_STRIPCHOICE_H

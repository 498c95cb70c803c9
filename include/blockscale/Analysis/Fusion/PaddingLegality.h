//===- PaddingLegality.h - Where a kernel may pad groups --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FUSION_PADDINGLEGALITY_H
#define BLOCKSCALE_ANALYSIS_FUSION_PADDINGLEGALITY_H

#include "blockscale/Analysis/Fusion/FusionLegality.h"

namespace blockscale {

/// Why a kernel of a GPU cannot pad groups where it loads them, for the
/// quantizations of the padded rows or of their transforms:
///
///  - pad_c1: the number of columns is static and not 0.
///  - pad_c2: what uses the padded rows are quantizations of their block, of no
///    tensor group, and transforms for these that a kernel computes: no memory
///    holds the rows. One has blocks of several rows, or several can share a
///    kernel.
///  - pad_c3: the unit is a multiple of the 16 rows that a thread has, and of
///    the rows of each block.
std::optional<FusionObstacle> findPaddingObstacle(PadGroupsOp op);

/// What pads the groups of `x`, or of what `x` is a transform of; null where
/// nothing does.
PadGroupsOp getPadding(mlir::Value x);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FUSION_PADDINGLEGALITY_H

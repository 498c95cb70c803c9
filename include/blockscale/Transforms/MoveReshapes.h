//===- MoveReshapes.h - Reshapes behind what follows products ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_MOVERESHAPES_H
#define BLOCKSCALE_TRANSFORMS_MOVERESHAPES_H

namespace mlir {
class RewritePatternSet;
} // namespace mlir

namespace blockscale {

/// Moves reshapes of rows that a product makes behind the elementwise ops and
/// quantizations that take them (`blockscale-move-reshapes`).
void populateMoveReshapePatterns(mlir::RewritePatternSet &patterns);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_MOVERESHAPES_H

//===- PatchScales.h - Scales of the blocks of a patch ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHSCALES_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHSCALES_H

#include "PatchScaleTable.h"

namespace blockscale {

/// Computes the scales of the blocks that a thread has part of, puts them into
/// the table of its warp, and keeps what elements are scaled by.
class PatchScales {
public:
  PatchScales(KernelBuilder &b, const PatchSpec &spec,
              const PatchPosition &position, const PatchElements &elements,
              QuantizeLeaf &leaf, PatchScaleTable &table);

  /// The factors of vector `index` of a row of the patch
  /// (PatchElements::getColumn).
  mlir::Value getFactors(int64_t row, int64_t index) const {
    return factors[row / height][index];
  }

private:
  void emitRows();
  void emitColumns();
  void emitTiles();

  llvm::SmallVector<BlockElements> getColumnBlocks(int64_t row, int64_t span);
  /// Scale bytes as they are stored: zero in padding.
  llvm::SmallVector<mlir::Value> keepPairs(mlir::ValueRange pairs,
                                           mlir::Value exists);
  void addFactors(llvm::function_ref<mlir::Value(int64_t)> ofColumn);

  KernelBuilder &b;
  const PatchSpec &spec;
  const PatchPosition &position;
  const PatchElements &elements;
  QuantizeLeaf &leaf;
  PatchScaleTable &table;
  /// Rows of a patch that have the same factors.
  int64_t height;
  llvm::SmallVector<llvm::SmallVector<mlir::Value>> factors;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_PATCHSCALES_H

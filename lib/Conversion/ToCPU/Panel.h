//===- Panel.h - The part of a matrix that an item has ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of several rows are quantized panel by panel. A panel begins at a
// multiple of its size, and its size is such that whatever becomes of it has
// one writer: whole blocks, whole bytes of packed codes in either direction,
// and whole tiles of scales, whatever their form.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PANEL_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PANEL_H

#include "Emission/LoopEmitter.h"

namespace blockscale::cpu {

using namespace emit;

/// Elements of a panel. Its rows are long, for memory is read best in order,
/// but a band of it, as many rows as a block has, is still near when its codes
/// are computed.
inline constexpr int64_t kQuantizePanelRows = 128;
inline constexpr int64_t kQuantizePanelCols = 512;

/// The rows [firstRow, firstRow + rows) and columns [firstCol, firstCol + cols)
/// of a matrix, which is the element `batch` of a tensor.
struct Panel {
  Indices batch;
  mlir::Value firstRow;
  mlir::Value firstCol;
  mlir::Value rows;
  mlir::Value cols;
};

/// The part of `size` that is left from `first` on, at most `limit`: a constant
/// where `size` is known to be a multiple of `limit`.
mlir::Value getExtent(mlir::ImplicitLocOpBuilder &b, mlir::Value size,
                      mlir::Value first, int64_t limit);

/// Emits `body` where `extent` is less than `whole`, unless that is known not
/// to happen.
void emitIfLess(mlir::ImplicitLocOpBuilder &b, mlir::Value extent,
                int64_t whole, llvm::function_ref<void()> body);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PANEL_H

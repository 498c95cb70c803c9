//===- RowQuantizer.h - Quantization along rows -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of one row. An item is a row of x; with swizzled scales it is a band
// of 128 rows, so that a tile of scales has one writer.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWQUANTIZER_H

#include "BlockStreams.h"
#include "QuantizeSpec.h"
#include "RandomBytes.h"

namespace blockscale::cpu {

using namespace emit;

/// The number of items of a matrix with `rows` rows.
mlir::Value countRowItems(const QuantizeSpec &spec, mlir::Value rows);

void emitRowItems(const QuantizeSpec &spec, const ItemRange &range);

/// The place that the scales of blocks of a row go to: memref[row.., firstCol +
/// block].
struct ScaleRow {
  mlir::Value memref;
  Indices row;
  mlir::Value firstCol;
};

/// Emits the quantization of rows of one kernel.
class RowQuantizer {
public:
  /// Allocates the buffers.
  explicit RowQuantizer(const QuantizeSpec &spec);

  /// Quantizes a row, its last block included where that is a tail.
  void emitRow(mlir::ValueRange row, mlir::Value scales,
               mlir::ValueRange scaleRow, const GlobalFactors &global);

  /// Draws the random bits of a row, where the op takes any: before its blocks.
  void emitBeginRow(mlir::ValueRange row);

  /// Quantizes `count` whole blocks of a row, from block `first` on.
  void emitBlocks(mlir::ValueRange row, mlir::Value first, mlir::Value count,
                  const ScaleRow &scales, const GlobalFactors &global);

  void emitFree();

private:
  bool hasTail() const;
  mlir::Value getByte(mlir::Value col);
  void emitTail(mlir::ValueRange row, const ScaleRow &scales,
                const GlobalFactors &global);
  BlockOperands loadOperands(mlir::ValueRange row, mlir::Value block,
                             int64_t count);

  const QuantizeSpec &spec;
  mlir::ImplicitLocOpBuilder &b;
  const BlockFormat &format;
  mlir::Value cols, wholeBlocks, tail;
  mlir::Value tailX, tailData;
  std::optional<RandomBytes> randomBytes;
  std::optional<BlockStreams> streams;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWQUANTIZER_H

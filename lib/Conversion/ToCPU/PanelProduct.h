//===- PanelProduct.h - Products of panels of rows --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine of both matmul kernels: up to 32 rows of A times all rows of B,
// over a range of blocks along K. Rows are decoded into buffers of plain
// numbers, B in chunks along K that stay in a cache, and then multiplied by
// vectors along K.
//
// Accuracy. In NVFP4 a code times its scale, and the product of two of these,
// is exact in f32. The sum over a chunk has 32 partial sums of at most 23
// roundings each, which are added in a tree of 5, and the chunks' sums are
// added in turn; that is below 1e-6 * max(1, K / 256) of the sum of absolute
// products. E8M0 scales reach beyond the range of f32, so MX products are
// formed and summed in f64.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H

#include "BlockDecoder.h"

namespace blockscale::cpu {

/// Rows of A in a panel: the unit of work, and what the decoding of B pays for.
inline constexpr int64_t kPanelRows = 32;

/// A matrix of rows along K; row r is data[batch, r, ..].
struct MatmulOperand {
  mlir::Value data;
  numerics::ElementFormat format;
  Indices batch;
  ScaleMatrix scales;
};

/// result[prefix, m, n] for m in [firstRow, firstRow + rowCount) and all n,
/// over the blocks [firstBlock, firstBlock + blockCount) of K.
struct PanelTask {
  MatmulOperand a, b;
  mlir::Value firstRow, rowCount;
  mlir::Value firstBlock, blockCount;
  Indices resultPrefix;
  /// An f32 to multiply the sum by; null for none.
  mlir::Value factor;
};

class PanelProduct {
public:
  /// Allocates buffers for sums over up to `blocks` blocks, where b stands.
  /// `bias` may be null.
  PanelProduct(mlir::ImplicitLocOpBuilder &b, numerics::ScaleFormat scaleFormat,
               mlir::Value blocks, mlir::Value cols, mlir::Value result,
               mlir::Value bias);

  void emit(const PanelTask &task);

  void emitFree();

private:
  /// Blocks along K.
  struct Chunk {
    mlir::Value firstBlock, blockCount;
  };

  void emitDecodeRows(const MatmulOperand &operand, const Chunk &chunk,
                      mlir::Value firstRow, mlir::Value rowCount,
                      mlir::Value buffer);
  void emitDecodeRow(const MatmulOperand &operand, const Chunk &chunk,
                     mlir::Value row, mlir::Value buffer,
                     mlir::Value bufferRow);
  void emitClearSums();
  void emitAddChunk(const PanelTask &task, mlir::Value firstBlock,
                    mlir::Value firstCol, mlir::Value colCount);
  void emitTile(mlir::Value row, mlir::Value col, mlir::Value firstA,
                mlir::Value depth);
  void emitStoreRow(const PanelTask &task, mlir::Value bufferRow,
                    mlir::Value firstCol, mlir::Value colCount);

  mlir::ImplicitLocOpBuilder &b;
  numerics::ScaleFormat scaleFormat;
  int64_t blockSize;
  /// What products are formed and summed in, and its lanes along K.
  mlir::FloatType sumType;
  int64_t lanes;
  /// Blocks of a row of B in its buffer.
  int64_t chunkBlocks;
  mlir::Value cols, result, bias;
  mlir::Value rowsOfA, rowsOfB, scaleRow, sums;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H

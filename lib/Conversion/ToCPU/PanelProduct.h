//===- PanelProduct.h - Products of panels of rows --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine of both matmul kernels: up to 32 rows of A times rows of B, over a
// range of blocks along K. Rows are decoded into buffers of plain
// numbers, B in chunks along K that stay in a cache, and then multiplied by
// vectors along K.
//
// Accuracy. In NVFP4 a code times its scale, and the product of two of these,
// is exact in f32. The sum over a chunk has 32 partial sums of at most 23
// roundings each, which are added in a tree of 5, and the chunks' sums are
// added in turn; that is below 1e-6 * max(1, K / 256) of the sum of absolute
// products. The same holds of such a product by a bf16 or an f16. E8M0 scales
// reach beyond the range of f32, so MX products are formed and summed in f64.
// Beside a plain bf16 a code times its scale is a bf16, too; it needs rounding
// only at the ends of that type's range.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H

#include "BlockDecoder.h"
#include "ProductEpilogue.h"

namespace blockscale::cpu {

using namespace emit;

/// Rows of A and rows of B that a panel has. Each decoded row of one operand
/// serves all rows of the other. Together they are the unit of work: few enough
/// columns that a product with one panel of rows has work for many threads.
inline constexpr int64_t kPanelRows = 32;
inline constexpr int64_t kPanelCols = 128;

/// The indices [first, first + count).
struct Span {
  mlir::Value first, count;
};

/// The panel `index` of `size` rows or columns.
Span getPanel(mlir::ImplicitLocOpBuilder &b, mlir::Value index,
              int64_t panelSize, mlir::Value size);

/// A matrix of rows along K; row r is data[batch, r, ..]. A plain one has no
/// scales.
struct MatmulOperand {
  mlir::Value data;
  mlir::Type element;
  Indices batch;
  std::optional<ScaleMatrix> scales;
};

/// result[prefix, m, n] for m in `rows` and n in `cols`, over `blocks` of K.
struct PanelTask {
  MatmulOperand a, b;
  Span rows, cols, blocks;
  /// The indices of the result in front of m.
  Indices resultPrefix;
  /// The batch element or group, of which there may be a global scale and bias.
  Indices element;
};

class PanelProduct {
public:
  /// Allocates buffers for sums over up to `blocks` blocks, where b stands.
  PanelProduct(mlir::ImplicitLocOpBuilder &b, ProductOpInterface op,
               mlir::Value blocks, const ProductEpilogue &epilogue);

  void emit(const PanelTask &task);

  void emitFree();

private:
  void emitDecodeRows(const MatmulOperand &operand, const Span &rows,
                      const Span &blocks, mlir::Value buffer);
  Lanes toSumType(const Lanes &x) const;
  Lanes emitDecodeBlocks(const MatmulOperand &operand, mlir::ValueRange dataRow,
                         mlir::Value col, mlir::Value block, int64_t count);
  void emitDecodeRow(const MatmulOperand &operand, mlir::Value row,
                     const Span &blocks, mlir::Value buffer,
                     mlir::Value bufferRow);
  void emitClearSums();
  void emitAddChunk(const PanelTask &task, mlir::Value firstBlock,
                    const Span &cols);
  void emitTile(mlir::Value row, mlir::Value col, mlir::Value firstA,
                mlir::Value depth);
  void emitStoreRow(const PanelTask &task, mlir::Value bufferRow,
                    const Span &cols);

  mlir::ImplicitLocOpBuilder &b;
  numerics::ScaleFormat scaleFormat;
  int64_t blockSize;
  /// The type that data times scales are rounded to; null where they are not.
  mlir::Type factorType;
  /// The type that products are formed and summed in, and the number of its
  /// lanes along K.
  mlir::FloatType sumType;
  int64_t lanes;
  /// Blocks of a row of B in its buffer.
  int64_t chunkBlocks;
  ProductEpilogue epilogue;
  mlir::Value rowsOfA, rowsOfB, scaleRow, sums;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H

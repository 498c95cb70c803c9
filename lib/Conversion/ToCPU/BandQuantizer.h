//===- BandQuantizer.h - Quantization of a row of blocks --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of several rows, one below the other columns of which are the lanes of
// vectors. A block is one column, or as many as it has rows.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_BANDQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_BANDQUANTIZER_H

#include "BlockQuantizer.h"
#include "PhiloxEmitter.h"

namespace blockscale::cpu {

/// A row of a buffer.
struct BufferRow {
  mlir::Value buffer;
  mlir::Value row;
};

/// How a band is quantized.
struct BandForm {
  BlockFormat format;
  /// Columns of a block: 1, or as many as rows.
  int64_t blockCols;
  /// Columns of x that have a scale byte of their own in the buffer of scales:
  /// 1, or those of a block.
  int64_t scaleCols;
  /// Whether packed codes are neighbours in a column.
  bool pairsRows;

  int64_t getRows() const { return format.getBlockSize(); }
  /// Elements of a byte along a row and down a column.
  int64_t getByteCols() const {
    return pairsRows ? 1 : format.getCodesPerByte();
  }
  int64_t getByteRows() const {
    return pairsRows ? format.getCodesPerByte() : 1;
  }
};

/// Emits the quantization of bands of up to kPatchCols columns.
class BandQuantizer {
public:
  /// Allocates the buffers for elements of x, whose random bits are those of
  /// `rng` unless that is null.
  BandQuantizer(mlir::ImplicitLocOpBuilder &b, const BandForm &form,
                mlir::Value x, mlir::Value rng);

  /// Copies rows x cols elements, from x[first] on, to the buffer, fills the
  /// band with zeros and draws the random bits of the elements.
  void emitLoad(mlir::ValueRange first, mlir::Value rows, mlir::Value cols);

  /// Quantizes what was loaded. Codes go to the rows of a buffer from `codes`
  /// on, scales to the row `scales` of another; whole steps are stored, padding
  /// of the band included.
  void emitQuantize(const GlobalFactors &global, mlir::Value cols,
                    const BufferRow &codes, const BufferRow &scales);

  void emitFree();

private:
  void emitDraw(mlir::ValueRange first, mlir::Value rows, mlir::Value cols);
  Lanes emitColumnMagnitudes(mlir::Value col);
  BlockScales emitScales(mlir::Value col, const GlobalFactors &global);
  BlockScales emitChosenScales(mlir::Value col, Lanes amax,
                               const GlobalFactors &global);
  void emitCodes(mlir::Value col, const ElementScaling &even,
                 const ElementScaling &odd, const BufferRow &codes);

  mlir::ImplicitLocOpBuilder &b;
  BandForm form;
  mlir::Value x, buffer;
  std::optional<RandomBytes> randomBytes;
  /// Where the buffer of random bits has those of the first column.
  mlir::Value firstRandomCol;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BANDQUANTIZER_H

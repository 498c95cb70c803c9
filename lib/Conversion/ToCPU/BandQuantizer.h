//===- BandQuantizer.h - Quantization of a row of blocks --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of several rows, whose columns are the lanes of vectors. A block is
// one column, or as many as it has rows. Everything goes along the rows of x,
// since memory is read and written best that way: the amaxes of all columns
// first, then their scales, then the codes.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_BANDQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_BANDQUANTIZER_H

#include "BlockQuantizer.h"
#include "RandomBytes.h"

namespace blockscale::cpu {

using namespace emit;

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
  /// Whether whole steps of whole bands are known to lie within x, so that no
  /// copy is needed.
  bool readsInPlace;

  int64_t getRows() const { return format.getBlockSize(); }
  /// Elements of a byte along a row and down a column.
  int64_t getByteCols() const {
    return pairsRows ? 1 : format.getCodesPerByte();
  }
  int64_t getByteRows() const {
    return pairsRows ? format.getCodesPerByte() : 1;
  }
};

/// Columns of a step: two blocks of 32, whose factors stay in registers.
inline constexpr int64_t kBandColsPerStep = 64;

/// Emits the quantization of bands of up to kQuantizePanelCols columns.
class BandQuantizer {
public:
  /// Allocates the buffers for elements of x, whose random bits are those of
  /// `rng` unless that is null.
  BandQuantizer(mlir::ImplicitLocOpBuilder &b, const BandForm &form,
                mlir::Value x, mlir::Value rng);

  /// Makes rows x cols elements, from x[first] on, the band: finds the amaxes
  /// of its columns and draws its random bits.
  void emitLoad(mlir::ValueRange first, mlir::Value rows, mlir::Value cols);

  /// Stores the scales of the band to a row of a buffer, and keeps what they
  /// scale elements by. Scales of columns from `cols` on are unspecified.
  void emitScales(const GlobalFactors &global, mlir::Value rows,
                  mlir::Value cols, const BufferRow &scales);

  /// Stores the codes of row `row`, or of the rows that share bytes from it on,
  /// to a row of a buffer. Codes of columns from `cols` on are unspecified.
  void emitCodes(mlir::Value row, mlir::Value cols, const BufferRow &codes);

  void emitFree();

private:
  void emitDraw(mlir::ValueRange first, mlir::Value rows, mlir::Value cols);
  BlockScales emitBlocks(mlir::Value col, mlir::Value rows,
                         const GlobalFactors &global);
  BlockScales emitChosenScales(mlir::Value col, mlir::Value rows, Lanes amax,
                               const GlobalFactors &global);
  Lanes emitLoadStep(mlir::Value row, mlir::Value col);
  void emitNanCodes(mlir::Value col, Lanes factor);
  void emitFactors(mlir::Value col, const BlockScales &blocks);
  Lanes loadFactor(bool isOdd, mlir::Value col);
  ElementPairs emitEncodePairs(mlir::Value row, mlir::Value col);
  Lanes emitEncodeBytes(mlir::Value row, mlir::Value col);

  mlir::ImplicitLocOpBuilder &b;
  BandForm form;
  mlir::Value x;
  mlir::Type element;
  /// The first element of the band in x.
  Indices origin;
  /// A copy of the elements unless they are read in place, magnitude bits of
  /// the amaxes of columns, and the factors of even and of odd columns.
  mlir::Value elements, amaxes, factors;
  /// For codes that fill bytes, the NaN code of columns whose factor is NaN,
  /// and 0 of others; null for other codes.
  mlir::Value nanCodes;
  std::optional<RandomBytes> randomBytes;
  /// The place of the first column in the buffer of random bits.
  mlir::Value firstRandomCol;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_BANDQUANTIZER_H

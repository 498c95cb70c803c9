//===- PanelDecoder.h - Decoded operands of panel products ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A panel of a product's result belongs to some rows of A and some rows of B,
// which are called columns here, as in the result. They are decoded a chunk of
// K at a time into buffers of plain numbers: A row by row, of which a product
// reads single numbers, and B with the columns of a register tile next to each
// other, of which a product reads vectors.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELDECODER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELDECODER_H

#include "BlockDecoder.h"
#include "ChainSum.h"
#include "CpuFunction.h"
#include "MagnitudeRange.h"

namespace blockscale::cpu {

using namespace emit;

/// Rows and columns of the result that a panel has. Together they are the unit
/// of work: few enough columns that a product with one panel of rows has work
/// for many threads, and enough of either that decoding an element takes little
/// time compared with its products.
inline constexpr int64_t kPanelRows = 192;
inline constexpr int64_t kPanelCols = 128;

/// Rows of a register tile. With 16 columns of f32, its sums, a row of B and a
/// number of A fill the registers of AVX2. With 32 columns of pairs, two sums
/// of each fit into those of AVX-512.
inline constexpr int64_t kRegisterRows = 6;

/// Elements of K that are decoded at a time. The columns of a tile stay in a
/// first-level cache, and all decoded numbers in a second-level cache.
inline constexpr int64_t kChunkDepth = 256;

/// Columns of a vector of pairs of bf16, and of a register tile of them. A
/// number of A, which comes from the second-level cache, is multiplied by all
/// columns of a tile.
inline constexpr int64_t kPairCols = 16, kPairTileCols = 2 * kPairCols;

/// The product of a bf16 in this range by any magnified element of MX is in the
/// range of f32, and so is the sum of a few. With scales of MX in that range,
/// sums of many are normal, too.
inline constexpr MagnitudeRange kNumbers = {0x1p-60f, 0x1p60f};
inline constexpr MagnitudeRange kPairScales = {0x1p-40f, 0x1p30f};

/// The indices [first, first + count).
struct Span {
  mlir::Value first, count;
};

/// A matrix of rows along K; row r is data[batch, r, ..]. A plain one has no
/// scales.
struct MatmulOperand {
  /// What elements of blocks with these scales (f32) are multiplied by.
  Lanes getBlockFactors(const Lanes &values) const;

  mlir::Value data;
  mlir::Type element;
  Indices batch;
  std::optional<ScaleMatrix> scales;
  /// The global scale that multiplies elements, f32; null where there is none.
  mlir::Value global = {};
};

/// The numbers that the products of an op are made of.
struct ProductNumbers {
  ProductNumbers(ProductOpInterface op, numerics::TensorCores tensorCores);

  numerics::ScaleFormat scaleFormat;
  int64_t blockSize;
  /// Whether elements are multiplied by a global scale.
  bool scalesElements;
  /// The type that data times scales are rounded to; null where they are not.
  mlir::Type roundedType;
  /// The type of decoded numbers and of their sums.
  mlir::FloatType type;
  /// Whether the scales are factors of the sums over a block, rather than of
  /// each element.
  bool scalesSums;

  /// The sum of order chain, whose words decoded numbers are.
  std::optional<ChainSum> chain;

  /// The type in which decoded numbers are stored.
  mlir::Type getStoredType() const {
    return chain ? mlir::Type(mlir::IntegerType::get(type.getContext(), 32))
                 : mlir::Type(type);
  }

  /// Whether a row of A, whose elements are of a type, has numbers of bf16, and
  /// the scales of B are a part of its numbers: pairs of them may be multiplied
  /// by instructions ("Conversion/BF16Products.h").
  bool mayBePairs(mlir::Type elementOfA) const;

  /// Columns of a register tile.
  int64_t getTileCols() const { return type.isF64() ? 8 : 16; }

  /// f32 values as `roundedType` has them.
  Lanes round(const Lanes &values) const;
  /// The bits of f32 values as decoded numbers.
  Lanes encode(const Lanes &values) const;
};

class PanelDecoder {
public:
  /// Allocates buffers for panels of up to `blocks` blocks of K, where b
  /// stands.
  PanelDecoder(mlir::ImplicitLocOpBuilder &b, const ProductNumbers &numbers,
               ProductOpInterface op, mlir::Value blocks);

  /// Whether there may be pairs.
  bool hasPairs() const { return static_cast<bool>(rowPairs); }

  /// Decodes the scales of `rows` over `blocks`.
  void emitRowScales(const MatmulOperand &operand, const Span &rows,
                     const Span &blocks);
  void emitColScales(const MatmulOperand &operand, const Span &cols,
                     const Span &blocks);

  /// Decodes `rows` over the blocks `chunk`, the first of which is block
  /// `firstBlock` of the decoded scales. The last row is repeated until there
  /// is a whole number of tiles.
  void emitRows(const MatmulOperand &operand, const Span &rows,
                const Span &chunk, mlir::Value firstBlock);
  void emitCols(const MatmulOperand &operand, const Span &cols,
                const Span &chunk, mlir::Value firstBlock);

  /// Element k of the chunk in a row, and in the columns of a tile.
  Lanes loadRow(mlir::Value row, mlir::Value k) const;
  Lanes loadCols(mlir::Value tile, mlir::Value k) const;

  /// The same for pairs of bf16, as i32 words, of which there are half as many
  /// in a chunk. Scales of MX are in kPairScales.
  void emitRowPairs(const MatmulOperand &operand, const Span &rows,
                    const Span &chunk, mlir::Value firstBlock);
  void emitColPairs(const MatmulOperand &operand, const Span &cols,
                    const Span &chunk, mlir::Value firstBlock);
  Lanes loadRowPair(mlir::Value row, mlir::Value pair) const;
  Lanes loadColPairs(mlir::Value tile, mlir::Value pair) const;

  /// Whether `rows` of A and the decoded scales of `cols` of B over `blocks`
  /// are such that pairs can be multiplied, an i1.
  Lanes emitAreOrdinary(const MatmulOperand &a, const Span &rows,
                        const Span &cols, const Span &blocks) const;

  /// The product of the scales of a row and those of the columns of a tile, in
  /// f64.
  Lanes emitScaleProduct(mlir::Value row, mlir::Value tile,
                         mlir::Value block) const;

  void emitFree();

private:
  mlir::Type getScaleType() const;
  /// Takes f32 values of elements of the chunk from `first` on.
  using UseRow = llvm::function_ref<void(Lanes values, Lanes first)>;
  /// Takes those of a tile's columns, a vector of each element.
  using UseCols = llvm::function_ref<void(
      mlir::Value tile, llvm::ArrayRef<Lanes> values, mlir::Value first)>;
  void emitRow(const MatmulOperand &operand, mlir::Value row, const Span &chunk,
               mlir::Value firstBlock, mlir::Value bufferRow, UseRow use);
  void emitTiles(const MatmulOperand &operand, const Span &cols,
                 const Span &chunk, mlir::Value firstBlock, bool ofPairs,
                 UseCols use);
  void emitTranspose(const MatmulOperand &operand,
                     llvm::ArrayRef<mlir::Value> rows, mlir::Value col);
  llvm::SmallVector<Lanes> emitDecodeTransposed(const MatmulOperand &operand,
                                                mlir::Value i, bool ofPairs);

  mlir::ImplicitLocOpBuilder &b;
  ProductNumbers numbers;
  int64_t tileCols;
  /// Decoded numbers [row, k] and [tile, k, column].
  mlir::Value rowBuffer, colBuffer;
  /// Pairs of bf16 [row, pair] and [tile, pair, column], where there may be
  /// such, and what decodes E2M1, where columns have it.
  mlir::Value rowPairs, colPairs;
  std::optional<CpuFunction> decodeE2M1;
  /// Codes of a step, [element or pair of elements, column].
  mlir::Value transposed;
  /// Decoded scales [row, block] and [block, column], and of some columns
  /// [column, block].
  mlir::Value rowScales, colScales, scaleRows;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELDECODER_H

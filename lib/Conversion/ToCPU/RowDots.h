//===- RowDots.h - Products of a row by rows with scales --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where a product has few rows of A, each element of B is used so rarely that
// the time goes into reading and decoding it. Here a row of A is decoded once,
// and the codes of B are multiplied as they come from memory: a lane has two
// words of codes, and the codes in the same place of all lanes are decoded and
// multiplied at a time. The row of A is stored in that order. E2M1 is decoded
// by a function whose instructions depend on the CPU ("CpuFunction.h"). A CPU
// that multiplies pairs of bf16 does so instead where numbers and scales are
// far from the ends of f32's range ("RowPairs.h").
//
// Sums. Products are exact in f32, and a lane adds up those of its codes, at
// most 16 of one block. Their sum, times the scales of the block, is added to a
// sum in f64. So there are at most as many roundings as in the shortest sums of
// register tiles ("PanelProduct.h").
//
// Beside a plain bf16, an MX element with its scale is rounded to bf16, which
// changes nothing unless the scale is near the ends of its range, and a product
// is in the range of f32 unless a bf16 is near the ends of its own. Where any
// of a row is, its elements are scaled and rounded one by one, and multiplied
// and added up in f64. So are all that a global scale multiplies.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWDOTS_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWDOTS_H

#include "CpuFunction.h"
#include "PanelDecoder.h"
#include "RowPairs.h"

namespace blockscale::cpu {

using namespace emit;

class RowDots {
public:
  /// Allocates buffers for sums over up to `blocks` blocks, where b stands.
  /// B has scales.
  RowDots(mlir::ImplicitLocOpBuilder &b, const ProductNumbers &numbers,
          ProductOpInterface op, mlir::Value blocks);

  /// Decodes the scales of the rows of B that are multiplied from here on. In
  /// tiles, they begin one.
  void emitScales(const MatmulOperand &operand, const Span &rows,
                  const Span &blocks);

  /// Decodes the row of A that is multiplied from here on.
  void emitRow(const MatmulOperand &operand, mlir::Value row,
               const Span &blocks);

  /// Calls `use` with the sum of products by a row of B over the same blocks,
  /// an f64. `index` is its number among those whose scales are decoded.
  void emitDot(const MatmulOperand &operand, mlir::Value row, mlir::Value index,
               const Span &blocks, llvm::function_ref<void(Lanes)> use);

  void emitFree();

private:
  int64_t getCodesPerLane() const;
  int64_t getStepBlocks() const;
  mlir::Value getWholeBlocks(mlir::Value blocks, int64_t stepBlocks) const;
  Lanes emitRowElements(const MatmulOperand &operand, mlir::Value row,
                        mlir::Value firstCol, mlir::Value k) const;
  void emitOrder(mlir::Value block);
  Lanes emitFactors(mlir::Value block, int64_t count) const;
  llvm::SmallVector<Lanes> emitDecode(const MatmulOperand &operand,
                                      mlir::Value row, const Span &blocks,
                                      mlir::Value block) const;
  Lanes emitAddStep(llvm::ArrayRef<Lanes> elements, mlir::Value block,
                    const Lanes &sum) const;
  Lanes emitAddElements(const MatmulOperand &operand, mlir::Value row,
                        mlir::Value firstCol, mlir::Value k, bool rounds,
                        const Lanes &sum) const;
  Lanes emitSum(const MatmulOperand &operand, mlir::Value row,
                const Span &blocks, bool rounds);
  Lanes emitPairs(const MatmulOperand &operand, mlir::Value row,
                  const Span &blocks);
  Lanes emitLoadCodes(const MatmulOperand &operand, mlir::Value row,
                      const Span &blocks, mlir::Value block,
                      int64_t count) const;
  Lanes emitRest(const MatmulOperand &operand, mlir::Value row,
                 const Span &blocks, mlir::Value firstBlock, bool rounds,
                 mlir::Value sum);
  void emitDotOfSums(const Span &blocks, llvm::function_ref<void(bool)> use);

  mlir::ImplicitLocOpBuilder &b;
  ProductNumbers numbers;
  /// The format of B.
  numerics::ElementFormat format;
  /// What decodes elements of B that are E2M1.
  std::optional<CpuFunction> decodeE2M1;
  /// What multiplies pairs of bf16; absent where numbers are no bf16.
  std::optional<RowPairs> pairs;
  /// What numbers of the row, and their products by magnified elements, are
  /// multiplied by in addition.
  double plainFactor, magnification;
  /// The numbers of the row as they are and in the order of multiplication, and
  /// its scales.
  mlir::Value numbersOfRow, orderedNumbers, scalesOfRow;
  /// Whether no product by an ordinary element leaves the range of f32, an i1;
  /// null where nothing depends on it. With pairs, whether the row is in their
  /// order, so that these multiply it.
  mlir::Value isOrdinaryRow, isInPairs;
  /// The scales of the row of B at hand are scales[indexOfScales, block].
  mlir::Value scales, indexOfScales;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWDOTS_H

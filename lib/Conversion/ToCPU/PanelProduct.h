//===- PanelProduct.h - Products of panels of rows --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The engine of both matmul kernels: a panel of rows of A times a panel of rows
// of B, over a range of blocks along K. Chunks of K are decoded
// ("PanelDecoder.h") and then multiplied by register tiles: 6 x 16 sums in f32,
// to each of which every element of K adds one product.
//
// Accuracy. A product is exact in f32: it has at most 22 significant bits. A
// register adds up to 16 * max(1, K / 256) of them, but no more than a block of
// MX or a chunk, and is then added to a sum in f64. The first product of a
// register and the sums in f64 round nothing that counts, so with the rounding
// of the sum to f32 there are at most as many roundings of 2^-24 as there are
// products in a register, which is below 1e-6 * max(1, K / 256) of the sum of
// absolute products.
//
// Pairs. A CPU that multiplies pairs of bf16 ("Conversion/BF16Products.h") does
// so where decoded numbers are bf16 and far from the ends of f32's range, also
// those of MX beside a plain bf16, by tiles of 6 x 32 sums. A register adds up
// 16 products, or K / 32 from K = 512 on, and is then added to a second one,
// which has the sum over a chunk in f32, or over these 16. That is added to the
// sum in f64. There are at most K / 32 + 16 roundings, or 16.
//
// Range. E8M0 scales reach beyond f32. An MX register has the sum over one
// block of elements without their scales, whose product multiplies it in f64
// and is exact. Beside a plain bf16 the scales are a part of the elements,
// which are rounded to bf16 at the ends of its range, and decoded numbers and
// registers are f64. Elements that a global scale multiplies are rounded to the
// plain type, too, and their products leave the range of f32 where those of two
// plain operands would.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H

#include "PanelDecoder.h"
#include "ProductEpilogue.h"
#include "RowDots.h"

namespace blockscale::cpu {

using namespace emit;

/// The most rows of a panel that are multiplied one by one.
inline constexpr int64_t kFewRows = 3;

/// The panel `index` of `size` rows or columns.
Span getPanel(mlir::ImplicitLocOpBuilder &b, mlir::Value index,
              int64_t panelSize, mlir::Value size);

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
               numerics::TensorCores tensorCores, mlir::Value blocks,
               const ProductEpilogue &epilogue);

  void emit(const PanelTask &given);

  void emitFree();

private:
  void emitTiles(const PanelTask &task);
  void emitDots(const PanelTask &task);
  mlir::Value getRegisterDepth(mlir::Value blocks);
  void emitClearSums(const PanelTask &task);
  /// The sums of a register tile, and what a decoded chunk adds to them: its
  /// elements from `first` to `end`. Its scales begin at `firstBlock` of the
  /// decoded ones.
  struct ChunkTile {
    mlir::Value row, tile, firstBlock, first, end;
  };
  void
  emitChunks(const PanelTask &task, int64_t rowsOfTile, int64_t colsOfTile,
             mlir::Value depthOfSum,
             llvm::function_ref<void(const Span &chunk, mlir::Value firstBlock)>
                 decode,
             llvm::function_ref<void(const ChunkTile &tile)> addTile);
  void emitNumberChunks(const PanelTask &task);
  void emitTile(const ChunkTile &at, mlir::Value registerDepth);
  /// The products that a register of pairs adds up, and a sum of registers.
  struct PairDepths {
    mlir::Value ofRegister, ofSum;
  };
  PairDepths getPairDepths(mlir::Value blocks);
  void emitPairTile(const ChunkTile &at, mlir::Value registerDepth);
  void emitPairChunks(const PanelTask &task);
  void emitChain(const ChunkTile &at);
  void emitStoreRow(const PanelTask &task, mlir::Value bufferRow);

  mlir::ImplicitLocOpBuilder &b;
  ProductNumbers numbers;
  int64_t tileCols;
  /// What computes panels of many rows, and of few; absent where no panel has
  /// as many.
  std::optional<PanelDecoder> decoder;
  std::optional<RowDots> dots;
  /// What multiplies pairs of bf16, where numbers may be such.
  std::optional<CpuFunction> hasBF16Products, addBF16Products;
  ProductEpilogue epilogue;
  /// The global scale that elements of the operand with scales are multiplied
  /// by.
  GlobalFactor elementGlobal;
  /// In f64, [row, column].
  mlir::Value sums;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PANELPRODUCT_H

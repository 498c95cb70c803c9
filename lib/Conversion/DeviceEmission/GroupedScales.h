//===- GroupedScales.h - Scales of groups in tiles --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grouped layout has the tiles of one group after those of another. Threads
// store the scales that they compute at the addresses given here; of what else
// is in the tiles, zeros, each tile has one warp. These are of CTAs before
// those that quantize.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPEDSCALES_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPEDSCALES_H

#include "GroupSearch.h"
#include "blockscale/IR/ScaleForm.h"

namespace blockscale {

class GroupedScales {
public:
  /// Groups of rows (0) or columns (1) of x, in blocks of `unit` elements. The
  /// values are those of the kernel: pointers to scales and offsets, and as
  /// index the numbers of groups, of rows and columns of x, and of tiles.
  struct Operands {
    ScaleForm form;
    unsigned groupDim;
    int64_t unit;
    mlir::Value scales, offsets;
    emit::Lanes groups, rows, columns, tiles;
    /// Where groups of rows are padded to multiples of `padUnit`, the rows that
    /// `offsets` are ends of.
    int64_t padUnit = 0;
    emit::Lanes sourceRows = {};
  };
  GroupedScales(KernelBuilder &b, const Operands &operands);

  /// Whether a group has rows of scales, rather than columns.
  bool alongRows() const { return operands.form[0].dim == operands.groupDim; }

  /// The group of each of some rows, or columns, of scales: without blocks
  /// where none has it.
  llvm::SmallVector<emit::Group> find(llvm::ArrayRef<emit::Lanes> scales) const;

  /// The same where all threads of a warp search together; `lane` is the number
  /// of this one.
  llvm::SmallVector<emit::Group> findInWarp(llvm::ArrayRef<emit::Lanes> scales,
                                            emit::Lanes lane) const;

  /// Address of the scale at a row and column of the whole tensor.
  mlir::Value getAddress(const emit::Group &group, emit::Lanes row,
                         emit::Lanes column) const;

  /// CTAs, of `warps` warps, that fill the tiles up.
  static emit::Lanes countBlocks(mlir::ImplicitLocOpBuilder &b,
                                 emit::Lanes tiles, int64_t warps);
  /// Emits the code of CTAs that fill up a tile in each warp, and `body` for
  /// the other ones, which is given the number of the CTA among these. `block`
  /// and `warp`, the number of the warp in its block, are of type index.
  void emitBlocks(emit::Lanes block, emit::Lanes warp, emit::Lanes lane,
                  int64_t warps, llvm::function_ref<void(emit::Lanes)> body);

private:
  emit::Lanes toScales(emit::Lanes blocks) const;
  /// The blocks that have these rows, or columns, of scales.
  llvm::SmallVector<mlir::Value>
  toBlocks(llvm::ArrayRef<emit::Lanes> scales) const;
  emit::Lanes getSize(const emit::Group &group) const;
  emit::Lanes getFirstTile(const emit::Group &group) const;
  /// Columns of tiles of a group.
  emit::Lanes getColumnTiles(const emit::Group &group) const;
  void emitFill(emit::Lanes tile, emit::Lanes lane);

  KernelBuilder &b;
  Operands operands;
  emit::GroupedDim groups;
  /// Rows and columns of all scales.
  emit::Lanes rows, columns;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPEDSCALES_H

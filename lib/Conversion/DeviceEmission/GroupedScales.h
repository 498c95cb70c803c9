//===- GroupedScales.h - Scales of groups in tiles --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A grouped layout has the tiles of one group after those of another. Threads
// store the scales that they compute at the addresses given here; of what else
// is in the tiles, zeros, warps of CTAs before those that quantize have some
// tiles each.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPEDSCALES_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPEDSCALES_H

#include "GroupScan.h"
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
    /// Where groups have columns of scales: those that are stored together,
    /// from the first one of a group on, with zeros behind its last one.
    int64_t storedColumns = 1;
  };
  GroupedScales(KernelBuilder &b, const Operands &operands);

  /// Elements along the groups that a tile of such scales has.
  static int64_t getTileElements(const ScaleForm &form, unsigned groupDim);
  /// The group of a strip, before which other groups take `tilesBefore` tiles.
  emit::Group getGroup(const GroupStrip &strip, emit::Lanes tilesBefore) const;
  /// Rows, or columns, of scales of a group.
  emit::Lanes getSize(const emit::Group &group) const;
  /// The number of columns of scales of `group` that are stored, with the
  /// zeros that are stored along.
  emit::Lanes countStoredColumns(const emit::Group &group) const;

  /// Whether a group has rows of scales, rather than columns.
  bool alongRows() const;

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
  /// Emits the code of CTAs that fill up tiles, and `body` for the other ones,
  /// which is given the number of the CTA among these. `block` and `warp`, the
  /// number of the warp in its block, are of type index.
  void emitBlocks(emit::Lanes block, emit::Lanes warp, emit::Lanes lane,
                  int64_t warps, llvm::function_ref<void(emit::Lanes)> body);

private:
  emit::Lanes toScales(emit::Lanes blocks) const;
  /// The blocks that have these rows, or columns, of scales.
  llvm::SmallVector<mlir::Value>
  toBlocks(llvm::ArrayRef<emit::Lanes> scales) const;
  emit::Lanes getFirstTile(const emit::Group &group) const;
  /// Columns of tiles of a group.
  emit::Lanes getColumnTiles(const emit::Group &group) const;
  /// Tiles beside each other across the groups.
  emit::Lanes countTilesAcross() const;
  void emitFills(emit::Lanes first, emit::Lanes end, emit::Lanes lane);
  void emitFill(emit::Lanes tile, const emit::Group &group, emit::Lanes lane);

  KernelBuilder &b;
  Operands operands;
  emit::GroupedDim groups;
  /// Rows and columns of all scales.
  emit::Lanes rows, columns;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPEDSCALES_H

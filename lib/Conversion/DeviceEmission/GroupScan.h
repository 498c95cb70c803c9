//===- GroupScan.h - Groups that a warp searches together -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search by one thread looks at all ends, one after the other
// (GroupSearch.h). Here each thread of a warp loads one of 32 ends, and sums
// over the threads give the first block of each group. All threads of the warp
// are there, of which `lane` is the number of this one (index).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSCAN_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSCAN_H

#include "Emission/GroupLoop.h"
#include "KernelBuilder.h"

namespace blockscale {

/// The groups that have `blocks`, which may be others in each thread, as
/// emitFindGroups gives them.
llvm::SmallVector<emit::Group> emitFindGroupsInWarp(KernelBuilder &b,
                                                    const emit::GroupedDim &dim,
                                                    emit::Lanes lane,
                                                    mlir::ValueRange blocks);

/// The group that has tile `tile` (index) of those along the groups, which may
/// be another one in each thread; one without blocks where none has it.
emit::Group emitFindTileGroupInWarp(KernelBuilder &b,
                                    const emit::GroupedDim &dim,
                                    emit::Lanes lane, emit::Lanes tile);

/// A strip: some rows of a padded group, or of those behind the last group. The
/// strips of a group begin where it does, `GroupedDim::tileSize` rows apart.
struct GroupStrip {
  /// The group. What is behind all groups is one without rows in the source.
  emit::Group group;
  /// The first row of the strip, index.
  emit::Lanes firstRow;
  /// For each kind of tiles that was asked for, how many earlier groups take,
  /// index.
  llvm::SmallVector<emit::Lanes> tilesBefore;

  /// The i32 words of a strip with so many kinds of tiles.
  static constexpr size_t countWords(size_t kinds) { return 7 + kinds; }
  /// Whether rows of the strip are in a group, i1.
  emit::Lanes hasGroup() const;
};

/// Strip `strip` (index) of those of all groups of `dim`, whose unit is a row,
/// and then of the rows behind: words, from which `getStrip` makes it in any
/// thread. A group takes a tile for each so many rows of `tileRows`.
llvm::SmallVector<mlir::Value>
emitFindStripInWarp(KernelBuilder &b, const emit::GroupedDim &dim,
                    emit::Lanes lane, emit::Lanes strip,
                    llvm::ArrayRef<int64_t> tileRows);
GroupStrip getStrip(KernelBuilder &b, mlir::ValueRange words);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSCAN_H

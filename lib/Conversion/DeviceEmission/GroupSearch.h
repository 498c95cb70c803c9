//===- GroupSearch.h - Which group has a row or a block ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSEARCH_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSEARCH_H

#include "Emission/GroupLoop.h"
#include "KernelBuilder.h"

namespace blockscale {

/// Where the ends of groups are, and what they have to keep.
struct GroupEnds {
  /// A pointer to the i32 ends.
  mlir::Value offsets;
  /// The number of ends, and the size of the dimension in elements, i64.
  emit::Lanes count, extent;
  /// What ends are multiples of.
  int64_t unit = 1;
};

/// The lower 32 bits of an index or an i64.
emit::Lanes toWord(KernelBuilder &b, emit::Lanes value);
/// The least of `value` (index or i64), which is not negative, and the largest
/// i32: no end of a group is behind that. An i32.
emit::Lanes saturate(KernelBuilder &b, emit::Lanes value);

/// For each of `positions` (i64) the number of the group that has it, i64; the
/// number of groups where none has.
llvm::SmallVector<emit::Lanes> emitFindGroups(KernelBuilder &b,
                                              const GroupEnds &ends,
                                              mlir::ValueRange positions);

/// The groups whose `count` ends are at the pointer `offsets`; see
/// emit::GroupedDim.
emit::GroupedDim getGroupedDim(KernelBuilder &b, mlir::Value offsets,
                               mlir::Value count, mlir::Value extent,
                               int64_t unit = 1, int64_t tileSize = 1);

/// The group of which `holds` is true, or one without blocks; `holds` is true
/// of one group at most, which is not empty.
emit::Group
emitFindGroup(KernelBuilder &b, const emit::GroupedDim &dim,
              llvm::function_ref<mlir::Value(const emit::Group &)> holds);

/// The groups that have `blocks`, in one loop.
llvm::SmallVector<emit::Group> emitFindGroups(KernelBuilder &b,
                                              const emit::GroupedDim &dim,
                                              mlir::ValueRange blocks);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSEARCH_H

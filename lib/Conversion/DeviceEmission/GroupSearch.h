//===- GroupSearch.h - Groups bounded by offsets in memory ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSEARCH_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSEARCH_H

#include "KernelBuilder.h"

namespace blockscale {

/// For each of `positions` (i64) the number of the group that has it, i64;
/// `count` where none has. `offsets` points to the i32 ends of `count` groups,
/// of which one below an earlier one counts as that.
llvm::SmallVector<mlir::Value> emitFindGroups(KernelBuilder &b,
                                              mlir::Value offsets,
                                              mlir::Value count,
                                              mlir::ValueRange positions);

/// The dimension that groups cut, in blocks of `unit` elements.
struct DeviceGroups {
  /// The ends of groups, a pointer to i32.
  mlir::Value offsets;
  mlir::Value count;
  /// The size of the whole dimension, in blocks.
  mlir::Value extent;
  int64_t unit = 1;
  /// Blocks of a tile of scales.
  int64_t tileSize = 1;
};

struct DeviceGroup {
  mlir::Value index;
  /// The first block of the group, and the one after its last.
  mlir::Value begin;
  mlir::Value end;
  /// Tiles of the groups before it, along the dimension.
  mlir::Value tilesBefore;
};

/// Loops over the groups. An offset is clamped into [previous end, extent].
void emitGroupLoop(KernelBuilder &b, const DeviceGroups &groups,
                   llvm::function_ref<void(const DeviceGroup &)> body);

/// The group of which `holds` is true, or one without blocks; `holds` is true
/// of one group at most, which is not empty.
DeviceGroup
emitFindGroup(KernelBuilder &b, const DeviceGroups &groups,
              llvm::function_ref<mlir::Value(const DeviceGroup &)> holds);

/// The groups that have `blocks`, in one loop.
llvm::SmallVector<DeviceGroup> emitFindGroups(KernelBuilder &b,
                                              const DeviceGroups &groups,
                                              mlir::ValueRange blocks);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSEARCH_H

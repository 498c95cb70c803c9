//===- GroupLoop.h - Groups bounded by offsets in memory --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets are i32 ends in elements of the quantized tensor, `unit` of which
// make one row or column of scales. A group whose end is below the previous
// one, beyond the extent or within a unit is empty, so that no offsets make a
// kernel leave its buffers. What such an end breaks is reported where ends are
// checked (GroupRules.h).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_GROUPLOOP_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_GROUPLOOP_H

#include "LoopEmitter.h"

#include <functional>

namespace blockscale::emit {

/// A dimension cut in groups, in units. A tile of a grouped layout takes
/// `tileSize` of them. Groups may be padded: the dimension then has each group
/// with elements up to a multiple of `padUnit`, and ends are those of the
/// groups in the source, before that.
struct GroupedDim {
  /// The number of groups, and the size of the whole dimension.
  Lanes count;
  Lanes extent;
  int64_t unit = 1;
  int64_t tileSize = 1;
  /// Loads the end of group `index` (index type), in elements.
  std::function<Lanes(Lanes index)> loadEnd;
  /// A multiple of `unit` in elements, or 0 where nothing is padded, and the
  /// size of the source in elements.
  int64_t padUnit = 0;
  Lanes sourceExtent = {};

  /// The groups whose ends are in the memref `offsets`.
  static GroupedDim get(mlir::ImplicitLocOpBuilder &b, mlir::Value offsets,
                        mlir::Value extent, int64_t unit = 1,
                        int64_t tileSize = 1);
};

/// One group along a dimension, in units of it; all values have index type.
struct Group {
  Lanes index;
  /// The first unit of the group, and the one after its last.
  Lanes begin;
  Lanes end;
  /// Tiles along the dimension that earlier groups take.
  Lanes tilesBefore;
  /// Of a padded group the first element in the source, and the one after its
  /// last; null of others.
  Lanes source = {};
  Lanes sourceEnd = {};
};

/// Loops over the groups with values that start as `inits` and are carried from
/// one group to the next, and returns the last ones.
llvm::SmallVector<mlir::Value> emitGroupReduction(
    mlir::ImplicitLocOpBuilder &b, const GroupedDim &dim,
    mlir::ValueRange inits,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(const Group &,
                                                      mlir::ValueRange carried)>
        body);

/// Loops over the groups and gives the end of the last one.
Lanes emitGroupLoop(mlir::ImplicitLocOpBuilder &b, const GroupedDim &dim,
                    llvm::function_ref<void(const Group &)> body);

/// An empty group behind the last one.
Group emitBehindGroups(mlir::ImplicitLocOpBuilder &b, const GroupedDim &dim);

/// The group `index`.
Group emitGroupAt(mlir::ImplicitLocOpBuilder &b, const GroupedDim &dim,
                  mlir::Value index);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_GROUPLOOP_H

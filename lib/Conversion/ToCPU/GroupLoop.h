//===- GroupLoop.h - Groups bounded by offsets in memory --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Offsets are i32 ends in elements of the quantized tensor, `unit` of which
// make one row or column of scales. An end that is negative, below the previous
// one or beyond the extent is moved to the nearest legal one and rounded down
// to a whole unit, so that no offsets make a kernel leave its buffers.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPLOOP_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPLOOP_H

#include "Emission/LoopEmitter.h"

namespace blockscale::cpu {

using namespace emit;

/// A dimension cut in groups, in units. A tile of a grouped layout takes
/// `tileSize` of them.
struct GroupedDim {
  mlir::Value offsets;
  mlir::Value extent;
  int64_t unit;
  int64_t tileSize;
};

/// One group along a dimension, in units of it.
struct Group {
  mlir::Value index;
  mlir::Value begin;
  mlir::Value end;
  /// Tiles along the dimension that earlier groups take.
  mlir::Value tilesBefore;
};

/// Loops over the groups and gives the end of the last one.
mlir::Value emitGroupLoop(mlir::ImplicitLocOpBuilder &b, const GroupedDim &dim,
                          llvm::function_ref<void(const Group &)> body);

/// An empty group behind the last one.
Group emitBehindGroups(mlir::ImplicitLocOpBuilder &b, const GroupedDim &dim);

/// The group `index`.
Group emitFindGroup(mlir::ImplicitLocOpBuilder &b, const GroupedDim &dim,
                    mlir::Value index);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_GROUPLOOP_H

//===- GroupSearch.h - Which group something is in --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_GROUPSEARCH_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_GROUPSEARCH_H

#include "KernelBuilder.h"

namespace blockscale {

/// For each of `positions` (i64) the number of the group that has it, i64;
/// `count` where none has. `offsets` points to the i32 ends of `count` groups,
/// of which one below an earlier one counts as that.
llvm::SmallVector<mlir::Value> emitFindGroups(KernelBuilder &b,
                                              mlir::Value offsets,
                                              mlir::Value count,
                                              mlir::ValueRange positions);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_GROUPSEARCH_H

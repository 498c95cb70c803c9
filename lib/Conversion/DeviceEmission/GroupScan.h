//===- GroupScan.h - Groups that a warp searches together -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A search by one thread looks at all ends, one after the other
// (GroupSearch.h). Here each thread of a warp loads one of 32 ends, and sums
// over the threads give the first block of each group.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSCAN_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSCAN_H

#include "Emission/GroupLoop.h"
#include "KernelBuilder.h"

namespace blockscale {

/// The groups that have `blocks`, which may be others in each thread, as
/// emitFindGroups gives them. All threads of a warp are there, of which `lane`
/// is the number of this one (index).
llvm::SmallVector<emit::Group> emitFindGroupsInWarp(KernelBuilder &b,
                                                    const emit::GroupedDim &dim,
                                                    emit::Lanes lane,
                                                    mlir::ValueRange blocks);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPSCAN_H

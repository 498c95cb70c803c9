//===- PaddedGroups.h - Groups that a kernel pads ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PADDEDGROUPS_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PADDEDGROUPS_H

#include "GroupSearch.h"

namespace blockscale {

/// Groups of `sourceRows` rows, whose `count` ends are at the pointer
/// `offsets`, each padded to a multiple of `unit` rows. Together they have
/// `rows` rows.
emit::GroupedDim getPaddedDim(KernelBuilder &b, mlir::Value offsets,
                              mlir::Value count, mlir::Value rows,
                              emit::Lanes sourceRows, int64_t unit);

/// Stores the ends of padded groups. The last of the `threads` of CTA 0 does,
/// as the first ones check the ends that the groups have before.
void emitStoreEnds(KernelBuilder &b, const emit::GroupedDim &padded,
                   mlir::Value buffer, emit::Lanes block, emit::Lanes thread,
                   int64_t threads);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PADDEDGROUPS_H

//===- GroupCheck.h - The check of ends of groups in kernels ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPCHECK_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPCHECK_H

#include "Emission/GroupRules.h"
#include "GroupSearch.h"

namespace blockscale {

/// Checks the rules of all groups in the warp in which `isChecker` (i1) holds,
/// and writes an error record of the first group that breaks one. All kernels
/// that read ends have this check; how they go on is getGroupEnd's.
/// `thread` is a number (i32 or index) whose remainder by 32 is the lane.
void emitCheckGroups(KernelBuilder &b, const emit::GroupRules &rules,
                     mlir::Value offsets, mlir::Value count, mlir::Value extent,
                     mlir::Value isChecker, mlir::Value thread);

/// The same in the first warp of the CTA whose number `block` (index) is 0.
void emitCheckGroups(KernelBuilder &b, const emit::GroupRules &rules,
                     mlir::Value offsets, mlir::Value count, mlir::Value extent,
                     mlir::Value block);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_GROUPCHECK_H

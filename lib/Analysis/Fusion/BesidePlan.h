//===- BesidePlan.h - Kernels of several x that share a launch --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_ANALYSIS_FUSION_BESIDEPLAN_H
#define BLOCKSCALE_LIB_ANALYSIS_FUSION_BESIDEPLAN_H

#include "FusionDraft.h"

namespace blockscale {

/// Lets strip kernels that need nothing of each other, and could run at one
/// place, share a launch:
///
///   %q, %s = blockscale.kernel ins(%x) { .. } family strips
///   %p, %t = blockscale.kernel ins(%y) { .. } family strips
/// becomes
///   %q, %s, %p, %t = blockscale.kernel ins(%x, %y) { .. } family strips
void planBeside(FusionDraft &draft);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_ANALYSIS_FUSION_BESIDEPLAN_H

//===- GlobalChains.h - Global scales in kernels of quantizers --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_ANALYSIS_FUSION_GLOBALCHAINS_H
#define BLOCKSCALE_LIB_ANALYSIS_FUSION_GLOBALCHAINS_H

#include "FusionDraft.h"

namespace blockscale {

/// Lets kernels of quantizations whose threads have rows compute the global
/// operand (GlobalChain.h), where nothing needs it, or the amax that it comes
/// from, before.
void planGlobalChains(mlir::FunctionOpInterface function, FusionDraft &draft);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_ANALYSIS_FUSION_GLOBALCHAINS_H

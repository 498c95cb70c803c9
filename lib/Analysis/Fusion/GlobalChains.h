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

/// Lets kernels of quantizations whose threads have rows or fragments compute
/// the global operand (GlobalChain.h), where nothing needs it, or the amax that
/// it comes from, before.
void planGlobalChains(mlir::FunctionOpInterface function, FusionDraft &draft);

/// Lets kernels of quantizations whose threads have fragments finish amaxes
/// that the kernel before them takes of the same tensor, or of others: that one
/// stores parts of each, so that no third one clears a result.
///
///   %a, %b = blockscale.kernel ins(%x) { hadamard, amax, amax }
///   .. = blockscale.kernel ins(%x, %a, %b) { hadamard, quantize, quantize }
/// becomes
///   %p, %r = blockscale.kernel ins(%x) { hadamard, amax_parts, amax_parts }
///   .. = blockscale.kernel ins(%x, %p, %r) {
///     amax, amax, hadamard, quantize, quantize }
///
/// It is done if each of the amaxes of a kernel is one number for a tensor that
/// has elements, if a quantization takes it, or its scale, and if nothing needs
/// either before.
void planAmaxParts(FusionDraft &draft);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_ANALYSIS_FUSION_GLOBALCHAINS_H

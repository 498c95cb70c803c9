//===- AmaxSplit.h - Amaxes that quantizers finish --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The amax of a tensor takes a kernel that raises a result, and one before it
// that clears that. Where a quantization of the same tensor needs it, two
// kernels do without: one stores parts of the amax, and that of the
// quantization takes the largest of them.
//
//   %a = blockscale.amax %x
//   %g = blockscale.global_scale %a
//   %q, %s = blockscale.quantize %x global_scale(%g)
// becomes
//   %p = blockscale.kernel ins(%x) { amax_parts }
//   %q, %s = blockscale.kernel ins(%x, %p) { amax, global_scale, quantize }
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FUSION_AMAXSPLIT_H
#define BLOCKSCALE_ANALYSIS_FUSION_AMAXSPLIT_H

#include "blockscale/Analysis/Fusion/FusionPlan.h"

namespace blockscale {

/// The parts of an amax. They are as many as CTAs of kernels that wait for
/// memory run at once on a large GPU, and few for a CTA to read.
inline constexpr int64_t kAmaxParts = 1024;

/// The amaxes in `function` that are best computed in parts:
///
///  - the result is one number for all of x, whose rows have elements;
///  - a quantization of x needs it, directly or as a global scale, in a kernel
///    whose threads have rows, and nothing needs it or that scale before;
///  - no other quantization, amax or transform reads x, which would share a
///    kernel with these, and no elementwise ops make x that would be in the
///    kernels of both.
llvm::SmallVector<AmaxOp> findSplitAmaxes(mlir::FunctionOpInterface function,
                                          const FusionOptions &options);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FUSION_AMAXSPLIT_H

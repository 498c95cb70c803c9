//===- AmaxRaise.h - Amaxes of CTAs -----------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result of several CTAs is raised from 0 by an atomic maximum of each, of
// the bits of f32: magnitudes are ordered as they are, NaN above all. A launch
// before stores the zeros.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_AMAXRAISE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_AMAXRAISE_H

#include "Emission/Lanes.h"
#include "LaunchSite.h"

namespace blockscale {

/// An f32 result, or several in a row.
struct AmaxBuffer {
  mlir::Value memref;
  /// The number of results, of type index.
  mlir::Value count;
};

/// Stores zeros to all of `buffers`.
void launchClear(LaunchSite &site, llvm::ArrayRef<AmaxBuffer> buffers);

/// The bits that each thread has of one result, and the place of the result.
struct AmaxPart {
  emit::Lanes bits;
  mlir::Value address;
};

/// The largest of the warp's values, in all its threads.
emit::Lanes emitWarpMaximum(KernelBuilder &b, emit::Lanes bits);

/// Raises results to the largest of the CTA's values. All threads, which are
/// `warps` warps, must come here. `partial` is shared memory of a word for each
/// part and warp.
void emitRaise(KernelBuilder &b, llvm::ArrayRef<AmaxPart> parts,
               emit::Lanes thread, int64_t warps, mlir::Value partial);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_AMAXRAISE_H

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

/// The largest of the CTA's values, in all its threads, which must come here
/// and are `warps` warps. `partial` is shared memory of a word for each warp.
/// `thread` is an index or an i32.
emit::Lanes emitBlockMaximum(KernelBuilder &b, emit::Lanes bits,
                             emit::Lanes thread, int64_t warps,
                             mlir::Value partial);

/// The CTAs that compute the parts of an amax (op `amax_parts`) of what so many
/// `pieces` of x have. CTA i computes part i, of pieces i, i + parts, ..; the
/// first CTA stores the zeros of parts without a piece.
emit::Lanes getPartBlocks(mlir::ImplicitLocOpBuilder &b, mlir::Value pieces,
                          int64_t parts);

/// Emits what a CTA of these does for the parts of one amax or of several,
/// each with a buffer of `results`: `emitPiece` gives the bits that a thread
/// has of each amax in one of `pieces`, an i64 parameter, and all threads come
/// there. `thread` is an index. `emitWait`, if there is one, comes before the
/// first store.
void emitParts(
    KernelBuilder &b, mlir::Value pieces, llvm::ArrayRef<mlir::Value> results,
    int64_t parts, emit::Lanes thread, int64_t warps,
    llvm::function_ref<llvm::SmallVector<mlir::Value>(emit::Lanes)> emitPiece,
    llvm::function_ref<void()> emitWait = {});

/// Raises results to the largest of the CTA's values. All threads, which are
/// `warps` warps, must come here. `partial` is shared memory of a word for each
/// part and warp.
void emitRaise(KernelBuilder &b, llvm::ArrayRef<AmaxPart> parts,
               emit::Lanes thread, int64_t warps, mlir::Value partial);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_AMAXRAISE_H

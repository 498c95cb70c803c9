//===- PrepackPiece.h - A thread's piece of prepacked data ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A piece of a thread are 16 bytes of prepacked data (Numerics/DataLayout.h).
// It has elements of two rows, eight apart, and of 32 bytes of each. Four
// neighbouring threads, a *quad*, have all elements of these bytes: each the
// same two of eight columns. So each of them loads all of the bytes, in wide
// accesses that the quad shares, and takes its own from registers.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PREPACKPIECE_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PREPACKPIECE_H

#include "KernelBuilder.h"
#include "blockscale/Numerics/DataLayout.h"

namespace blockscale {

/// Units of a piece, and bytes of each of its two rows.
inline constexpr int64_t kPieceUnits =
    numerics::kFragmentThreadBytes / (numerics::kUnitWords * kWordBytes);
inline constexpr int64_t kPieceRowBytes = 32;

/// The words of the piece of thread `inQuad` (i32) of a quad, for codes of
/// `bits` bits: those of the upper row and of the lower one are given.
llvm::SmallVector<emit::Lanes>
emitGatherPiece(KernelBuilder &b, int64_t bits, emit::Lanes inQuad,
                llvm::ArrayRef<emit::Lanes> upper,
                llvm::ArrayRef<emit::Lanes> lower);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PREPACKPIECE_H

//===- DeviceCodec.h - Codes of narrow formats in kernels -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICECODEC_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICECODEC_H

#include "DeviceCode.h"
#include "blockscale/Numerics/Codec.h"

namespace blockscale {

/// `count` codes of `bits` (4 or 8) bits at `address`, the first low, as i32.
/// They are a power of two of bytes, and the address is a multiple of these or
/// of 16.
llvm::SmallVector<emit::Lanes> emitLoadCodes(KernelBuilder &b,
                                             mlir::Value address, int64_t count,
                                             int64_t bits);

/// Stores f32 values, a power of two of them, rounded to `type`. The address is
/// a multiple of their bytes or of 16.
void emitStoreRounded(KernelBuilder &b, llvm::ArrayRef<emit::Lanes> values,
                      mlir::Type type, mlir::Value address);

/// The result of numerics::roundToE2M1 for numbers of at least 0 and below 7,
/// which are rounded as 6 is where they are above it. The products with powers
/// of two are exact, so that multiply-adds give the same.
emit::Lanes emitRoundToE2M1(KernelBuilder &b, emit::Lanes magnitude);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICECODEC_H

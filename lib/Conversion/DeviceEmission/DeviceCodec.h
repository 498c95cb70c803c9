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

/// Numbers, f32 or two bf16, rounded to those of a format with an exponent,
/// ties to even, as if it had no largest one. What becomes 0 is +0.
emit::Lanes emitRoundTo(KernelBuilder &b, numerics::ElementFormat format,
                        emit::Lanes x);

/// The sum whose bits from `kStochasticCodeBit` up are `kStochasticBase` and
/// the E2M1 code of the magnitude of `x` (f32), stochastically rounded
/// (Numerics/StochasticRounding.h): element `number` of those that the random
/// words are for. NaN has the code of 6.
emit::Lanes emitStochasticSum(KernelBuilder &b, emit::Lanes x,
                              mlir::ValueRange randomWords, int64_t number);
/// The number that the code in such a sum stands for.
emit::Lanes emitStochasticMagnitude(KernelBuilder &b, emit::Lanes sum);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_DEVICECODEC_H

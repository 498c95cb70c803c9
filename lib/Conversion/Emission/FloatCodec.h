//===- FloatCodec.h - f32, bf16 and f16 in memory ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's casts of bf16 and f16 round differently on some targets and are
// not used. The f32 environment must be the default one: nearest rounding,
// subnormals kept.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_FLOATCODEC_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_FLOATCODEC_H

#include "Lanes.h"

namespace blockscale::emit {

/// Convert f32 lanes to f32, bf16 or f16 bits of the type's width (nearest,
/// ties to even, overflow to infinity), and back.
Lanes emitEncodeFloat(mlir::Type type, Lanes x);
Lanes emitDecodeFloat(mlir::Type type, Lanes bits);

/// The magnitude bits of floats of any width, from their bits. They are ordered
/// as the magnitudes, NaN on top, as signed and as unsigned numbers.
Lanes emitMagnitudeBits(Lanes bits);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_FLOATCODEC_H

//===- CodecEmitter.h - Code that encodes and decodes -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions of Numerics/Codec.h and StochasticRounding.h as arith ops.
// Codes are i32 lanes, right-aligned; values are f32 lanes. Upstream's casts of
// these types round differently and are not used. The f32 environment must be
// the default one: nearest rounding, subnormals kept.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_CODECEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_CODECEMITTER_H

#include "Lanes.h"
#include "blockscale/Numerics/Codec.h"

namespace blockscale::emit {

/// What an element that was scaled to -0 encodes as.
enum class NegativeZero { Keep, Drop };

/// numerics::encode, saturating, in the low 16 bits of i32 lanes; those above
/// are zero in E2M1 and undefined in other formats. NaN gives the format's NaN
/// code.
Lanes emitEncode(numerics::ElementFormat format, Lanes x,
                 NegativeZero negativeZero = NegativeZero::Keep);

/// The same of magnitudes that are at most the largest of the format, which is
/// not E2M1, and the smaller one of a magnitude and this largest.
Lanes emitEncodeMagnitude(numerics::ElementFormat format, Lanes magnitude);
Lanes emitLimitMagnitude(numerics::ElementFormat format, Lanes magnitude);

/// numerics::encodeE2M1Stochastic under the random bits of i32 lanes below 256.
/// Bits above the low byte are zero.
Lanes emitEncodeStochastic(Lanes x, Lanes randomBits,
                           NegativeZero negativeZero = NegativeZero::Keep);

/// numerics::decode of codes without bits above the format's.
Lanes emitDecode(numerics::ElementFormat format, Lanes code);

/// numerics::decodeE8M0 and decodeE8M0Reciprocal.
Lanes emitDecodeE8M0(Lanes byte);
Lanes emitDecodeE8M0Reciprocal(Lanes byte);

/// numerics::decodeScale.
Lanes emitDecodeScale(numerics::ScaleFormat format, Lanes byte);

/// f32 lanes as f32, bf16 or f16 bits of the type's width (nearest, ties to
/// even, overflow to infinity), and back.
Lanes emitEncodeFloat(mlir::Type type, Lanes x);
Lanes emitDecodeFloat(mlir::Type type, Lanes bits);

/// The magnitude bits of floats of any width, from their bits. They are ordered
/// as the magnitudes, NaN on top, as signed and as unsigned numbers.
Lanes emitMagnitudeBits(Lanes bits);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_CODECEMITTER_H

//===- CvtEmitter.h - Narrow conversions of a chip --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_CVTEMITTER_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_CVTEMITTER_H

#include "KernelBuilder.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Target/Chip.h"

namespace blockscale {

/// The conversions that quantizers are made of. They are the only part of a
/// kernel's arithmetic that depends on the chip. All round to nearest, ties to
/// even, and saturate, except `encodeE8M0RoundUp`; NaN gives the format's NaN
/// code (numerics: `encode`).
class CvtEmitter {
public:
  virtual ~CvtEmitter();

  /// Codes of consecutive elements as memory holds them, the first in the low
  /// bits: eight of E2M1, four of other formats. Elements are results of
  /// arithmetic, of which NaN has no sign (PTX ISA, "Floating Point
  /// Instructions").
  virtual emit::Lanes encodeWord(KernelBuilder &b,
                                 numerics::ElementFormat format,
                                 mlir::ValueRange elements) = 0;

  /// E2M1 codes of eight elements, rounded stochastically (numerics:
  /// `encodeE2M1Stochastic`) under two words (numerics: `getRandomByte`).
  virtual emit::Lanes encodeStochasticWord(KernelBuilder &b,
                                           mlir::ValueRange elements,
                                           mlir::ValueRange randomWords) = 0;

  /// E4M3 bytes of two f32 as an i16, `low` in the low byte.
  virtual emit::Lanes encodeE4M3Pair(KernelBuilder &b, emit::Lanes low,
                                     emit::Lanes high) = 0;

  /// The two f32 whose E4M3 bytes `encodeE4M3Pair` gave.
  virtual std::pair<emit::Lanes, emit::Lanes>
  decodeE4M3Pair(KernelBuilder &b, emit::Lanes codes) = 0;

  /// The f32 of the two elements of an i32, the one in the low bits first.
  /// Their type is bf16 or f16.
  std::pair<emit::Lanes, emit::Lanes>
  widenPair(KernelBuilder &b, emit::Lanes word, mlir::Type element);

  struct RoundedPair {
    emit::Lanes codes;
    emit::Lanes low, high;
  };
  /// The E4M3 bytes of two f32 that are NaN or not below its smallest normal
  /// value, and the values of the bytes.
  virtual RoundedPair roundE4M3Pair(KernelBuilder &b, emit::Lanes low,
                                    emit::Lanes high) = 0;

  /// The vector of the greatest magnitudes, with any signs, among vectors of
  /// two bf16 or of two f16. NaN propagates.
  virtual emit::Lanes reduceMagnitudes(KernelBuilder &b,
                                       mlir::ValueRange pairs) = 0;

  /// E8M0 bytes of two f32 as an i16, rounded up to powers of two (numerics:
  /// `encodeE8M0RoundUp`).
  virtual emit::Lanes encodeE8M0RoundUpPair(KernelBuilder &b, emit::Lanes low,
                                            emit::Lanes high,
                                            numerics::Overflow overflow) = 0;

protected:
  /// The f32 of the two bf16 of an i32, the one in the low bits first.
  virtual std::pair<emit::Lanes, emit::Lanes>
  widenBF16Pair(KernelBuilder &b, emit::Lanes word) = 0;
};

/// Conversions by those `cvt` that the chip has, and by arithmetic elsewhere.
std::unique_ptr<CvtEmitter> createCvtEmitter(const target::Chip &chip);

/// The four elements of E4M3 of a word (i32) times an f16 whose bits are
/// `factor` (i16), as pairs of bf16 (i32), which have these products. For chips
/// with `hasFp4Cvt`.
std::pair<emit::Lanes, emit::Lanes>
multiplyE4M3Word(KernelBuilder &b, emit::Lanes word, emit::Lanes factor);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_CVTEMITTER_H

//===- PlainPairs.h - Codes as pairs of bf16 or f16 -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A pair is two numbers of a plain type, bf16 or f16, in the halves of a word.
// Codes of a narrow format become pairs by moving bits: the exponent and the
// mantissa of a code, in the lowest bits of the plain type's exponent and the
// highest ones of its mantissa, are the element times a power of two, also
// where they are subnormal. A multiplication by the inverse of that power is
// exact.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PLAINPAIRS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PLAINPAIRS_H

#include "DeviceEmission/KernelBuilder.h"
#include "Emission/Lanes.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/SplitFactor.h"

namespace blockscale::products {

/// The same 16 bits in both halves of a word.
constexpr uint32_t twice(uint32_t bits) { return bits << 16 | bits; }

/// Two codes: bytes of words (i32), in each of which the sign of the code is
/// the highest bit. Bits below the code can be anything.
struct CodePair {
  emit::Lanes low;
  int lowByte;
  emit::Lanes high;
  int highByte;
  /// A number (i32) that is added to those of both bytes; null is 0.
  emit::Lanes moreBytes = {};
};

/// The pairs of codes of `word` (i32), which has as many of them as memory
/// holds in 32 bits, in their order.
llvm::SmallVector<CodePair> getCodePairs(numerics::ElementFormat format,
                                         emit::Lanes word);

/// Emits arithmetic on pairs.
class PlainPairs {
public:
  PlainPairs(KernelBuilder &b, mlir::Type plain);

  /// The type of a pair, a vector of two.
  mlir::VectorType getType() const { return type; }
  /// A pair of twice this value, which the plain type has.
  mlir::Value emitConstant(double value);
  /// The products of two pairs, each rounded.
  mlir::Value multiply(mlir::Value x, mlir::Value y);
  /// Two f32, rounded.
  mlir::Value round(mlir::Value low, mlir::Value high);
  /// Both numbers of a pair, as f32.
  std::pair<emit::Lanes, emit::Lanes> widen(mlir::Value pair);
  /// A block scale (f32) times the global one, which elements are multiplied
  /// by.
  emit::Lanes getBlockFactor(emit::Lanes scale, mlir::Value global);
  /// Elements of NVFP4 times such a factor: each rounded to f32 and then to the
  /// plain type.
  mlir::Value dequantize(mlir::Value pair, emit::Lanes factor);
  /// Two such factors (f32), as pairs; and what a pair of codes that moving
  /// bits gave is times the factor that both numbers of each pair of `factor`
  /// have. The plain type is bf16.
  using SplitPair = numerics::SplitFactor<emit::Lanes>;
  SplitPair splitFactors(emit::Lanes low, emit::Lanes high);
  mlir::Value multiplySplit(mlir::Value pair, const SplitPair &factor);

  /// The elements of two codes times 2^`exponent`, which is 0 or more, and 0 in
  /// fixed point. Both the power and the largest product are numbers of the
  /// plain type.
  mlir::Value decode(numerics::ElementFormat format, const CodePair &codes,
                     int exponent = 0);
  /// The same times 2^-`getBiasDistance`: what moving bits alone gives. The
  /// format has neither infinity nor NaN.
  mlir::Value decodeFields(numerics::ElementFormat format,
                           const CodePair &codes);
  int getBiasDistance(numerics::ElementFormat format) const;
  /// Factors for what moving bits gives, which make elements of it and multiply
  /// these by a scale: a pair of them for two scales of E8M0, in 16 bits. The
  /// plain type is bf16, and no scale is large.
  mlir::Value emitWholeFactors(numerics::ElementFormat format,
                               emit::Lanes scales);
  /// Whether a thread of the warp has a large scale among pairs of them: one
  /// whose whole factor is more than bf16 has, or NaN. For codes of E2M1 these
  /// are those above 2 (i1).
  mlir::Value hasLargeScale(numerics::ElementFormat format,
                            llvm::ArrayRef<emit::Lanes> scales);
  /// Whether a thread of the warp has a byte outside of [`least`, `most`] among
  /// two scales of E8M0, in 16 bits (i1).
  mlir::Value hasScaleOutside(emit::Lanes scales, int least, int most);

private:
  /// Whether a thread of the warp has the highest bit set of a half of `halves`
  /// (i32).
  mlir::Value hasHighestBit(emit::Lanes halves);
  /// Both codes with copies of their signs above them, each in a half of a
  /// word.
  emit::Lanes spread(const CodePair &codes);
  emit::Lanes moveFields(numerics::ElementFormat format, const CodePair &codes);
  mlir::Value decodeFixedPoint(const CodePair &codes);

  KernelBuilder &b;
  mlir::VectorType type;
  numerics::CodeFields plain;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PLAINPAIRS_H

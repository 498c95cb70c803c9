//===- DecodedPairs.h - Codes times scales as pairs -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes become bf16 or f16, which have all elements: by conversions where the
// chip has them, else by moving bits (PlainPairs.h). Beside codes of E2M1 a
// scale of E4M3 takes the factor that makes elements of moved bits, as far as
// it fits; sums are smaller by what is left (`DecodedFormat::getSumShift`).
// Then the product with the scale rounds once, where a value is not exact at
// all.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDPAIRS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDPAIRS_H

#include "DecodedSpec.h"
#include "PlainPairs.h"

namespace blockscale::products {

/// Whether instructions of the chip convert codes to elements.
inline bool hasConversion(const DecodedSpec &spec) {
  return spec.format.hasScales &&
         spec.format.element == numerics::ElementFormat::E4M3 &&
         spec.chip->hasFp8Cvt();
}

/// Emits what decodes the operand with scales.
class DecodedPairs {
public:
  DecodedPairs(KernelBuilder &b, const DecodedSpec &spec)
      : b(b), spec(spec), pairs(b, spec.format.plain) {}

  /// The factors of two scales, with the part of the factor of E2M1 that they
  /// take: each twice in a pair of the plain type, as i32. Where `global`
  /// (f32), the global scale of elements, is there, each is an f32, as i32.
  llvm::SmallVector<mlir::Value> emitFactors(const CodePair &scales,
                                             mlir::Value global);
  /// The pairs of elements of a word of codes (i32) times `factor`, in their
  /// order, as i32.
  llvm::SmallVector<mlir::Value> decodeWord(emit::Lanes word,
                                            mlir::Value factor);

private:
  mlir::Value emitScalePair(const CodePair &scales);
  /// The pairs of elements of a word of codes. They lack the factor of E2M1
  /// where scales have it.
  llvm::SmallVector<mlir::Value> decodeElements(emit::Lanes word);

  KernelBuilder &b;
  const DecodedSpec &spec;
  PlainPairs pairs;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDPAIRS_H

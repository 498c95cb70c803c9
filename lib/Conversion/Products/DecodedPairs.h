//===- DecodedPairs.h - Codes times scales as pairs -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Codes become bf16 or f16, which have all elements: by conversions where the
// chip has them, else by moving bits (PlainPairs.h). Conversions give f16, of
// which chips that convert E2M1, too, make an f32 that is a product of two of
// them at once. Beside codes of E2M1 a scale of E4M3 takes the factor that
// makes elements of moved bits, as far as it fits; sums are smaller by what is
// left (`DecodedFormat::getSumShift`). Then the product with the scale rounds
// once, where a value is not exact at all.
//
// A global scale of elements makes an f32 of each scale. Beside bf16 most
// global scales let this factor be split into two numbers of bf16
// (Numerics/SplitFactor.h), for which the bits of codes stay as they are. Then
// a kernel has the loops of a tile twice.
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

/// Whether codes are converted to f16, and elements beside bf16 are products of
/// f16.
inline bool multipliesHalves(const DecodedSpec &spec) {
  return hasConversion(spec) && spec.chip->hasFp4Cvt() &&
         spec.format.plain.isBF16();
}

/// Whether most scales of E8M0 can be *whole factors*: those with which threads
/// have an element times its scale by one multiplication, of bits of E2M1 that
/// were moved or of an f16. Where a warp has others, it takes more
/// instructions.
inline bool canTakeWholeFactor(const DecodedSpec &spec) {
  const DecodedFormat &format = spec.format;
  return format.hasScales && !format.scalesElements &&
         format.scale == numerics::ScaleFormat::E8M0 &&
         (format.getBits() == 4 || multipliesHalves(spec));
}

/// The global scale of the elements of a tile.
struct ElementScale {
  /// An f32; null where sums have it.
  mlir::Value value;
  /// Whether factors of blocks are split, and so made of this scale
  /// (`numerics::SplitGlobal`).
  bool isSplit = false;
};

/// The `count` sums (f32) of a tile whose elements have the global scale
/// `scale`, or whose sums have it if that is null. `emitSums` gives those by a
/// scale, and runs for split factors where `canSplit` (i1) holds. That is the
/// same for all threads that wait for each other there.
llvm::SmallVector<mlir::Value>
emitSumsOfTile(KernelBuilder &b, const DecodedFormat &format, mlir::Value scale,
               mlir::Value canSplit, int64_t count,
               llvm::function_ref<
                   llvm::SmallVector<mlir::Value>(const ElementScale &scale)>
                   emitSums);

/// Emits what decodes the operand with scales.
class DecodedPairs {
public:
  DecodedPairs(KernelBuilder &b, const DecodedSpec &spec)
      : b(b), spec(spec), pairs(b, spec.format.plain),
        halves(b, b.getF16Type()) {}

  /// The factors of two scales, with the part of the factor of E2M1 that they
  /// take: each twice in a pair of the plain type, as i32. With the global
  /// scale `global` of elements each is an f32, or both parts of a split one,
  /// as i32.
  llvm::SmallVector<mlir::Value> emitFactors(const CodePair &scales,
                                             const ElementScale &global);
  /// The whole factors of two scales of E8M0, in 16 bits: each twice in a pair,
  /// as i32.
  llvm::SmallVector<mlir::Value> emitWholeFactors(emit::Lanes scales);
  /// Whether a thread of the warp has a scale among two, in 16 bits, that can
  /// be no whole factor (i1).
  mlir::Value hasOtherScale(emit::Lanes scales);
  /// The pairs of elements of a word of codes (i32), in their order, as i32:
  /// each of as many parts of them as there are factors times its own. Factors
  /// can be split, or whole ones.
  llvm::SmallVector<mlir::Value> decodeWord(emit::Lanes word,
                                            llvm::ArrayRef<mlir::Value> factors,
                                            bool isSplit, bool isWhole = false);

private:
  mlir::Value emitScalePair(const CodePair &scales);
  /// Each number of a pair twice in a pair, as i32.
  llvm::SmallVector<mlir::Value> splatBoth(mlir::Value both);
  /// The pairs of elements of a word of codes. They lack the factor of E2M1
  /// where scales have it.
  llvm::SmallVector<mlir::Value> decodeElements(emit::Lanes word, bool haveIt);

  KernelBuilder &b;
  const DecodedSpec &spec;
  PlainPairs pairs;
  /// Pairs of f16, which factors of products of f16 are.
  PlainPairs halves;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDPAIRS_H

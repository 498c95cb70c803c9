//===- DecodedFormat.h - Formats of decoded operands ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Where tensor cores know no block scales, or one operand has none, one of the
// operands of a product is plain, bf16 or f16, and comes to shared memory as it
// is. The other one has scales: threads decode it into registers, to the type
// of the plain one, each element times its scale. That is exact but for the
// ends of E8M0's range, and where a global scale multiplies elements
// (docs/Numerics.md, 13).
//
// Where no operand has scales, B takes the place of the one that has, and is
// not decoded: its elements are codes of 16 bits, which lie in shared memory as
// those of the plain operand do.
//
// A *step* is 64 elements of K; a stage of the ring has a few steps.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDFORMAT_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDFORMAT_H

#include "GemmSpec.h"
#include "blockscale/Numerics/Format.h"

#include <string>

namespace blockscale::products {

/// Elements of K of a step.
inline constexpr int64_t kDecodedStep = 64;

/// The formats of a product of a scaled and a plain operand.
struct DecodedFormat {
  /// The format of the product on a chip; none where both operands have
  /// scales, or one has them across K that kernels of the chip do not decode.
  static std::optional<DecodedFormat> find(const Product &product,
                                           const target::Chip &chip);

  /// Whether an operand has scales. What is said of the scaled one below is
  /// said of B where none has.
  bool hasScales;
  /// Whether the scaled operand is A, so that B is the plain one.
  bool isScaledA;
  /// The formats of an operand with scales.
  numerics::ElementFormat element;
  numerics::ScaleFormat scale;
  /// bf16 or f16.
  mlir::Type plain;
  /// Elements that share a scale.
  int64_t block;
  /// Whether the scaled data are in the order of registers
  /// (`#blockscale.data_layout<fragments_64x64>`).
  bool isPacked;
  /// Whether the global scale multiplies elements: the block scale times the
  /// global one, and each element times that, are rounded to f32, and this to
  /// the plain type.
  bool scalesElements = false;
  /// Whether data of A are [K, M], and those of B [K, N].
  bool isMnMajorA = false, isMnMajorB = false;
  /// Whether sums have the bits of one chain along K (`order chain`): steps of
  /// instructions come in the order of K, one accumulator takes them all, and
  /// elements are multiplied as they are, without a power of two.
  bool keepsChain = false;

  /// Bits that an element takes in memory.
  int64_t getBits() const {
    return hasScales ? numerics::getFormatInfo(element).storageBits
                     : plain.getIntOrFloatBitWidth();
  }

  bool isNvfp4() const {
    return hasScales && element == numerics::ElementFormat::E2M1 &&
           scale == numerics::ScaleFormat::E4M3;
  }

  bool isMnMajor(bool ofA) const { return ofA ? isMnMajorA : isMnMajorB; }
  /// The same of the plain operand, and of the other one.
  bool isPlainMnMajor() const { return isMnMajor(!isScaledA); }
  bool isOtherMnMajor() const { return isMnMajor(isScaledA); }
  /// Whether the operand with scales has its blocks across K. It is B then, and
  /// packed: rows of its blocks of codes, and of its tiles of scales, are
  /// elements of K.
  bool isAcross() const { return hasScales && isOtherMnMajor(); }

  /// Bits of an element of A, or of B.
  int64_t getBits(bool ofA) const {
    return ofA == isScaledA ? getBits() : plain.getIntOrFloatBitWidth();
  }
  /// Elements of K that rows of a dynamic length are a multiple of: those of a
  /// copy.
  int64_t getRowMultiple() const { return kCopyBytes * 8 / getBits(); }
  /// Bytes of a row of codes in a step.
  int64_t getCodeBytes() const { return kDecodedStep * getBits() / 8; }
  /// Scales of a row in a step, where blocks lie along K.
  int64_t getStepScales() const { return kDecodedStep / block; }
  /// Steps that share a tile of scales.
  int64_t getTileSteps() const {
    return isAcross() ? kTileRows / kDecodedStep : kTileCols / getStepScales();
  }

  /// Whether results of a tile come in whole fragments of columns, where plain
  /// rows are columns; those of two products are apart.
  bool hasFragments(int64_t plainRows, int64_t products) const {
    return !isScaledA ||
           (products > 1 ? plainRows == 2 * kFragment : plainRows >= kFragment);
  }

  /// Sums are smaller than results by two to this power. E2M1 in registers
  /// wants a factor of 2^126 (2^14 beside f16). Scales of E4M3, which are at
  /// most 448, can take 2^118 (2^7) of it.
  int getSumShift() const {
    bool takesFactor = isNvfp4() && !scalesElements && !keepsChain;
    return !takesFactor ? 0 : plain.isBF16() ? 8 : 7;
  }

  /// Whether factors of blocks may be split into two numbers of the plain type,
  /// depending on the global scale (Numerics/SplitFactor.h).
  bool canSplitFactors() const {
    return isNvfp4() && scalesElements && plain.isBF16() && !keepsChain;
  }

  /// The part of the names of kernels that stands for the formats, for example
  /// "bf16_e2m1_e4m3".
  std::string getName() const;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDFORMAT_H

//===- RowPairs.h - Products of pairs of bf16 of a row ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A row of numbers that bf16 holds by rows of codes, on CPUs that multiply
// pairs of bf16 ("Conversion/BF16Products.h"). A step is 64 bytes of codes.
// Words of codes become vectors of bf16, whose pairs are multiplied by those of
// the row and added up, of one block in a lane; the row is stored in that
// order. The scales of the blocks multiply the sum in f32, and what is added up
// over steps is f32, too.
//
// Sums. With 8 products of packed codes in a lane, or 4 of bytes, the sum of a
// row of K has at most 7 + K / 128 or 3 + K / 64 roundings in f32, which is
// below the bound of Numerics ("PanelProduct.h").
//
// Range. All numbers of the row and all scales are such that no sum and no
// product leaves the normal f32 ("PanelDecoder.h").
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWPAIRS_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWPAIRS_H

#include "CpuFunction.h"
#include "PanelDecoder.h"

namespace blockscale::cpu {

using namespace emit;

class RowPairs {
public:
  /// Whether all numbers of a product are in bf16, A's as numbers of rows and
  /// B's as elements of `format`.
  static bool suits(const ProductNumbers &numbers, mlir::Type elementOfA,
                    numerics::ElementFormat format);

  /// Allocates a row of `depth` numbers.
  RowPairs(mlir::ImplicitLocOpBuilder &b, numerics::ElementFormat format,
           mlir::Value depth);

  void emitFree();

  /// Whether the CPU multiplies pairs of bf16, an i1.
  Lanes emitHasProducts() const { return hasProducts.emitCall(b); }

  int64_t getStepElements() const;

  /// Stores the numbers [first, first + getStepElements()) of a row of f32 in
  /// the order of multiplication.
  void emitOrder(mlir::Value numbersOfRow, mlir::Value first);

  /// `sum` and the products of a step: of the numbers from `first` on by
  /// `bytes` of codes, times the scales of its blocks in f32.
  Lanes emitAddStep(Lanes bytes, mlir::Value first, Lanes scales,
                    Lanes sum) const;

  /// The sum over no step.
  mlir::Value createZeroSum() const;

private:
  bool packed() const { return isPacked(format); }

  mlir::ImplicitLocOpBuilder &b;
  numerics::ElementFormat format;
  CpuFunction hasProducts, addProducts, decode;
  /// The numbers in order, as i16 words.
  mlir::Value ordered;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWPAIRS_H

//===- ProductSums.h - Sums of products -------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The products of rows of A and of B, added as the tensor core adds them.
//
// K goes by in steps, of ascending K. A step adds some products and the
// accumulator as integers:
//
//   * The exponent of a product is the sum of those of its factors, that of a
//     subnormal factor the least one of its format; so a significand is below 4
//     and may be below 1. The exponent of an accumulator is at least the least
//     one of its format.
//   * All terms are aligned to the greatest exponent of those that are not
//   zero,
//     or to a floor where that is less. What lies behind the last bit that is
//     kept is cut off each, toward zero. The sum is exact then.
//   * Into f32 the sum is cut to fraction bits, toward zero, subnormals too;
//   what
//     is 2^128 or more then is infinity. Into f16 it is rounded to nearest
//     even.
//   * A zero is +0. A NaN has all its bits but the sign.
//   * An infinite or NaN term decides the result as in the sum of all terms;
//     products of finite factors never overflow.
//
// How many products, how many bits and which floor is the law of the device
// (SumLaw.h). How a sparse A is added is not known of any device: its law is
// the sum in f64.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MATRIX_PRODUCTSUMS_H
#define BLOCKSCALE_LIB_EMULATOR_MATRIX_PRODUCTSUMS_H

#include "Emulator/Matrix/MmaOperand.h"
#include "Emulator/Matrix/SumLaw.h"

namespace blockscale::emulator {

/// What products are added to.
struct AccumulatorFormat {
  MmaAccumulator type;
  /// Whether a sum of S32 is clamped; else it wraps.
  bool saturate = false;

  /// Values in a register.
  unsigned getCount() const { return type == MmaAccumulator::F16 ? 2 : 1; }
};

struct ProductSums {
  SumLaw law;
  MmaFormat a, b;
  AccumulatorFormat accumulator;
  /// The exponent of the power of two that accumulators are divided by first.
  unsigned scaleInputD = 0;

  /// Codes of the accumulators, those of a row of A behind each other. `before`
  /// has what they held; it is empty where they begin with zero.
  std::vector<uint32_t> run(const MmaMatrix &a, const MmaMatrix &b,
                            llvm::ArrayRef<uint32_t> before) const;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MATRIX_PRODUCTSUMS_H

//===- Formula.h - Work of a kernel as a formula of sizes -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Bytes and FLOP of the kernels of a linear layer, x [M, K] times a weight
// [N, K], as formulas that can be evaluated and shown.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FORMULA_H
#define BLOCKSCALE_ANALYSIS_FORMULA_H

#include "blockscale/Target/Gpu.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <string>

namespace blockscale {

/// Sizes of a linear layer: whole numbers, in doubles as their products would
/// overflow.
struct LinearShape {
  double m;
  double k;
  double n;
};

/// A product of some of M, K and N: a set of these bits.
using Product = unsigned;
inline constexpr Product kM = 1, kK = 2, kN = 4;

/// A sum of products over a divisor, rounded to an integer.
struct Quotient {
  llvm::SmallVector<Product, 2> sum;
  int64_t divisor;
  bool roundsUp;
};

Quotient floorOf(llvm::ArrayRef<Product> sum, int64_t divisor);
Quotient ceilOf(llvm::ArrayRef<Product> sum, int64_t divisor);

/// coefficient * product * quotients.
struct Term {
  double coefficient;
  Product product = 0;
  llvm::SmallVector<Quotient, 2> quotients;
};

/// A sum of terms.
struct Formula {
  llvm::SmallVector<Term, 4> terms;

  double evaluate(const LinearShape &shape) const;
  /// The terms with their coefficients multiplied by `factors`, one after the
  /// other.
  Formula scaled(llvm::ArrayRef<double> factors) const;
  /// The formula as sympy prints it: coefficients with 15 digits, `floor` and
  /// `ceiling`.
  std::string toString() const;
};

/// A number with at most 15 digits and an exponent: 2.0e-6.
std::string printCoefficient(double value);

/// What a kernel moves and computes.
struct KernelFormula {
  Formula bytes;
  Formula flops;
  target::Unit unit = target::Unit::F32;
};

/// The longest of a launch, the FLOP and the bytes at the rates of `gpu`; NaN
/// where it has no such unit.
double getSeconds(const KernelFormula &kernel, const target::Gpu &gpu,
                  const LinearShape &shape);

/// The formula of these seconds, `Max(..)`; "nan" where the GPU has no such
/// unit.
std::string printSeconds(const KernelFormula &kernel, const target::Gpu &gpu);

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FORMULA_H

//===- ChainSum.h - Sums of products of order chain -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product of order chain has the bits of tensor cores that multiply bf16 or
// f16 (Numerics/TensorCoreSum.h). What it multiplies are terms, a word each:
// the exponent in the lower half, the significand in the upper one, both
// without signs.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_CHAINSUM_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_CHAINSUM_H

#include "Emission/Lanes.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Numerics/TensorCoreSum.h"

namespace blockscale::cpu {

using namespace emit;

class ChainSum {
public:
  /// The sum of a product by tensor cores. Without scales or beside a plain
  /// operand it multiplies in that operand's type, else in bf16.
  ChainSum(ProductOpInterface op, numerics::TensorCores tensorCores);

  /// The products of a fused addition, a divisor of any block.
  int64_t getProducts() const { return sum.products; }

  /// The words of f32 values, which are rounded to the multiplied type.
  Lanes encode(const Lanes &values) const;

  /// The accumulators, as bits of f32, after a fused addition of the products
  /// of words: element i of a row of A, a scalar each, and of columns.
  Lanes add(llvm::ArrayRef<Lanes> row, llvm::ArrayRef<Lanes> cols,
            const Lanes &accumulators) const;

private:
  mlir::Type type;
  numerics::FactorFormat format;
  numerics::TensorCoreSum sum;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_CHAINSUM_H

//===- ProductEpilogue.h - From sums to a product's results -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result of type T from the sum of its products, in f32:
//
//   before rounding   T(sum * (ga * gb) + bias)
//   after rounding    T(T(T(sum) * T(ga * gb)) + bias)
//
// An absent factor or bias leaves its operation out; where both factors are
// absent, the second is the first.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_PRODUCTEPILOGUE_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_PRODUCTEPILOGUE_H

#include "Emission/LoopEmitter.h"
#include "blockscale/IR/OpOperands.h"

namespace blockscale::cpu {

using namespace emit;

/// A global scale in memory; null where absent.
struct GlobalFactor {
  mlir::Value value;
  GlobalExtent extent = GlobalExtent::Tensor;
};

/// The operands that results are made of besides the sums.
struct ProductEpilogue {
  mlir::Value result;
  GlobalFactor a, b;
  /// [N], or [G, N]; null where absent.
  mlir::Value bias;
  bool scalesAfterRounding = false;
};

/// Results in a row, from `col` on.
struct ResultRow {
  /// The indices in front of the row and the column.
  Indices prefix;
  /// The batch element, or the group.
  Indices element;
  mlir::Value row;
  mlir::Value col;
};

/// Stores the results that sums, a vector of f32, become.
void emitStoreResults(mlir::ImplicitLocOpBuilder &b,
                      const ProductEpilogue &epilogue, Lanes sums,
                      const ResultRow &place);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_PRODUCTEPILOGUE_H

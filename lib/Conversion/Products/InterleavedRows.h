//===- InterleavedRows.h - Matrices whose rows alternate --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Row r of matrix m of a batch is row m * rows + r of memory. Where the rows of
// `inner` matrices alternate, as those of the heads of attention do, matrices
// are numbered (outer, i), and it is row (outer * rows + r) * inner + i.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_INTERLEAVEDROWS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_INTERLEAVEDROWS_H

#include "Arithmetic.h"

namespace blockscale::products {

/// The rows of a matrix among those of memory, i64.
class MatrixRows {
public:
  /// Those of matrix `matrix` of `rows` rows each, i32; `inner` (i32) is null
  /// where the rows of a matrix follow each other.
  MatrixRows(KernelBuilder &b, mlir::Value matrix, mlir::Value rows,
             mlir::Value inner)
      : first(toI64(b, matrix) * toI64(b, rows)) {
    if (!inner)
      return;
    auto [outer, number] = split(b, matrix, inner);
    step = toI64(b, inner);
    first = toI64(b, outer) * toI64(b, rows) * step + toI64(b, number);
  }

  /// Row `row` (i64) of the matrix.
  emit::Lanes get(emit::Lanes row) const { return first + getDistance(row); }
  /// What `rows` (i64) rows of the matrix are apart in memory.
  emit::Lanes getDistance(emit::Lanes rows) const {
    return step ? rows * step : rows;
  }

  /// The number of a matrix among sets of matrices whose rows alternate, and
  /// its number in the set, i32.
  static std::pair<emit::Lanes, emit::Lanes>
  split(KernelBuilder &b, mlir::Value matrix, mlir::Value inner) {
    emit::Lanes number(b, matrix), count(b, inner);
    emit::Lanes outer = divide(b, number, count);
    return {outer, number - outer * count};
  }

private:
  emit::Lanes first, step;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_INTERLEAVEDROWS_H

//===- ResultRow.h - A row of results in a thread ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTROW_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTROW_H

#include "blockscale/Analysis/Epilogue.h"

namespace blockscale::products {

/// Results of a row that a thread writes at a time.
inline constexpr int64_t kFragment = kEpilogueColumns;
/// Those of them that are read and written at a time where columns are no
/// whole fragments, but a multiple of this.
inline constexpr int64_t kPieceCols = 8;

/// A row of results.
struct ResultRow {
  /// The number of the matrix or group, i32.
  mlir::Value product;
  /// The number of the row among the rows of all results, i64.
  mlir::Value number;
  mlir::Value exists;
  /// The number of the row in its product, which has `rows` rows and begins in
  /// band `firstBand` of all bands of 128 rows, i32. Scales of results alone
  /// need them.
  mlir::Value inProduct, rows, firstBand;
  /// The number of the row in memory that holds results, i64; null where it is
  /// `number`, as the rows of a matrix follow each other there.
  mlir::Value inMemory = {};

  mlir::Value getStored() const { return inMemory ? inMemory : number; }
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTROW_H

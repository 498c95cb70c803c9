//===- ResultWriter.h - From sums to results in memory ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTWRITER_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTWRITER_H

#include "ResultValues.h"

namespace blockscale::products {

/// Writes results of one row, which need not exist.
class RowWriter {
public:
  virtual ~RowWriter() = default;

  /// Writes the results that the sums of each product (vectors of as many f32
  /// as a fragment has) become, in the columns from `col` (i32) on that exist.
  virtual void emitFragment(mlir::ValueRange sums, mlir::Value col) = 0;
  /// Writes what a row that no group has is there.
  virtual void emitZeros(mlir::Value col) = 0;
  /// Writes what a row or fragment that is in no result is there.
  virtual void emitPadding(mlir::Value col) {}
};

/// Writes the results of one product as they are, without an epilogue.
class ResultWriter : public RowWriter {
public:
  /// Makes one of fragments of `width` columns.
  ResultWriter(KernelBuilder &b, const GemmSpec &spec,
               const GemmArguments &arguments, const ResultRow &row,
               int64_t width = kFragment);

  void emitFragment(mlir::ValueRange sums, mlir::Value col) override;
  void emitZeros(mlir::Value col) override;

private:
  /// The results of `count` columns from `col` on, the first of which is number
  /// `first` of the fragment.
  using Results = llvm::function_ref<mlir::Value(mlir::Value col, int64_t first,
                                                 int64_t count)>;
  void emitStores(mlir::Value col, Results getResults);
  void emitWhole(mlir::Value results, mlir::Value col, int64_t storeBytes);
  /// Address of the result in column `col`.
  mlir::Value getAddress(mlir::Value col);

  KernelBuilder &b;
  const GemmSpec &spec;
  const GemmArguments &arguments;
  ResultValues values;
  int64_t width;
  mlir::Value rowExists;
  /// The first result of the row.
  mlir::Value rowAddress;
  /// Bytes of stores, the widest first, and whether every row begins at a
  /// multiple of them.
  llvm::SmallVector<int64_t> storeBytes;
  llvm::SmallVector<mlir::Value> isAligned;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTWRITER_H

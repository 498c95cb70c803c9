//===- EpilogueWriter.h - From sums to what follows products ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_EPILOGUEWRITER_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_EPILOGUEWRITER_H

#include "ResultWriter.h"

namespace blockscale::products {

/// Writes what elementwise ops and a sink make of one or two products.
class EpilogueWriter : public RowWriter {
public:
  EpilogueWriter(KernelBuilder &b, const GemmSpec &spec,
                 const GemmArguments &arguments, const ResultRow &row);

  void emitFragment(mlir::ValueRange sums, mlir::Value col) override;
  void emitZeros(mlir::Value col) override;
  void emitPadding(mlir::Value col) override { sink->emitPadding(col); }

private:
  /// Words of the values that are stored or quantized; without sums those that
  /// follow from zeros.
  ElementWords emitWords(mlir::ValueRange sums, mlir::Value col);
  /// The words of each input of the fragment from `col` on, `count` columns of
  /// it at a time.
  llvm::SmallVector<ElementWords> emitInputs(mlir::ValueRange sums,
                                             mlir::Value col, int64_t count);
  /// The same where columns need not be whole fragments; what stands for
  /// columns that do not exist is some number.
  llvm::SmallVector<ElementWords> emitAnyInputs(mlir::ValueRange sums,
                                                mlir::Value col);
  /// The `words` words that `emitSome` gives for a fragment of columns that
  /// need not all exist: for some columns at a time, as many as rows begin at
  /// multiples of.
  llvm::SmallVector<mlir::Value> emitSomeColumns(
      int64_t words,
      llvm::function_ref<llvm::SmallVector<mlir::Value>(int64_t count)>
          emitSome);
  ElementWords loadInput(const ElementSource::Input &input,
                         mlir::Value argument, mlir::Value col, int64_t count);
  /// Stores what is kept of the products, in the row and columns that exist.
  void emitKept(mlir::ValueRange sums, mlir::Value col, mlir::Value exists);
  ElementWords emitProduct(int64_t product, mlir::ValueRange sums,
                           mlir::Value col, int64_t count);
  /// The first of `count` columns, for those from column `i` of the fragment
  /// on: of columns that do not all exist, those at the end of the row.
  mlir::Value getCol(mlir::Value col, int64_t i, int64_t count);

  KernelBuilder &b;
  const GemmSpec &spec;
  const EpilogueSpec &epilogue;
  const GemmArguments &arguments;
  ResultRow row;
  llvm::SmallVector<ResultValues, 2> values;
  std::unique_ptr<SinkWriter> sink;
  /// What stores each of the results that are kept.
  llvm::SmallVector<std::unique_ptr<SinkWriter>, 2> stores;
};

std::unique_ptr<RowWriter> createRowWriter(KernelBuilder &b,
                                           const GemmSpec &spec,
                                           const GemmArguments &arguments,
                                           const ResultRow &row,
                                           int64_t width = kFragment);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_EPILOGUEWRITER_H

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

/// Writes what elementwise ops and a sink make of one or two products. Columns
/// are whole fragments.
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
  ElementWords loadInput(const ElementSource::Input &input,
                         mlir::Value argument, mlir::Value col);

  KernelBuilder &b;
  const GemmSpec &spec;
  const EpilogueSpec &epilogue;
  const GemmArguments &arguments;
  ResultRow row;
  llvm::SmallVector<ResultValues, 2> values;
  std::unique_ptr<SinkWriter> sink;
};

std::unique_ptr<RowWriter> createRowWriter(KernelBuilder &b,
                                           const GemmSpec &spec,
                                           const GemmArguments &arguments,
                                           const ResultRow &row,
                                           int64_t width = kFragment);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_EPILOGUEWRITER_H

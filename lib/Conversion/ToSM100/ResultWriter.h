//===- ResultWriter.h - From sums to results in memory ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A result of type T from the sum of its products, in f32, as on the CPU
// (../ToCPU/ProductEpilogue.h):
//
//   before rounding   T(sum * (ga * gb) + bias)
//   after rounding    T(T(T(sum) * T(ga * gb)) + bias)
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_RESULTWRITER_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_RESULTWRITER_H

#include "GemmSpec.h"

#include "../ToCPU/Lanes.h"
#include "../ToGPU/KernelBuilder.h"

namespace blockscale::sm100 {

/// Results of a row that a thread writes at a time.
inline constexpr int64_t kChunk = 32;

/// Writes results of one row of one matrix.
class ResultWriter {
public:
  /// `matrix` and `row` are i32. The row need not exist.
  ResultWriter(KernelBuilder &b, const GemmSpec &spec,
               const GemmArguments &arguments, mlir::Value matrix,
               mlir::Value row);

  /// Writes what becomes of the sums (a vector of `kChunk` f32) of columns from
  /// `col` (i32) on, those that exist.
  void emitChunk(mlir::Value sums, mlir::Value col);

private:
  void emitWhole(mlir::Value sums, mlir::Value col, int64_t storeBytes);
  void emitElements(mlir::Value sums, mlir::Value col);
  void emitElement(mlir::Value sum, mlir::Value col);
  /// The bits of results, of one or of a vector.
  mlir::Value emitResult(cpu::Lanes sums, mlir::Value factor, mlir::Value bias);
  /// f32 to the type of the result, and back.
  mlir::Value round(cpu::Lanes value);
  cpu::Lanes widen(mlir::Value value);
  /// Values `count` of an array with one for each column, of `type`.
  mlir::Value loadColumns(mlir::Value pointer, mlir::Type type, mlir::Value row,
                          mlir::Value col, int64_t count);
  /// The factor of `count` columns; null where there is none.
  mlir::Value getFactor(mlir::Value col, int64_t count);
  /// Address of the result in column `col`.
  mlir::Value getAddress(mlir::Value col);

  KernelBuilder &b;
  const GemmSpec &spec;
  const GemmArguments &arguments;
  mlir::Value matrix;
  mlir::Value rowExists;
  /// The first result of the row.
  mlir::Value rowAddress;
  /// f32; null where absent, or one for each column.
  mlir::Value factorA, factorB;
  /// Whether every row begins at a multiple of the stores of each width.
  llvm::SmallVector<mlir::Value> isAligned;
};

} // namespace blockscale::sm100

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_RESULTWRITER_H

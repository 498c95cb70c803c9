//===- ResultValues.h - From sums to the values of results ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A value of type T from the sum of its products, in f32, as on the CPU
// (../ToCPU/ProductEpilogue.h):
//
//   before rounding   T(sum * (ga * gb) + bias)
//   after rounding    T(T(T(sum) * T(ga * gb)) + bias)
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTVALUES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTVALUES_H

#include "GemmSpec.h"
#include "ResultRow.h"

#include "DeviceEmission/KernelBuilder.h"
#include "Emission/Lanes.h"

namespace blockscale::products {

/// Values of one row of one product.
class ResultValues {
public:
  ResultValues(KernelBuilder &b, const GemmSpec &spec,
               const ProductArguments &arguments, mlir::Value cols,
               const ResultRow &row);

  /// The results that `count` sums (f32) become, of columns from `col` (i32)
  /// on.
  mlir::Value emit(mlir::Value sums, mlir::Value col, int64_t count);

private:
  /// Converts f32 to the type of the result, and back.
  mlir::Value round(emit::Lanes value);
  emit::Lanes widen(mlir::Value value);
  /// Values `count` of an array with one for each column, of `type`, or with
  /// those of each matrix or group.
  mlir::Value loadColumns(mlir::Value pointer, mlir::Type type, bool isOfEach,
                          mlir::Value col, int64_t count);
  /// The factor of `count` columns; null where there is none.
  mlir::Value getFactor(mlir::Value col, int64_t count);

  KernelBuilder &b;
  const GemmSpec &spec;
  const ProductArguments &arguments;
  mlir::Value cols;
  mlir::Value product;
  /// The factors of both operands, f32; null where absent, or where each column
  /// has its own.
  mlir::Value factorA, factorB;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_RESULTVALUES_H

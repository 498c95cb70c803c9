//===- CpuFunction.h - Calls of functions of the CPU's own ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Functions whose instructions depend on the CPU. Code calls them rather than
// compute the same itself, so that the emission of objects, which knows the
// CPU, chooses the instructions.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_CPUFUNCTION_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_CPUFUNCTION_H

#include "Emission/Lanes.h"
#include "blockscale/Numerics/Format.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscale::cpu {

using namespace emit;

/// Elements of `kBF16Bytes` bytes in the order in which functions decode them
/// ("Conversion/BF16Products.h").
Lanes orderUnpacked(Lanes x);

class CpuFunction {
public:
  Lanes emitCall(mlir::ImplicitLocOpBuilder &b,
                 mlir::ValueRange arguments = {}) const;

  /// What decodes E2M1 codes in the lowest bits of i32 words to their magnified
  /// values ("Conversion/E2M1.h").
  static CpuFunction createDecodeE2M1(mlir::ImplicitLocOpBuilder &b);

  /// Those of "Conversion/BF16Products.h". All are created in front of the
  /// function where b stands.
  static CpuFunction createHasBF16Products(mlir::ImplicitLocOpBuilder &b);
  static CpuFunction createAddBF16Products(mlir::ImplicitLocOpBuilder &b);
  static CpuFunction createDecodeToBF16(mlir::ImplicitLocOpBuilder &b,
                                        numerics::ElementFormat format);

private:
  using Body = llvm::function_ref<mlir::Value(mlir::ImplicitLocOpBuilder &,
                                              mlir::ValueRange)>;

  /// Creates a function of the attribute `name` whose body gives what `body`
  /// does.
  CpuFunction(mlir::ImplicitLocOpBuilder &b, llvm::StringRef suffix,
              mlir::Attribute name, mlir::TypeRange arguments,
              mlir::Type result, Body body);

  mlir::func::FuncOp function;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_CPUFUNCTION_H

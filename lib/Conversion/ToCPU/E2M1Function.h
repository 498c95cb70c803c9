//===- E2M1Function.h - Calls of what decodes E2M1 codes --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_E2M1FUNCTION_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_E2M1FUNCTION_H

#include "Emission/Lanes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscale::cpu {

using namespace emit;

/// A function that decodes E2M1 codes ("Conversion/E2M1.h"). Code calls it
/// rather than decode them itself, so that the emission of objects, which knows
/// the CPU, chooses the instructions.
class E2M1Function {
public:
  /// Creates the function in front of the one where b stands.
  explicit E2M1Function(mlir::ImplicitLocOpBuilder &b);

  /// The magnified values of the codes in the lowest bits of i32 words.
  Lanes emitCall(mlir::ImplicitLocOpBuilder &b, Lanes words) const;

private:
  mlir::func::FuncOp function;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_E2M1FUNCTION_H

//===- OutlinedFunctions.h - Functions that code is moved to ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_OUTLINEDFUNCTIONS_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_OUTLINEDFUNCTIONS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace blockscale::cpu {

/// Functions of a module that ops of others are moved to.
class OutlinedFunctions {
public:
  explicit OutlinedFunctions(mlir::ModuleOp module) : symbols(module) {}

  /// Puts `function`, which is in no module, in front of the function around
  /// `op`. It becomes private and internal, and its name is F_OP_0, of both, or
  /// one with the next number.
  void insert(mlir::func::FuncOp function, mlir::Operation *op);

private:
  mlir::SymbolTable symbols;
  llvm::StringMap<int> counts;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_OUTLINEDFUNCTIONS_H

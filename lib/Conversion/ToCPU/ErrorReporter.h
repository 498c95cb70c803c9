//===- ErrorReporter.h - Calls that report errors ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_ERRORREPORTER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_ERRORREPORTER_H

#include "Emission/GroupRules.h"

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/SymbolTable.h"
#include "llvm/ADT/StringMap.h"

namespace blockscale::cpu {

/// Calls of `blockscale_report_error`, with one global for each message.
class ErrorReporter {
public:
  explicit ErrorReporter(mlir::ModuleOp module)
      : module(module), symbols(module) {}

  /// Reports that `rule` does not hold, but that `found`, an integer or an
  /// index, was found.
  void emitReport(mlir::ImplicitLocOpBuilder &b, llvm::StringRef rule,
                  mlir::Value found);

  /// Reports the rule that a group breaks, with the text of its error record.
  void emitReport(mlir::ImplicitLocOpBuilder &b, runtime::ErrorOp op,
                  const emit::FirstFault &fault);

private:
  mlir::LLVM::LLVMFuncOp getFunction();
  mlir::LLVM::LLVMFuncOp getGroupFunction();
  mlir::LLVM::GlobalOp getMessage(llvm::StringRef text);

  mlir::ModuleOp module;
  mlir::SymbolTable symbols;
  llvm::StringMap<mlir::LLVM::GlobalOp> messages;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_ERRORREPORTER_H

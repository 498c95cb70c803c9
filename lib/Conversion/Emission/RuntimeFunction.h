//===- RuntimeFunction.h - Functions of the host's runtime ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_RUNTIMEFUNCTION_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_RUNTIMEFUNCTION_H

#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/BuiltinOps.h"

namespace blockscale::emit {

/// The declaration of a function of the runtime that gives nothing back, made
/// where the module has none yet. Null, with a diagnostic, where the module has
/// something else of that name.
mlir::LLVM::LLVMFuncOp
declareRuntimeFunction(mlir::ModuleOp module, llvm::StringRef name,
                       llvm::ArrayRef<mlir::Type> arguments);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_RUNTIMEFUNCTION_H

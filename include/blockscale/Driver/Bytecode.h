//===- Bytecode.h - Bytecode that may be damaged ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_BYTECODE_H
#define BLOCKSCALE_DRIVER_BYTECODE_H

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"
#include "llvm/Support/SourceMgr.h"

namespace blockscale {

/// The module that `content` is, MLIR text or bytecode, or null after an error
/// in `context`. `name` is the name of the file in locations. Text stays in
/// `sources`, for diagnostics. Bytecode is read by a program
/// (Driver/BytecodeReader.h), which answers with text: the file
/// `bytecodeReader`, or where that is empty the one that a search finds.
mlir::OwningOpRef<mlir::ModuleOp>
parseModule(llvm::StringRef content, const std::string &name,
            llvm::SourceMgr &sources, mlir::MLIRContext &context,
            const std::string &bytecodeReader = "");

/// The module in a file, as parseModule reads it; `-` is standard input.
mlir::OwningOpRef<mlir::ModuleOp>
readModule(const std::string &path, llvm::SourceMgr &sources,
           mlir::MLIRContext &context, const std::string &bytecodeReader = "");

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_BYTECODE_H

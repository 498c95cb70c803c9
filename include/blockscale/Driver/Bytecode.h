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
/// in `context`. `name` is that of a file in locations. Text stays in
/// `sources`, for diagnostics.
///
/// MLIR's reader of bytecode aborts, overwrites memory, fills it or does not
/// return where some bytes are damaged. So a child process (fork) reads it, and
/// what comes back is text.
mlir::OwningOpRef<mlir::ModuleOp> parseModule(llvm::StringRef content,
                                              const std::string &name,
                                              llvm::SourceMgr &sources,
                                              mlir::MLIRContext &context);

/// The same of a file, `-` being standard input.
mlir::OwningOpRef<mlir::ModuleOp> readModule(const std::string &path,
                                             llvm::SourceMgr &sources,
                                             mlir::MLIRContext &context);

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_BYTECODE_H

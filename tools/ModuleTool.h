//===- ModuleTool.h - A tool that reads one module --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_MODULETOOL_H
#define BLOCKSCALE_TOOLS_MODULETOOL_H

#include "mlir/IR/MLIRContext.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/SourceMgr.h"

namespace blockscale {

/// Parses the options of `category`, then calls `run` with a context that knows
/// every dialect and shows diagnostics with their source lines. Prints the
/// error of `run`. Returns the exit status: 0, or 1 for an error.
int runModuleTool(
    int argc, char **argv, const char *toolName, const char *overview,
    llvm::cl::OptionCategory &category,
    llvm::function_ref<llvm::Error(mlir::MLIRContext &, llvm::SourceMgr &)>
        run);

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_MODULETOOL_H

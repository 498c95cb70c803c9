//===- blockscale-lsp-server.cpp - Language server ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolOptions.h"

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/IR/Dialect.h"
#include "mlir/Tools/mlir-lsp-server/MlirLspServerMain.h"
#include "llvm/Support/CommandLine.h"

static constexpr const char *kUsage =
    "\nEDITORS:\n\n"
    "The server speaks the Language Server Protocol on standard input and "
    "output. In VS\nCode's MLIR extension, set mlir.server_path to this "
    "program's path.\n";

int main(int argc, char **argv) {
  blockscale::setToolVersion("blockscale-lsp-server");
  blockscale::hideLibraryOptions();
  llvm::cl::extrahelp usage(kUsage);
  mlir::DialectRegistry registry;
  blockscale::registerAllDialects(registry);
  return mlir::failed(mlir::MlirLspServerMain(argc, argv, registry));
}

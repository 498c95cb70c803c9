//===- blockscale-reduce.cpp - Test case reducer --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolOptions.h"

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-reduce/MlirReduceMain.h"
#include "llvm/Support/CommandLine.h"

static constexpr const char *kUsage =
    "\nREDUCING:\n\n"
    "  blockscale-reduce big.mlir --reduction-tree='traversal-mode=0 "
    "test=check.sh' -o small.mlir\n\n"
    "check.sh gets the path of a smaller module. It exits with 1 where the "
    "module still\nhas the property of interest, such as a crash, and with 0 "
    "where not.\n";

int main(int argc, char **argv) {
  blockscale::setToolVersion("blockscale-reduce");
  blockscale::hideLibraryOptions();
  llvm::cl::extrahelp usage(kUsage);
  mlir::registerAllPasses();
  blockscale::registerAllPasses();
  mlir::DialectRegistry registry;
  blockscale::registerAllDialects(registry);
  mlir::MLIRContext context(registry);
  return mlir::failed(mlir::mlirReduceMain(argc, argv, context));
}

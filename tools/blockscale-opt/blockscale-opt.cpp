//===- blockscale-opt.cpp - Pass driver -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ToolOptions.h"

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

static constexpr const char *kOverview =
    "Runs passes on a module: BlockScale's (--blockscale-...) and MLIR's\n\n"
    "  blockscale-opt q.mlir --blockscale-to-cpu\n"
    "  blockscale-opt q.mlir --blockscale-to-sm100='to=bufferize'\n"
    "  blockscale-opt 04-materialize-storage.mlir "
    "--blockscale-to-cpu='from=bufferize'\n\n"
    "Both pipelines have the stages verify-layout, canonicalize, "
    "form-kernels,\n"
    "materialize-storage, bufferize and lower-kernels; blockscale-to-cpu ends "
    "with llvm.\nblockscale-compile --dump-stages writes the module after "
    "each.\n";

int main(int argc, char **argv) {
  blockscale::setToolVersion("blockscale-opt");
  blockscale::hideLibraryOptions();
  mlir::registerAllPasses();
  blockscale::registerAllPasses();
  mlir::DialectRegistry registry;
  blockscale::registerAllDialects(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, kOverview, registry));
}

//===- Opt.cpp - blockscale-opt of the standalone library -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The library has the dialects of the pipelines anyway. The others of MLIR and
// their passes would make it twice as large.
//
//===----------------------------------------------------------------------===//

#include "PassDriver.h"
#include "Tools.h"

#include "blockscale/Pipelines/Pipelines.h"

int blockscale::tools::opt(int argc, char **argv) {
  registerPipelineDialectPasses();
  registerAllPasses();
  mlir::DialectRegistry registry;
  registerPipelineDialects(registry);
  return runPassDriver(argc, argv, registry);
}

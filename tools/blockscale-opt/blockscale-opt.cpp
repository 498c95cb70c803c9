//===- blockscale-opt.cpp - Pass driver with all of MLIR ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PassDriver.h"

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/InitAllPasses.h"

int main(int argc, char **argv) {
  mlir::registerAllPasses();
  blockscale::registerAllPasses();
  mlir::DialectRegistry registry;
  blockscale::registerAllDialects(registry);
  return blockscale::runPassDriver(argc, argv, registry);
}

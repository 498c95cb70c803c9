//===- Plugin.cpp - The dialect and passes for mlir-opt -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The functions that --load-dialect-plugin and --load-pass-plugin call.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Tools/Plugins/DialectPlugin.h"
#include "mlir/Tools/Plugins/PassPlugin.h"

extern "C" LLVM_ATTRIBUTE_WEAK mlir::DialectPluginLibraryInfo
mlirGetDialectPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "BlockScale", BLOCKSCALE_VERSION,
          [](mlir::DialectRegistry *registry) {
            blockscale::registerDialect(*registry);
          }};
}

extern "C" LLVM_ATTRIBUTE_WEAK mlir::PassPluginLibraryInfo
mlirGetPassPluginInfo() {
  return {MLIR_PLUGIN_API_VERSION, "BlockScale", BLOCKSCALE_VERSION,
          blockscale::registerAllPasses};
}

//===- Registration.cpp - Passes, pipelines and dialects by name ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/Pass/PassRegistry.h"
#include "mlir/Target/LLVMIR/Dialect/All.h"

using namespace mlir;

namespace blockscale {

static void addStages(OpPassManager &pm, const std::vector<Stage> &stages) {
  for (const Stage &stage : stages)
    stage.build(pm);
}

void registerAllPasses() {
  registerBlockScaleTransformsPasses();
  registerBlockScaleConversionPasses();
  PassPipelineRegistration<ToCPUOptions>(
      "blockscale-to-cpu", "Lower a module to the LLVM dialect for the host",
      [](OpPassManager &pm, const ToCPUOptions &options) {
        addStages(pm, getToCPUStages(options));
      });
  PassPipelineRegistration<ToSM100Options>(
      "blockscale-to-sm100",
      "Lower a module to gpu.launch_func and a gpu.module for SM100",
      [](OpPassManager &pm, const ToSM100Options &options) {
        addStages(pm, getToSM100Stages(options));
      });
}

void registerAllDialects(DialectRegistry &registry) {
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllToLLVMIRTranslations(registry);
  registry.insert<BlockScaleDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
}

} // namespace blockscale

//===- ToGPU.cpp - Pipeline blockscale-to-gpu -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace blockscale {

/// Kernels are large. From the bottom up it takes a tenth of the time, and one
/// look at each op and none at its regions half of that; LLVM sees the few ops
/// that a second one would change. Threads of the context take a function each.
static void buildCleanUp(OpPassManager &pm) {
  GreedyRewriteConfig config;
  config.setUseTopDownTraversal(false)
      .setMaxIterations(1)
      .setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  for (OpPassManager *functions :
       {&pm.nest<func::FuncOp>(),
        &pm.nest<gpu::GPUModuleOp>().nest<gpu::GPUFuncOp>()}) {
    functions->addPass(createCanonicalizerPass(config));
    functions->addPass(createCSEPass());
  }
}

std::vector<Stage> getToGPUStages(const ToGPUOptions &options) {
  std::string chip = options.chip;
  std::vector<Stage> stages = getCommonStages(
      options.maxConstantElements, options.checks,
      {chip, options.fuse, options.recompute, options.transforms,
       llvm::to_vector(options.dynamicSizes)});
  ChooseSchedulesOptions schedules;
  schedules.chip = chip;
  schedules.tuned = options.tuned;
  schedules.candidates = options.candidates;
  bool branches = options.branchOnRows;
  bool overlaps = options.overlapLaunches;
  stages.push_back({"lower-kernels",
                    [chip, schedules, branches, overlaps](OpPassManager &pm) {
                      if (branches) {
                        BranchOnRowsOptions rows;
                        rows.chip = chip;
                        pm.addPass(createBranchOnRows(rows));
                      }
                      pm.addPass(createChooseSchedules(schedules));
                      pm.addPass(createChooseStrips({chip}));
                      pm.addNestedPass<func::FuncOp>(createExpandCopies());
                      pm.addPass(createPlainToLoops());
                      pm.addPass(createLowerKernelsToGPU({chip, overlaps}));
                      buildCleanUp(pm);
                    }});
  return stages;
}

std::vector<Stage> getToGPUStages(StringRef chip) {
  ToGPUOptions options;
  options.chip = chip.str();
  return getToGPUStages(options);
}

} // namespace blockscale

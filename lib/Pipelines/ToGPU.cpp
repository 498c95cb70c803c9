//===- ToGPU.cpp - Pipeline blockscale-to-gpu -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace blockscale {

std::vector<Stage> getToGPUStages(const ToGPUOptions &options) {
  FormKernelsOptions form;
  form.chip = options.chip;
  form.fuse = options.fuse;
  form.recompute = options.recompute;
  form.dynamicSizes = llvm::to_vector(options.dynamicSizes);
  std::vector<Stage> stages =
      getCommonStages(options.maxConstantElements, form);
  LowerKernelsToGPUOptions lower;
  lower.chip = options.chip;
  ChooseSchedulesOptions choose;
  choose.chip = options.chip;
  ChooseTilesOptions tiles;
  tiles.chip = options.chip;
  stages.push_back({"lower-kernels", [lower, choose, tiles](OpPassManager &pm) {
                      pm.addPass(createChooseSchedules(choose));
                      pm.addPass(createChooseTiles(tiles));
                      pm.addPass(createLowerKernelsToGPU(lower));
                      pm.addPass(createCanonicalizerPass());
                      pm.addPass(createCSEPass());
                    }});
  return stages;
}

} // namespace blockscale

//===- Common.cpp - Stages that every target shares -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Dialect/Bufferization/Transforms/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace blockscale {

static void buildBufferize(OpPassManager &pm) {
  pm.addPass(createBufferizeKernels());
  pm.addPass(bufferization::createDropEquivalentBufferResultsPass());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

std::vector<Stage> getCommonStages(int64_t maxConstantElements,
                                   StringRef chip) {
  return {
      {"verify-layout",
       [](OpPassManager &pm) { pm.addPass(createVerifyLayout()); }},
      {"canonicalize",
       [maxConstantElements](OpPassManager &pm) {
         pm.addPass(createCanonicalizerPass());
         pm.addPass(createFoldConstants({maxConstantElements}));
         pm.addPass(createCanonicalizerPass());
         pm.addPass(createCSEPass());
       }},
      {"form-kernels",
       [chip = chip.str()](OpPassManager &pm) {
         pm.addNestedPass<func::FuncOp>(createFormKernels({chip}));
       }},
      {"materialize-storage",
       [](OpPassManager &pm) {
         pm.addPass(createMaterializeStorage());
         pm.addPass(createResultsToOutParams());
         pm.addPass(memref::createResolveRankedShapeTypeResultDimsPass());
         pm.addPass(createCanonicalizerPass());
         pm.addPass(createCSEPass());
       }},
      {"bufferize", buildBufferize},
  };
}

} // namespace blockscale

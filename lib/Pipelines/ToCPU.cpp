//===- ToCPU.cpp - Pipeline blockscale-to-cpu -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Conversion/AffineToStandard/AffineToStandard.h"
#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/BufferizationToMemRef/BufferizationToMemRef.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Conversion/FuncToLLVM/ConvertFuncToLLVMPass.h"
#include "mlir/Conversion/IndexToLLVM/IndexToLLVM.h"
#include "mlir/Conversion/MathToLLVM/MathToLLVM.h"
#include "mlir/Conversion/MemRefToLLVM/MemRefToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Conversion/UBToLLVM/UBToLLVM.h"
#include "mlir/Conversion/VectorToLLVM/ConvertVectorToLLVMPass.h"
#include "mlir/Conversion/VectorToSCF/VectorToSCF.h"
#include "mlir/Dialect/Bufferization/Pipelines/Passes.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/Passes.h"
#include "mlir/Dialect/MemRef/Transforms/Passes.h"
#include "mlir/Transforms/Passes.h"

using namespace mlir;

namespace blockscale {

static void buildLowerKernels(OpPassManager &pm) {
  bufferization::buildBufferDeallocationPipeline(pm);
  pm.addPass(createConvertBufferizationToMemRefPass());
  pm.addPass(createLowerKernelsToCPU());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

static void buildToLLVM(OpPassManager &pm, bool hostRuntime) {
  pm.addPass(createInternalizeFunctions());
  pm.addNestedPass<func::FuncOp>(createExpandCopies());
  pm.addPass(createOutlineLinalg());
  pm.addNestedPass<func::FuncOp>(createOrderReductions());
  pm.addNestedPass<func::FuncOp>(createConvertLinalgToLoopsPass());
  pm.addPass(createExpandBF16());
  pm.addPass(createLowerAffinePass());
  // The default unrolls partly and keeps an alloca in the loop body.
  VectorTransferToSCFOptions vectorToSCF;
  vectorToSCF.enableFullUnroll();
  pm.addNestedPass<func::FuncOp>(createConvertVectorToSCFPass(vectorToSCF));
  pm.addPass(createSCFToControlFlowPass());
  pm.addPass(createReportAsserts());
  pm.addPass(createExpandReshapes());
  pm.addPass(memref::createExpandStridedMetadataPass());
  pm.addPass(createLowerAffinePass());
  pm.addPass(createConvertVectorToLLVMPass());
  pm.addPass(createConvertMathToLLVMPass());
  pm.addPass(createFinalizeMemRefToLLVMConversionPass());
  pm.addPass(createArithToLLVMConversionPass());
  pm.addPass(createConvertIndexToLLVMPass());
  pm.addPass(createConvertControlFlowToLLVMPass());
  pm.addPass(createConvertFuncToLLVMPass());
  pm.addPass(createUBToLLVMConversionPass());
  pm.addPass(createReconcileUnrealizedCastsPass());
  pm.addPass(createRetypeBF16());
  pm.addPass(createParallelizeCalls());
  if (!hostRuntime)
    pm.addPass(createDefineSerialRuntime());
  pm.addPass(createCanonicalizerPass());
  pm.addPass(createCSEPass());
}

std::vector<Stage> getToCPUStages(const ToCPUOptions &options) {
  std::vector<Stage> stages = getCommonStages(
      options.maxConstantElements, options.checks, FormKernelsOptions());
  bool hostRuntime = options.hostRuntime;
  stages.push_back({"lower-kernels", buildLowerKernels});
  stages.push_back({"llvm", [hostRuntime](OpPassManager &pm) {
                      buildToLLVM(pm, hostRuntime);
                    }});
  return stages;
}

} // namespace blockscale

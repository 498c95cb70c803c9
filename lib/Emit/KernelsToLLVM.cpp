//===- KernelsToLLVM.cpp - Kernels in LLVM's dialect ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Upstream's passes lower a gpu.module in one thread. While they run, each
// kernel is in a module of its own, so that threads lower several at once.
//
//===----------------------------------------------------------------------===//

#include "KernelsToLLVM.h"

#include "blockscale/Conversion/Passes.h"

#include "mlir/Conversion/GPUToNVVM/GPUToNVVMPass.h"
#include "mlir/Conversion/NVVMToLLVM/NVVMToLLVM.h"
#include "mlir/Conversion/ReconcileUnrealizedCasts/ReconcileUnrealizedCasts.h"
#include "mlir/Conversion/SCFToControlFlow/SCFToControlFlow.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

using namespace mlir;

namespace blockscale {

static bool isDeclaration(Operation *op) {
  auto function = dyn_cast<LLVM::LLVMFuncOp>(op);
  return function && function.isExternal();
}

namespace {

/// The kernels of a module, each in a module of its own at its place.
class LoneKernels {
public:
  /// Kernels that call functions of their module stay with them.
  explicit LoneKernels(gpu::GPUModuleOp module) : module(module) {
    auto kernels = llvm::to_vector(module.getOps<gpu::GPUFuncOp>());
    bool isLone = llvm::all_of(*module.getBody(), [](Operation &op) {
      return isa<gpu::GPUFuncOp, LLVM::GlobalOp>(op);
    });
    if (!isLone || kernels.size() < 2)
      return;
    OpBuilder b(module);
    for (gpu::GPUFuncOp kernel : kernels) {
      auto lone =
          cast<gpu::GPUModuleOp>(b.insert(module->cloneWithoutRegions()));
      Block &body = lone.getBodyRegion().emplaceBlock();
      kernel->moveBefore(&body, body.end());
      modules.push_back(lone);
    }
  }

  /// Brings the kernels back, with what came to be beside them: several may
  /// have declared one function, and memory of one name.
  LogicalResult join() {
    SymbolTable all(module);
    for (gpu::GPUModuleOp lone : modules) {
      SymbolTable own(lone);
      for (Operation &op : llvm::make_early_inc_range(*lone.getBody())) {
        Operation *known = all.lookup(SymbolTable::getSymbolName(&op));
        if (known && isDeclaration(&op)) {
          op.erase();
          continue;
        }
        if (known && failed(own.renameToUnique(&op, {&all})))
          return failure();
        op.remove();
        all.insert(&op);
      }
      lone.erase();
    }
    return success();
  }

private:
  gpu::GPUModuleOp module;
  SmallVector<gpu::GPUModuleOp> modules;
};

} // namespace

static void buildKernelPasses(OpPassManager &kernels) {
  kernels.addPass(createSCFToControlFlowPass());
  kernels.addPass(createConvertGpuOpsToNVVMOps());
  // The translation to LLVM IR knows no nvvm.inline_ptx.
  kernels.addPass(createConvertNVVMToLLVMPass());
  kernels.addPass(createReconcileUnrealizedCastsPass());
}

LogicalResult lowerKernelsToLLVM(ModuleOp module) {
  SmallVector<LoneKernels> kernels;
  for (auto gpuModule : llvm::to_vector(module.getOps<gpu::GPUModuleOp>()))
    kernels.emplace_back(gpuModule);
  PassManager pm(module.getContext());
  // Once at the end finds what a pass broke as well.
  pm.enableVerifier(false);
  buildKernelPasses(pm.nest<gpu::GPUModuleOp>());
  LogicalResult lowered = pm.run(module);
  for (LoneKernels &lone : kernels)
    if (failed(lone.join()))
      return failure();
  if (failed(lowered))
    return failure();
  PassManager parameters(module.getContext());
  parameters.enableVerifier(false);
  parameters.addPass(createPassTensorMaps());
  return success(succeeded(parameters.run(module)) &&
                 succeeded(verify(module)));
}

} // namespace blockscale

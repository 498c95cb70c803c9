//===- Ptx.cpp - PTX of a lowered module ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/Ptx.h"

#include "KernelsToLLVM.h"

#include "mlir/Conversion/ArithToLLVM/ArithToLLVM.h"
#include "mlir/Conversion/ControlFlowToLLVM/ControlFlowToLLVM.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/GPU/Transforms/Passes.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Target/LLVM/NVVM/Target.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/GPU/GPUToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/NVVM/NVVMToLLVMIRTranslation.h"

using namespace mlir;

namespace blockscale {

void registerPtxTranslations(DialectRegistry &registry) {
  arith::registerConvertArithToLLVMInterface(registry);
  cf::registerConvertControlFlowToLLVMInterface(registry);
  NVVM::registerNVVMTargetInterfaceExternalModels(registry);
  registerBuiltinDialectTranslation(registry);
  registerGPUDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  registerNVVMDialectTranslation(registry);
}

/// Calls of CUDA's device library would be resolved here where CUDA is
/// installed, and nowhere else.
static LogicalResult verifyNoLibraryCalls(ModuleOp module) {
  WalkResult result = module.walk([](LLVM::CallOp call) {
    std::optional<StringRef> callee = call.getCallee();
    if (!callee || !callee->starts_with("__nv_"))
      return WalkResult::advance();
    call.emitError() << "expected kernels to call nothing of CUDA's device "
                        "library, but got a call of '"
                     << *callee << "'";
    return WalkResult::interrupt();
  });
  return failure(result.wasInterrupted());
}

/// Upstream looks for CUDA's device library in the folder that $CUDA_ROOT,
/// $CUDA_HOME or $CUDA_PATH names, and prints an error where it is not there,
/// although it goes on and no kernel calls that library. This drops the error.
static LogicalResult dropMissingLibrary(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  return success(StringRef(text).starts_with("CUDA path: ") ||
                 StringRef(text).starts_with("LibDevice path: "));
}

FailureOr<std::string> emitPtx(ModuleOp module) {
  if (failed(lowerKernelsToLLVM(module)) ||
      failed(verifyNoLibraryCalls(module)))
    return failure();
  PassManager pm(module.getContext());
  GpuModuleToBinaryPassOptions options;
  options.compilationTarget = "isa";
  pm.addPass(createGpuModuleToBinaryPass(options));
  {
    ScopedDiagnosticHandler handler(module.getContext(), dropMissingLibrary);
    if (failed(pm.run(module)))
      return failure();
  }
  auto binaries = llvm::to_vector(module.getOps<gpu::BinaryOp>());
  if (binaries.size() != 1)
    return module.emitError() << "expected one gpu.module to emit as PTX, but "
                                 "got "
                              << binaries.size();
  ArrayAttr objects = binaries.front().getObjects();
  if (objects.size() != 1)
    return binaries.front().emitOpError()
           << "expected one target, but got " << objects.size();
  StringRef text = cast<gpu::ObjectAttr>(objects[0]).getObject().getValue();
  // The object ends with the NUL that drivers want.
  return text.rtrim('\0').str();
}

} // namespace blockscale

//===- TargetAttr.cpp - GPU compilation target ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxSerializer.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/IR/KernelOptLevel.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/Target/Chip.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Target/LLVM/NVVM/Utils.h"

using namespace mlir;

namespace blockscale {

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef chip, StringRef, int optLevel) {
  if (failed(verifyChip(emitError, chip)))
    return failure();
  if (optLevel < 0 || optLevel > 3)
    return emitError() << "expected O to be 0 to 3, but got " << optLevel;
  return success();
}

/// The features that an empty list stands for are those of the chip.
static StringRef getBackendFeatures(TargetAttr target) {
  StringRef features = target.getFeatures();
  return features.empty()
             ? StringRef(target::findChip(target.getChip())->backendFeatures)
             : features;
}

/// NVVM's target does the rest of the work; its own chip verifier acts only on
/// modules that carry it.
static gpu::TargetAttrInterface getNVVMTarget(TargetAttr target) {
  auto attr = NVVM::NVVMTargetAttr::get(target.getContext(), target.getO(),
                                        "nvptx64-nvidia-cuda", target.getChip(),
                                        getBackendFeatures(target),
                                        /*targetFlags=*/nullptr,
                                        /*linkFiles=*/nullptr);
  return cast<gpu::TargetAttrInterface>(static_cast<Attribute>(attr));
}

/// Whether someone asks for the LLVM IR that lies between a module and its PTX,
/// or adds to it.
static bool asksForLLVM(const gpu::TargetOptions &options) {
  return options.getInitialLlvmIRCallback() ||
         options.getLinkedLlvmIRCallback() ||
         options.getOptimizedLlvmIRCallback() ||
         !options.getLibrariesToLink().empty();
}

std::optional<SerializedObject>
TargetAttr::serializeToObject(Operation *module,
                              const gpu::TargetOptions &options) const {
  auto kernels = dyn_cast<gpu::GPUModuleOp>(module);
  if (!kernels || getO() != kKernelOptLevel ||
      options.getCompilationTarget() != gpu::CompilationTarget::Assembly ||
      asksForLLVM(options) || !holdsKernelsAlone(kernels))
    return getNVVMTarget(*this).serializeToObject(module, options);
  NVVM::SerializeGPUModuleBase::init();
  std::optional<std::string> ptx =
      serializePtx(kernels, {getChip(), getBackendFeatures(*this)});
  if (!ptx)
    return std::nullopt;
  if (options.getISACallback())
    options.getISACallback()(*ptx);
  // Drivers want a NUL at the end.
  return SerializedObject(
      SmallVector<char, 0>(ptx->c_str(), ptx->c_str() + ptx->size() + 1));
}

Attribute TargetAttr::createObject(Operation *module,
                                   const SerializedObject &object,
                                   const gpu::TargetOptions &options) const {
  return getNVVMTarget(*this).createObject(module, object, options);
}

} // namespace blockscale

//===- TargetAttr.cpp - GPU compilation target ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Target/Chip.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;

namespace blockscale {

LogicalResult TargetAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 StringRef chip, StringRef, int optLevel) {
  if (!target::findChip(chip))
    return emitError() << "expected the chip to be one of "
                       << target::listChips() << ", but got '" << chip << "'";
  if (optLevel < 0 || optLevel > 3)
    return emitError() << "expected O to be 0 to 3, but got " << optLevel;
  return success();
}

/// NVVM's target does the work; its own chip verifier acts only on modules that
/// carry it.
static gpu::TargetAttrInterface getNVVMTarget(TargetAttr target) {
  StringRef features = target.getFeatures();
  if (features.empty())
    features = target::findChip(target.getChip())->backendFeatures;
  auto attr = NVVM::NVVMTargetAttr::get(target.getContext(), target.getO(),
                                        "nvptx64-nvidia-cuda", target.getChip(),
                                        features, /*targetFlags=*/nullptr,
                                        /*linkFiles=*/nullptr);
  return cast<gpu::TargetAttrInterface>(static_cast<Attribute>(attr));
}

std::optional<SerializedObject>
TargetAttr::serializeToObject(Operation *module,
                              const gpu::TargetOptions &options) const {
  return getNVVMTarget(*this).serializeToObject(module, options);
}

Attribute TargetAttr::createObject(Operation *module,
                                   const SerializedObject &object,
                                   const gpu::TargetOptions &options) const {
  return getNVVMTarget(*this).createObject(module, object, options);
}

} // namespace blockscale

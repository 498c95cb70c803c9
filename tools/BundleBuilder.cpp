//===- BundleBuilder.cpp - Bundles of lowered modules ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleBuilder.h"

#include "blockscale/Emit/LaunchPlan.h"
#include "blockscale/Emit/Ptx.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

using namespace mlir;

namespace blockscale {

llvm::Error addTarget(runtime::BundleContent &content, ModuleOp module,
                      StringRef chip) {
  // Before the PTX, which takes the place of the kernels.
  FailureOr<std::string> plan =
      emitLaunchPlan(module, chip, &content.constants);
  if (failed(plan))
    return llvm::createStringError(
        "no launch plan could be made of the module");
  std::string ptx;
  if (!module.getOps<gpu::GPUModuleOp>().empty()) {
    FailureOr<std::string> emitted = emitPtx(module);
    if (failed(emitted))
      return llvm::createStringError("no PTX could be emitted for the module");
    ptx = std::move(*emitted);
  }
  content.targets.push_back({std::move(*plan), std::move(ptx)});
  return llvm::Error::success();
}

} // namespace blockscale

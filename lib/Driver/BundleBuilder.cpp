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
using blockscale::runtime::ErrorKind;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

Status addTarget(runtime::BundleContent &content, ModuleOp module,
                 StringRef chip) {
  // Before the PTX, which takes the place of the kernels.
  FailureOr<std::string> plan =
      emitLaunchPlan(module, chip, &content.constants);
  if (failed(plan))
    return Status::failure("no launch plan could be made of the module",
                           ErrorKind::Compilation);
  std::string ptx;
  if (!module.getOps<gpu::GPUModuleOp>().empty()) {
    FailureOr<std::string> emitted = emitPtx(module);
    if (failed(emitted))
      return Status::failure("no PTX could be emitted for the module",
                             ErrorKind::Compilation);
    ptx = std::move(*emitted);
  }
  content.targets.push_back({std::move(*plan), std::move(ptx)});
  return Status::success();
}

Result<runtime::BundleContent> buildBundle(ModuleOp module,
                                           const std::string &entry,
                                           const std::string &chip, bool fuse,
                                           CompileObserver &observer) {
  Status status =
      lowerEntry(module, entry, getStagesOfChip(chip, fuse), chip, observer);
  runtime::BundleContent content;
  if (status.ok())
    status = addTarget(content, module, chip);
  if (!status.ok())
    return status;
  return content;
}

} // namespace blockscale

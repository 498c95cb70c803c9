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

namespace {

/// What kernels are launched by, and their code.
struct Emitted {
  runtime::LaunchPlan plan;
  /// The PTX of the kernels; empty where there are none.
  std::string ptx;
};

} // namespace

static Result<Emitted> emit(ModuleOp module, StringRef chip) {
  // Before the PTX, which takes the place of the kernels.
  FailureOr<runtime::LaunchPlan> plan = emitLaunchPlan(module, chip);
  if (failed(plan))
    return Status::failure("no launch plan could be made of the module",
                           ErrorKind::Compilation);
  Emitted emitted{std::move(*plan), ""};
  if (module.getOps<gpu::GPUModuleOp>().empty())
    return emitted;
  FailureOr<std::string> ptx = emitPtx(module);
  if (failed(ptx))
    return Status::failure("no PTX could be emitted for the module",
                           ErrorKind::Compilation);
  emitted.ptx = std::move(*ptx);
  return emitted;
}

Status addTarget(runtime::BundleContent &content, ModuleOp module,
                 StringRef chip) {
  Result<Emitted> emitted = emit(module, chip);
  if (!emitted.ok())
    return emitted.status();
  content.targets.push_back(
      {runtime::writeLaunchPlan(emitted->plan, &content.constants),
       std::move(emitted->ptx)});
  return Status::success();
}

Result<std::shared_ptr<const runtime::Bundle>>
buildBundle(ModuleOp module, const std::string &entry,
            const ToGPUOptions &options, CompileObserver &observer) {
  const std::string &chip = options.chip;
  Status status =
      lowerEntry(module, entry, getToGPUStages(options), chip, observer);
  if (!status.ok())
    return status;
  Result<Emitted> emitted = emit(module, chip);
  if (!emitted.ok())
    return emitted.status();
  return runtime::Bundle::create(std::move(emitted->plan),
                                 std::move(emitted->ptx));
}

} // namespace blockscale

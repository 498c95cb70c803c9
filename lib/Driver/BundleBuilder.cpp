//===- BundleBuilder.cpp - Bundles of lowered modules ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleBuilder.h"

#include "blockscale/Emit/LaunchPlan.h"
#include "blockscale/Emit/Ptx.h"
#include "blockscale/Emit/Ptxas.h"

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
  /// Their machine code; may be empty.
  std::string cubin;
};

} // namespace

static Result<Emitted> emit(ModuleOp module, StringRef chip, StringRef ptxas) {
  // Before the PTX, which takes the place of the kernels.
  FailureOr<runtime::LaunchPlan> plan = emitLaunchPlan(module, chip);
  if (failed(plan))
    return Status::failure("no launch plan could be made of the module",
                           ErrorKind::Compilation);
  Emitted emitted{std::move(*plan), "", ""};
  if (module.getOps<gpu::GPUModuleOp>().empty())
    return emitted;
  FailureOr<std::string> ptx = emitPtx(module);
  if (failed(ptx))
    return Status::failure("no PTX could be emitted for the module",
                           ErrorKind::Compilation);
  emitted.ptx = std::move(*ptx);
  if (ptxas.empty())
    return emitted;
  llvm::Expected<Assembly> assembly = assemblePtx(ptxas, emitted.ptx, chip);
  if (!assembly)
    return Status::failure(llvm::toString(assembly.takeError()),
                           ErrorKind::Compilation);
  emitted.cubin = std::move(assembly->cubin);
  return emitted;
}

Status addTarget(runtime::BundleContent &content, ModuleOp module,
                 StringRef chip, StringRef ptxas) {
  Result<Emitted> emitted = emit(module, chip, ptxas);
  if (!emitted.ok())
    return emitted.status();
  content.targets.push_back(
      {runtime::writeLaunchPlan(emitted->plan, &content.constants),
       std::move(emitted->ptx), std::move(emitted->cubin)});
  return Status::success();
}

Result<std::shared_ptr<const runtime::Bundle>>
buildBundle(ModuleOp module, const std::string &entry,
            const ToGPUOptions &options, StringRef ptxas,
            CompileObserver &observer) {
  const std::string &chip = options.chip;
  Status status =
      lowerEntry(module, entry, getToGPUStages(options), chip, observer);
  if (!status.ok())
    return status;
  Result<Emitted> emitted = emit(module, chip, ptxas);
  if (!emitted.ok())
    return emitted.status();
  return runtime::Bundle::create(std::move(emitted->plan),
                                 std::move(emitted->ptx), emitted->cubin);
}

SavedFunction saveBundle(const runtime::Bundle &bundle,
                         const Signature &signature) {
  const runtime::Bundle::Target &target = bundle.getTargets().front();
  runtime::BundleContent content;
  content.targets.push_back(
      {runtime::writeLaunchPlan(target.plan, &content.constants),
       std::string(target.ptx), std::string(target.cubin)});
  return {target.plan.chip, {}, signature, "", runtime::writeBundle(content)};
}

Result<std::shared_ptr<const runtime::Bundle>>
loadBundle(SavedFunction &saved) {
  Result<std::shared_ptr<const runtime::Bundle>> bundle =
      runtime::Bundle::parse(std::move(saved.code));
  if (!bundle.ok())
    return bundle;
  auto fail = [](const std::string &message) {
    return Status::failure(message, ErrorKind::InvalidBundle);
  };
  if ((*bundle)->getTargets().size() != 1)
    return fail("expected a saved function to have one target, but got " +
                std::to_string((*bundle)->getTargets().size()));
  const runtime::LaunchPlan &plan = (*bundle)->getTargets().front().plan;
  if (plan.chip != saved.target)
    return fail("expected a saved function to have kernels for " +
                saved.target + ", but got some for " + plan.chip);
  Result<const runtime::PlanFunction *> function =
      plan.find(saved.signature.name);
  if (!function.ok())
    return fail(function.message());
  using Role = runtime::PlanBuffer::Role;
  if ((*function)->getBuffers(Role::Argument).size() !=
          saved.signature.arguments.size() ||
      (*function)->getBuffers(Role::Result).size() !=
          saved.signature.results.size())
    return fail("expected a saved function to have the arguments and results "
                "of its plan, but got others");
  return bundle;
}

Signature addReuse(Signature signature, const runtime::PlanFunction &function) {
  using Role = runtime::PlanBuffer::Role;
  for (auto [i, slot] : llvm::zip_equal(function.getBuffers(Role::Argument),
                                        signature.arguments))
    slot.isWritable = function.buffers[i].isWritable;
  for (auto [i, slot] :
       llvm::zip_equal(function.getBuffers(Role::Result), signature.results))
    slot.argument = function.buffers[i].argument;
  return signature;
}

} // namespace blockscale

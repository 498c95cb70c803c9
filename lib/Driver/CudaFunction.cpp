//===- CudaFunction.cpp - A function on a GPU -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleBuilder.h"
#include "Functions.h"

#include "blockscale/Runtime/CudaRun.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Result;
using blockscale::runtime::Status;
using Role = blockscale::runtime::PlanBuffer::Role;

namespace blockscale {

namespace {

/// Kernels that a driver has loaded, and a launch plan.
class CudaFunction : public Executable {
public:
  CudaFunction(Signature signature,
               std::shared_ptr<const runtime::Bundle> bundle,
               std::shared_ptr<const runtime::CudaModule> loaded,
               const runtime::PlanFunction &function)
      : Executable(std::move(signature)), bundle(std::move(bundle)),
        loaded(std::move(loaded)), function(function) {}

  Result<SavedFunction> save() const override {
    return saveBundle(*bundle, getSignature());
  }
  std::string getTarget() const override { return loaded->getPlan().chip; }

  bool isInHostMemory() const override { return false; }
  bool reducesOverRanks() const override { return function.reducesOverRanks(); }
  Result<Shapes>
  getResultShapes(const std::vector<ArrayView> &arguments) override;
  Result<uint64_t>
  getWorkspaceBytes(const std::vector<ArrayView> &arguments) override;
  Status call(const std::vector<ArrayView> &arguments,
              const std::vector<ArrayView> &results, const CallOptions &options,
              CallReport &report) override;
  Result<std::vector<NpyArray>> run(std::vector<NpyArray> &arguments,
                                    int repeat, const CallOptions &options,
                                    CallReport &report) override;

private:
  std::shared_ptr<const runtime::Bundle> bundle;
  std::shared_ptr<const runtime::CudaModule> loaded;
  const runtime::PlanFunction &function;
};

} // namespace

const target::Chip *chooseChip(runtime::ComputeCapability capability) {
  std::string list = target::listChips();
  SmallVector<StringRef> names;
  StringRef(list).split(names, ", ");
  std::vector<std::string_view> chips(names.begin(), names.end());
  std::optional<size_t> chosen = runtime::chooseChip(chips, capability);
  return chosen ? target::findChip(chips[*chosen]) : nullptr;
}

/// The target that suits the GPU best.
static Result<std::string> chooseTarget(const runtime::CudaContext &context) {
  const target::Chip *chip = chooseChip(context.getCapability());
  if (!chip)
    return Status::failure("expected a GPU that one of " + target::listChips() +
                           " suits, but got " + context.describe());
  return std::string(chip->name);
}

Result<std::string> chooseChip(int gpu) {
  Result<std::shared_ptr<const runtime::CudaContext>> context =
      runtime::CudaContext::open(gpu);
  return context.ok() ? chooseTarget(**context)
                      : Result<std::string>(context.status());
}

Result<Shapes>
CudaFunction::getResultShapes(const std::vector<ArrayView> &arguments) {
  return blockscale::getResultShapes(loaded->getPlan(), function, arguments);
}

Result<uint64_t>
CudaFunction::getWorkspaceBytes(const std::vector<ArrayView> &arguments) {
  Result<runtime::ResolvedFunction> resolved = runtime::resolve(
      loaded->getPlan(), function, getPlanArguments(arguments));
  if (!resolved.ok())
    return resolved.status();
  return runtime::getWorkspaceBytes(*resolved);
}

/// Puts the addresses of arrays at the places of a role's buffers.
static void setAddresses(const runtime::PlanFunction &function, Role role,
                         const std::vector<ArrayView> &arrays,
                         runtime::BufferAddresses &addresses) {
  for (auto [i, array] : llvm::zip_equal(function.getBuffers(role), arrays))
    addresses[i] = reinterpret_cast<uint64_t>(array.data);
}

Status CudaFunction::call(const std::vector<ArrayView> &arguments,
                          const std::vector<ArrayView> &results,
                          const CallOptions &options, CallReport &) {
  Result<runtime::ResolvedFunction> resolved = runtime::resolve(
      loaded->getPlan(), function, getPlanArguments(arguments));
  if (!resolved.ok())
    return resolved.status();
  runtime::BufferAddresses addresses = loaded->getConstants(function);
  setAddresses(function, Role::Argument, arguments, addresses);
  setAddresses(function, Role::Result, results, addresses);
  if (options.workspace) {
    auto [address, bytes] = *options.workspace;
    Status placed =
        runtime::placeWorkspaces(*resolved, address, bytes, addresses);
    return placed.ok() ? loaded->launch(*resolved, addresses, options.stream,
                                        options.overRanks)
                       : placed;
  }
  const runtime::CudaContext &context = loaded->getContext();
  Result<uint64_t> workspace =
      context.allocate(runtime::getWorkspaceBytes(*resolved), "the workspaces");
  if (!workspace.ok())
    return workspace.status();
  runtime::placeWorkspaces(*resolved, *workspace, addresses);
  Status status =
      loaded->launch(*resolved, addresses, options.stream, options.overRanks);
  // What was launched may use the memory, also where a later step failed.
  Status waited = context.synchronize(options.stream);
  context.release(*workspace);
  if (!status.ok() || !waited.ok())
    return status.ok() ? waited : status;
  return context.takeError(/*mayCopy=*/true);
}

Result<std::vector<NpyArray>>
CudaFunction::run(std::vector<NpyArray> &arguments, int repeat,
                  const CallOptions &options, CallReport &report) {
  runtime::CudaTimes times;
  Result<std::vector<NpyArray>> results = runtime::runOnCuda(
      *loaded, function, arguments, repeat, options.overRanks, times);
  report.seconds = times.fastest;
  return results;
}

static Result<std::unique_ptr<Executable>>
create(const std::shared_ptr<const runtime::Bundle> &bundle,
       const std::shared_ptr<const runtime::CudaContext> &context,
       const Signature &signature) {
  Result<std::shared_ptr<const runtime::CudaModule>> loaded =
      runtime::CudaModule::load(bundle, context);
  if (!loaded.ok())
    return loaded.status();
  Result<const runtime::PlanFunction *> function =
      (*loaded)->getPlan().find(signature.name);
  if (!function.ok())
    return function.status();
  return std::unique_ptr<Executable>(std::make_unique<CudaFunction>(
      addReuse(signature, **function), bundle, *loaded, **function));
}

Result<std::unique_ptr<Executable>>
createCudaFunction(ModuleOp module, const Signature &signature,
                   ToGPUOptions &options, int gpu, const std::string &ptxas,
                   CompileObserver &observer) {
  // Before the work: that there is no GPU is told at once.
  Result<std::shared_ptr<const runtime::CudaContext>> context =
      runtime::CudaContext::open(gpu);
  if (!context.ok())
    return context.status();
  if (options.chip.empty()) {
    Result<std::string> target = chooseTarget(**context);
    if (!target.ok())
      return target.status();
    options.chip = *target;
  }
  Result<std::shared_ptr<const runtime::Bundle>> bundle =
      buildBundle(module, signature.name, options, ptxas, observer);
  if (!bundle.ok())
    return bundle.status();
  return create(*bundle, *context, signature);
}

Result<std::unique_ptr<Executable>> loadCudaFunction(SavedFunction saved,
                                                     int gpu) {
  Result<std::shared_ptr<const runtime::CudaContext>> context =
      runtime::CudaContext::open(gpu);
  if (!context.ok())
    return context.status();
  Result<std::shared_ptr<const runtime::Bundle>> bundle = loadBundle(saved);
  if (!bundle.ok())
    return bundle.status();
  return create(*bundle, *context, saved.signature);
}

} // namespace blockscale

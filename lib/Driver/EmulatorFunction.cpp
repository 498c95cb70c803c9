//===- EmulatorFunction.cpp - A function on an emulated GPU ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BundleBuilder.h"
#include "Functions.h"

#include "llvm/Support/raw_ostream.h"

#include <chrono>

using namespace mlir;
using blockscale::runtime::PlanArgument;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

namespace {

/// PTX and a launch plan, executed in this process.
class EmulatorFunction : public Executable {
public:
  EmulatorFunction(Signature signature,
                   std::shared_ptr<const runtime::Bundle> bundle,
                   const runtime::PlanFunction &function)
      : Executable(std::move(signature)), bundle(std::move(bundle)),
        function(function) {}

  Result<SavedFunction> save() const override {
    return saveBundle(*bundle, getSignature());
  }
  std::string getTarget() const override { return getChipTarget().plan.chip; }
  bool reducesOverRanks() const override { return function.reducesOverRanks(); }
  Result<Shapes>
  getResultShapes(const std::vector<ArrayView> &arguments) override;
  Status call(const std::vector<ArrayView> &arguments,
              const std::vector<ArrayView> &results, const CallOptions &options,
              CallReport &report) override;

private:
  /// The steps on a new device.
  Status call(const std::vector<ArrayView> &arguments,
              const std::vector<ArrayView> &results,
              const runtime::RankFunction &overRanks, EmulatorDevice &device,
              double &seconds) const;
  const runtime::Bundle::Target &getChipTarget() const {
    return bundle->getTargets().front();
  }

  std::shared_ptr<const runtime::Bundle> bundle;
  const runtime::PlanFunction &function;
};

/// Tells an observer of the kernels.
class WatchedDevice : public EmulatorDevice {
public:
  explicit WatchedDevice(const CallOptions &options)
      : EmulatorDevice(options.emulator), observer(options.observer) {}

  Status launch(const runtime::DeviceLaunch &launch) override {
    Status status = observer
                        ? observer->begin(*launch.kernel, number++, /*count=*/0)
                        : Status::success();
    return status.ok() ? EmulatorDevice::launch(launch) : status;
  }

private:
  CompileObserver *observer;
  size_t number = 0;
};

} // namespace

Result<Shapes>
EmulatorFunction::getResultShapes(const std::vector<ArrayView> &arguments) {
  return blockscale::getResultShapes(getChipTarget().plan, function, arguments);
}

Status EmulatorFunction::call(const std::vector<ArrayView> &arguments,
                              const std::vector<ArrayView> &results,
                              const runtime::RankFunction &overRanks,
                              EmulatorDevice &device, double &seconds) const {
  std::vector<PlanArgument> planned = getPlanArguments(arguments);
  Result<runtime::ResolvedFunction> resolved =
      runtime::resolve(getChipTarget().plan, function, planned);
  if (!resolved.ok())
    return resolved.status();
  if (!getChipTarget().ptx.empty())
    if (llvm::Error error = device.load(getChipTarget().ptx))
      return Status::failure("PTX:" + llvm::toString(std::move(error)));
  Result<runtime::BufferAddresses> addresses =
      runtime::allocateBuffers(*resolved, planned, device);
  if (!addresses.ok())
    return addresses.status();
  auto start = std::chrono::steady_clock::now();
  Status status = runtime::runSteps(*resolved, *addresses, device, overRanks);
  seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (status.ok())
    status = device.findError();
  std::vector<size_t> numbers =
      function.getBuffers(runtime::PlanBuffer::Role::Result);
  for (auto [i, result] : llvm::zip_equal(numbers, results))
    if (status.ok())
      status = device.download(result.data, (*addresses)[i], result.bytes);
  return status;
}

Status EmulatorFunction::call(const std::vector<ArrayView> &arguments,
                              const std::vector<ArrayView> &results,
                              const CallOptions &options, CallReport &report) {
  WatchedDevice device(options);
  Status status =
      call(arguments, results, options.overRanks, device, report.seconds);
  if (!device.getReport().empty()) {
    llvm::raw_string_ostream os(report.findings);
    device.getReport().print(os);
  }
  report.profiles = device.getProfiles();
  return status;
}

static Result<std::unique_ptr<Executable>>
create(std::shared_ptr<const runtime::Bundle> bundle,
       const Signature &signature) {
  Result<const runtime::PlanFunction *> function =
      bundle->getTargets().front().plan.find(signature.name);
  if (!function.ok())
    return function.status();
  return std::unique_ptr<Executable>(std::make_unique<EmulatorFunction>(
      addReuse(signature, **function), std::move(bundle), **function));
}

Result<std::unique_ptr<Executable>>
createEmulatorFunction(ModuleOp module, const Signature &signature,
                       const ToGPUOptions &options, const std::string &ptxas,
                       CompileObserver &observer) {
  Result<std::shared_ptr<const runtime::Bundle>> bundle =
      buildBundle(module, signature.name, options, ptxas, observer);
  return bundle.ok() ? create(*bundle, signature) : bundle.status();
}

Result<std::unique_ptr<Executable>> loadEmulatorFunction(SavedFunction saved) {
  Result<std::shared_ptr<const runtime::Bundle>> bundle = loadBundle(saved);
  if (!bundle.ok())
    return bundle.status();
  return create(*bundle, saved.signature);
}

} // namespace blockscale

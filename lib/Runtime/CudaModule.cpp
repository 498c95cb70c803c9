//===- CudaModule.cpp - A bundle on a GPU ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/CudaModule.h"

#include "CudaDriver.h"
#include "CudaSteps.h"
#include "PlanReader.h"

#include <algorithm>

using namespace blockscale::runtime;

Result<std::shared_ptr<const CudaModule>>
CudaModule::load(std::shared_ptr<const Bundle> bundle,
                 std::shared_ptr<const CudaContext> context) {
  std::vector<std::string_view> chips = bundle->getChips();
  std::optional<size_t> target = chooseChip(chips, context->getCapability());
  if (!target)
    return Status::failure(
        "expected a bundle with kernels that " + context->describe() +
            " runs, but got " +
            (chips.empty() ? "none" : "kernels for " + joinNames(chips)),
        ErrorKind::WrongChip);
  std::shared_ptr<CudaModule> module(
      new CudaModule(std::move(bundle), std::move(context), *target));
  CudaContext::Scope scope(*module->context);
  Status status = scope.getStatus();
  if (status.ok())
    status = module->compile();
  for (size_t i = 0; i < module->getPlan().kernels.size() && status.ok(); ++i)
    status = module->loadKernel(i);
  if (status.ok() && module->module)
    status = module->context->connectErrors(module->module);
  if (status.ok())
    status = module->uploadConstants();
  if (!status.ok())
    return status;
  return std::shared_ptr<const CudaModule>(std::move(module));
}

CudaModule::~CudaModule() {
  for (auto [data, address] : constants)
    context->release(address);
  CudaContext::Scope scope(*context);
  if (module)
    context->getDriver().cuModuleUnload(module);
}

/// Machine code spares the driver its compiler. Where it is for another GPU or
/// of a newer version than the driver knows, there is still the PTX.
bool CudaModule::loadCubin() {
  std::string_view cubin = bundle->getTargets()[target].cubin;
  if (cubin.empty())
    return false;
  int result = context->getDriver().cuModuleLoadDataEx(&module, cubin.data(), 0,
                                                       nullptr, nullptr);
  if (result != kCudaSuccess)
    module = nullptr;
  return result == kCudaSuccess;
}

Status CudaModule::compile() {
  std::string_view ptx = bundle->getTargets()[target].ptx;
  if (ptx.empty() || loadCubin())
    return Status::success();
  // Long enough for the first few errors, which are what matters.
  char log[4096] = "";
  int options[] = {kCudaErrorLog, kCudaErrorLogBytes};
  // Numbers are passed in the place of pointers.
  void *size = reinterpret_cast<void *>(sizeof(log)); // NOLINT
  void *values[] = {log, size};
  int result = context->getDriver().cuModuleLoadDataEx(&module, ptx.data(), 2,
                                                       options, values);
  if (result == kCudaSuccess)
    return Status::success();
  module = nullptr;
  log[sizeof(log) - 1] = 0;
  return describeFailure(result, log);
}

Status CudaModule::describeFailure(int result, const std::string &log) const {
  const CudaDriver &driver = context->getDriver();
  const Bundle::Target &loaded = bundle->getTargets()[target];
  if (result == kCudaUnsupportedPtxVersion)
    return Status::failure(
        "expected a driver that knows version " + loaded.ptxVersion +
            " of PTX, which the kernels for " + loaded.plan.chip +
            " are written in, but got one of " + driver.formatVersion(),
        ErrorKind::DriverTooOld);
  std::string what = "cannot load the kernels for " + loaded.plan.chip +
                     " on " + context->describe() + ": cuModuleLoadDataEx";
  Status status = driver.check(result, what);
  size_t end = log.find_last_not_of(" \n");
  if (end == std::string::npos)
    return status;
  return Status::failure(status.message() + ":\n" + log.substr(0, end + 1),
                         status.kind());
}

/// Whether some launch of the kernel does what `uses` says.
template <typename Predicate>
static bool anyLaunch(const LaunchPlan &plan, size_t kernel, Predicate uses) {
  bool found = false;
  for (const PlanFunction &function : plan.functions)
    visitSteps(function.steps, [&](const PlanStep &step) {
      found |=
          step.launch && step.launch->kernel == kernel && uses(*step.launch);
    });
  return found;
}

static bool usesSharedMemory(const LaunchPlan &plan, size_t kernel) {
  return anyLaunch(plan, kernel, [](const PlanLaunch &launch) {
    return launch.sharedBytes.getText() != "0";
  });
}

static bool usesClusters(const LaunchPlan &plan, size_t kernel) {
  return anyLaunch(plan, kernel, [](const PlanLaunch &launch) {
    for (const Expression &size : launch.cluster)
      if (size.getText() != "1")
        return true;
    return false;
  });
}

Status CudaModule::loadKernel(size_t number) {
  const CudaDriver &driver = context->getDriver();
  const std::string &name = getPlan().kernels[number].name;
  void *kernel = nullptr;
  int result = driver.cuModuleGetFunction(&kernel, module, name.c_str());
  if (result == kCudaNotFound)
    return Status::failure("expected the PTX for " + getPlan().chip +
                               " to have the kernel " + name +
                               ", but it has not",
                           ErrorKind::InvalidBundle);
  Status status = driver.check(result, "cuModuleGetFunction of " + name);
  // Where the driver loads lazily, asking for an attribute loads the kernel: a
  // first launch may be one that is captured, when it could not be.
  int used = 0;
  if (status.ok())
    status = driver.check(
        driver.cuFuncGetAttribute(&used, kCudaStaticSharedBytes, kernel),
        "cuFuncGetAttribute of " + name);
  if (status.ok() && usesSharedMemory(getPlan(), number))
    status = driver.check(
        driver.cuFuncSetAttribute(kernel, kCudaMaxDynamicSharedBytes,
                                  context->getMaxSharedBytes() - used),
        "cuFuncSetAttribute of " + name);
  if (status.ok() && usesClusters(getPlan(), number))
    status =
        driver.check(driver.cuFuncSetAttribute(kernel, kCudaAnyClusterSize, 1),
                     "cuFuncSetAttribute of " + name);
  kernels[name] = kernel;
  return status;
}

Status CudaModule::uploadConstants() {
  for (const PlanFunction &function : getPlan().functions) {
    for (size_t i : function.getBuffers(PlanBuffer::Role::Constant)) {
      const PlanBuffer &buffer = function.buffers[i];
      uint64_t size = buffer.getDataSize();
      if (size == 0 || constants.count(buffer.getData()))
        continue;
      Result<uint64_t> address = context->allocate(size, buffer.name);
      if (!address.ok())
        return address.status();
      constants[buffer.getData()] = *address;
      Status status = context->upload(*address, buffer.getData(), size);
      if (!status.ok())
        return status;
    }
  }
  return Status::success();
}

BufferAddresses CudaModule::getConstants(const PlanFunction &function) const {
  BufferAddresses addresses(function.buffers.size());
  for (size_t i : function.getBuffers(PlanBuffer::Role::Constant))
    if (auto found = constants.find(function.buffers[i].getData());
        found != constants.end())
      addresses[i] = found->second;
  return addresses;
}

void *CudaModule::getKernel(const std::string &name) const {
  auto found = kernels.find(name);
  return found == kernels.end() ? nullptr : found->second;
}

Status CudaModule::launch(const ResolvedFunction &function,
                          const BufferAddresses &addresses, void *stream,
                          const RankFunction &overRanks) const {
  Status earlier = context->takeError(/*mayCopy=*/false);
  if (!earlier.ok())
    return earlier;
  CudaContext::Scope scope(*context);
  if (!scope.getStatus().ok())
    return scope.getStatus();
  CudaSteps device(*this, stream);
  return runSteps(function, addresses, device, overRanks);
}

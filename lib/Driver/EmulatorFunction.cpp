//===- EmulatorFunction.cpp - A function on an emulated GPU ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/EmulatorFunction.h"

#include "BundleBuilder.h"

#include <chrono>

using namespace mlir;
using blockscale::runtime::PlanArgument;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

Result<std::unique_ptr<EmulatorFunction>>
EmulatorFunction::create(ModuleOp module, const std::string &entry,
                         const std::string &chip, bool fuse,
                         CompileObserver &observer) {
  Result<std::shared_ptr<const runtime::Bundle>> bundle =
      buildBundle(module, entry, chip, fuse, observer);
  if (!bundle.ok())
    return bundle.status();
  std::unique_ptr<EmulatorFunction> result(new EmulatorFunction());
  result->bundle = *bundle;
  Result<const runtime::PlanFunction *> function =
      result->getTarget().plan.find(entry);
  if (!function.ok())
    return function.status();
  result->function = *function;
  return result;
}

Result<Shapes> EmulatorFunction::getResultShapes(
    const std::vector<ArrayView> &arguments) const {
  return blockscale::getResultShapes(getTarget().plan, *function, arguments);
}

Status EmulatorFunction::call(const std::vector<ArrayView> &arguments,
                              const std::vector<ArrayView> &results,
                              EmulatorDevice &device, double &seconds) const {
  std::vector<PlanArgument> planned = getPlanArguments(arguments);
  Result<runtime::ResolvedFunction> resolved =
      runtime::resolve(getTarget().plan, *function, planned);
  if (!resolved.ok())
    return resolved.status();
  if (!getTarget().ptx.empty())
    if (llvm::Error error = device.load(getTarget().ptx))
      return Status::failure("PTX:" + llvm::toString(std::move(error)));
  Result<runtime::BufferAddresses> addresses =
      runtime::allocateBuffers(*resolved, planned, device);
  if (!addresses.ok())
    return addresses.status();
  auto start = std::chrono::steady_clock::now();
  Status status = runtime::runSteps(*resolved, *addresses, device);
  seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  std::vector<size_t> numbers =
      function->getBuffers(runtime::PlanBuffer::Role::Result);
  for (auto [i, result] : llvm::zip_equal(numbers, results))
    if (status.ok())
      status = device.download(result.data, (*addresses)[i], result.bytes);
  return status;
}

} // namespace blockscale

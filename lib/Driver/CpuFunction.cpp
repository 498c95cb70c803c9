//===- CpuFunction.cpp - A function compiled for this CPU -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Functions.h"

#include "blockscale/Emit/Jit.h"
#include "blockscale/Runtime/HostRuntime.h"

#include "llvm/Support/Error.h"

#include <chrono>
#include <mutex>

using namespace mlir;
using blockscale::runtime::ErrorKind;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

namespace {

/// Code of this CPU in this process. Calls of a process run one after the
/// other, each on all threads of the pool.
class CpuFunction : public Executable {
public:
  CpuFunction(Signature signature, Jit jit)
      : Executable(std::move(signature)), jit(std::move(jit)) {}

  Result<Shapes>
  getResultShapes(const std::vector<ArrayView> &arguments) override;
  Status call(const std::vector<ArrayView> &arguments,
              const std::vector<ArrayView> &results, const CallOptions &options,
              CallReport &report) override;

private:
  Jit jit;
};

} // namespace

/// Argument pointers of a packed call, in order.
static std::vector<void *> pack(const Signature &signature,
                                const std::vector<ArrayView> &arguments,
                                std::vector<MemrefDescriptor> &descriptors) {
  for (auto [slot, array] : llvm::zip_equal(signature.arguments, arguments))
    if (!slot.isScalar)
      descriptors.emplace_back(array.data, array.shape);
  std::vector<void *> packed;
  auto descriptor = descriptors.begin();
  for (auto [slot, array] : llvm::zip_equal(signature.arguments, arguments))
    packed.push_back(slot.isScalar ? array.data
                                   : (descriptor++)->getArgument());
  return packed;
}

/// One at a time: what compiled code reports is the process's.
static Status callJit(Jit &jit, const std::string &function,
                      std::vector<void *> &packed) {
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  llvm::Error error = jit.call(function, packed);
  std::optional<std::string> reported = runtime::takeReportedError();
  if (error)
    return Status::failure(llvm::toString(std::move(error)),
                           ErrorKind::Compilation);
  return reported ? Status::failure(*reported) : Status::success();
}

Result<Shapes>
CpuFunction::getResultShapes(const std::vector<ArrayView> &arguments) {
  Shapes shapes;
  shapes.reserve(getSignature().results.size());
  for (const Slot &slot : getSignature().results)
    shapes.push_back(slot.shape);
  std::vector<int64_t *> unknown;
  for (std::vector<int64_t> &shape : shapes)
    for (int64_t &size : shape)
      if (ShapedType::isDynamic(size))
        unknown.push_back(&size);
  if (unknown.empty())
    return shapes;
  std::vector<MemrefDescriptor> descriptors;
  descriptors.reserve(arguments.size() + 1);
  std::vector<void *> packed = pack(getSignature(), arguments, descriptors);
  std::vector<int64_t> sizes(unknown.size());
  descriptors.emplace_back(
      sizes.data(), std::vector<int64_t>{static_cast<int64_t>(sizes.size())});
  packed.push_back(descriptors.back().getArgument());
  Status called = callJit(jit, getSignature().name + "__result_sizes", packed);
  if (!called.ok())
    return called;
  for (auto [target, size] : llvm::zip_equal(unknown, sizes))
    *target = size;
  return shapes;
}

Status CpuFunction::call(const std::vector<ArrayView> &arguments,
                         const std::vector<ArrayView> &results,
                         const CallOptions &, CallReport &report) {
  auto start = std::chrono::steady_clock::now();
  std::vector<MemrefDescriptor> descriptors;
  descriptors.reserve(arguments.size() + results.size());
  std::vector<void *> packed = pack(getSignature(), arguments, descriptors);
  for (const ArrayView &result : results) {
    descriptors.emplace_back(result.data, result.shape);
    packed.push_back(descriptors.back().getArgument());
  }
  Status status = callJit(jit, getSignature().name, packed);
  std::chrono::duration<double> elapsed =
      std::chrono::steady_clock::now() - start;
  report.seconds = elapsed.count();
  return status;
}

Result<std::unique_ptr<Executable>>
createCpuFunction(ModuleOp module, const Signature &signature, bool optimize,
                  CompileObserver &observer) {
  Status lowered =
      lowerEntry(module, signature.name, getToCPUStages(ToCPUOptions()),
                 "the CPU", observer);
  if (!lowered.ok())
    return lowered;
  HostTarget target;
  target.cpu = "host";
  target.optimize = optimize;
  auto jit = Jit::create(module,
                         {{"blockscale_parallel_for",
                           reinterpret_cast<void *>(&blockscale_parallel_for)},
                          {"blockscale_report_error",
                           reinterpret_cast<void *>(&blockscale_report_error)}},
                         target);
  if (!jit)
    return Status::failure(llvm::toString(jit.takeError()),
                           ErrorKind::Compilation);
  return std::unique_ptr<Executable>(
      std::make_unique<CpuFunction>(signature, std::move(*jit)));
}

} // namespace blockscale

//===- ExecuteOnEmulator.cpp - Compile for a GPU, emulate -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecuteOnEmulator.h"

#include "EmulatorDevice.h"
#include "Execute.h"

#include "blockscale/Emit/LaunchPlan.h"
#include "blockscale/Emit/Ptx.h"
#include "blockscale/Pipelines/Pipelines.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <chrono>

using namespace mlir;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Status;

namespace blockscale::run {

namespace {
struct Program {
  /// Empty where the entry needs no kernel.
  std::string ptx;
  std::string plan;
};
} // namespace

static runtime::Result<Program> compile(ModuleOp module,
                                        const std::string &entry,
                                        const std::string &chip, bool fuse) {
  Status lowered = lowerEntry(module, entry, getStagesOfChip(chip, fuse), chip);
  if (!lowered.ok())
    return lowered;
  Program program;
  // Before the PTX, which takes the place of the kernels.
  FailureOr<std::string> plan = emitLaunchPlan(module, chip);
  if (failed(plan))
    return Status::failure("no launch plan could be made of the module");
  program.plan = std::move(*plan);
  if (module.getOps<gpu::GPUModuleOp>().empty())
    return program;
  FailureOr<std::string> ptx = emitPtx(module);
  if (failed(ptx))
    return Status::failure("no PTX could be emitted for the module");
  program.ptx = std::move(*ptx);
  return program;
}

static runtime::Result<std::vector<NpyArray>>
download(const runtime::ResolvedFunction &function,
         const runtime::BufferAddresses &addresses, EmulatorDevice &device) {
  std::vector<NpyArray> results;
  for (size_t i :
       function.function->getBuffers(runtime::PlanBuffer::Role::Result)) {
    runtime::Result<NpyArray> array = NpyArray::allocate(
        function.function->buffers[i].dtype, function.buffers[i].shape);
    if (!array.ok())
      return array.status();
    Status status =
        device.download(array->data.data(), addresses[i], array->data.size());
    if (!status.ok())
      return status;
    results.push_back(std::move(*array));
  }
  return results;
}

static runtime::Result<std::vector<NpyArray>>
execute(const Program &program, const std::string &entry,
        const std::vector<runtime::PlanArgument> &arguments,
        EmulatorDevice &device, double &seconds) {
  runtime::Result<runtime::LaunchPlan> plan =
      runtime::parseLaunchPlan(program.plan);
  if (!plan.ok())
    return Status::failure("launch plan:" + plan.message());
  runtime::Result<const runtime::PlanFunction *> function = plan->find(entry);
  if (!function.ok())
    return function.status();
  runtime::Result<runtime::ResolvedFunction> resolved =
      runtime::resolve(*plan, **function, arguments);
  if (!resolved.ok())
    return resolved.status();
  if (!program.ptx.empty())
    if (llvm::Error error = device.load(program.ptx))
      return Status::failure("PTX:" + llvm::toString(std::move(error)));
  runtime::Result<runtime::BufferAddresses> addresses =
      runtime::allocateBuffers(*resolved, arguments, device);
  if (!addresses.ok())
    return addresses.status();
  auto start = std::chrono::steady_clock::now();
  Status ran = runtime::runSteps(*resolved, *addresses, device);
  seconds =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start)
          .count();
  if (!ran.ok())
    return ran;
  return download(*resolved, *addresses, device);
}

/// A line for each launch.
static void printProfiles(const EmulatorDevice &device, raw_ostream &os) {
  constexpr auto global = static_cast<size_t>(emulator::StateSpace::Global);
  for (const auto &[kernel, profile] : device.getProfiles())
    os << kernel << ": " << profile.bytesRead[global]
       << " bytes of .global read in " << profile.sectorsRead << " sectors, "
       << profile.bytesWritten[global] << " written in "
       << profile.sectorsWritten << " sectors\n";
}

runtime::Result<std::vector<NpyArray>>
executeOnEmulator(ModuleOp module, const Signature &signature,
                  const std::vector<NpyArray> &arguments,
                  const std::string &chip, bool fuse,
                  const emulator::RunOptions &options, double &seconds) {
  runtime::Result<Program> program =
      compile(module, signature.name, chip, fuse);
  if (!program.ok())
    return program.status();
  std::vector<runtime::PlanArgument> planned;
  for (const NpyArray &array : arguments)
    planned.push_back({array.type, array.shape, array.data.data()});
  EmulatorDevice device(options);
  runtime::Result<std::vector<NpyArray>> results =
      execute(*program, signature.name, planned, device, seconds);
  device.getReport().print(llvm::errs());
  if (options.profile)
    printProfiles(device, llvm::outs());
  return results;
}

} // namespace blockscale::run

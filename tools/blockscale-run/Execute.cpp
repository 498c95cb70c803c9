//===- Execute.cpp - Compile an entry and call it -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Execute.h"

#include "blockscale/Driver/CpuFunction.h"
#include "blockscale/Driver/CudaFunction.h"
#include "blockscale/Driver/EmulatorFunction.h"
#include "blockscale/Runtime/CudaRun.h"

#include <algorithm>
#include <chrono>
#include <limits>

using namespace mlir;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale::run {

/// Arrays for what `function` gives of the arguments.
template <typename Function>
static Results allocateResults(Function &function, const Signature &signature,
                               const std::vector<ArrayView> &arguments) {
  Result<Shapes> shapes = function.getResultShapes(arguments);
  if (!shapes.ok())
    return shapes.status();
  std::vector<NpyArray> results;
  results.reserve(shapes->size());
  for (auto [slot, shape] : llvm::zip_equal(signature.results, *shapes)) {
    Result<NpyArray> array = NpyArray::allocate(slot.type, shape);
    if (!array.ok())
      return array.status();
    results.push_back(std::move(*array));
  }
  return results;
}

Results executeOnCPU(ModuleOp module, const Signature &signature,
                     std::vector<NpyArray> &arguments, int repeat,
                     double &seconds) {
  CompileObserver observer;
  Result<std::unique_ptr<CpuFunction>> function =
      CpuFunction::create(module, signature, observer);
  if (!function.ok())
    return function.status();
  std::vector<ArrayView> views = getViews(arguments);
  Results results = allocateResults(**function, signature, views);
  if (!results.ok())
    return results;
  seconds = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeat; ++i) {
    auto start = std::chrono::steady_clock::now();
    Status called = (*function)->call(views, getViews(*results));
    std::chrono::duration<double> elapsed =
        std::chrono::steady_clock::now() - start;
    if (!called.ok())
      return called;
    seconds = std::min(seconds, elapsed.count());
  }
  return results;
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

Results executeOnEmulator(ModuleOp module, const Signature &signature,
                          std::vector<NpyArray> &arguments,
                          const std::string &chip, bool fuse,
                          const emulator::RunOptions &options,
                          double &seconds) {
  CompileObserver observer;
  Result<std::unique_ptr<EmulatorFunction>> function =
      EmulatorFunction::create(module, signature.name, chip, fuse, observer);
  if (!function.ok())
    return function.status();
  std::vector<ArrayView> views = getViews(arguments);
  Results results = allocateResults(**function, signature, views);
  if (!results.ok())
    return results;
  EmulatorDevice device(options);
  Status called = (*function)->call(views, getViews(*results), device, seconds);
  device.getReport().print(llvm::errs());
  if (options.profile)
    printProfiles(device, llvm::outs());
  return called.ok() ? std::move(results) : called;
}

Results executeOnCuda(ModuleOp module, const Signature &signature,
                      const std::vector<NpyArray> &arguments,
                      const std::string &chip, bool fuse, int gpu, int repeat,
                      double &seconds) {
  CompileObserver observer;
  Result<std::unique_ptr<CudaFunction>> function =
      CudaFunction::create(module, signature.name, chip, fuse, gpu, observer);
  if (!function.ok())
    return function.status();
  runtime::CudaTimes times;
  Results results =
      runtime::runOnCuda((*function)->getModule(), (*function)->getFunction(),
                         arguments, repeat, times);
  seconds = times.fastest;
  return results;
}

} // namespace blockscale::run

//===- Executable.cpp - A function that can be called ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/Executable.h"

#include "Functions.h"

#include <algorithm>
#include <limits>

using namespace mlir;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Result;
using blockscale::runtime::Status;

namespace blockscale {

Result<std::unique_ptr<Executable>>
Executable::create(ModuleOp module, const Signature &signature,
                   const ExecutableOptions &options,
                   CompileObserver &observer) {
  if (options.place == Place::CPU && !options.tuned.empty())
    return Status::failure("expected tuned schedules with a GPU, but got the "
                           "CPU");
  ToGPUOptions pipeline;
  pipeline.chip = options.chip;
  pipeline.fuse = options.fuse;
  pipeline.overlapLaunches = options.overlapLaunches;
  pipeline.checks = options.checks;
  pipeline.tuned = options.tuned;
  switch (options.place) {
  case Place::CPU:
    return createCpuFunction(module, signature, options, observer);
  case Place::Emulator:
    if (options.chip.empty())
      pipeline.chip = "sm_100a";
    return createEmulatorFunction(module, signature, pipeline, options.ptxas,
                                  observer);
  case Place::Cuda:
    break;
  }
  return createCudaFunction(module, signature, pipeline, options.gpu,
                            options.ptxas, observer);
}

Result<std::unique_ptr<Executable>> Executable::load(SavedFunction saved,
                                                     Place place, int gpu) {
  bool isForCpu = saved.target == "cpu";
  if (isForCpu != (place == Place::CPU))
    return Status::failure(std::string("expected a function for ") +
                               (isForCpu ? "a GPU" : "the CPU") +
                               ", but got one for " + saved.target,
                           runtime::ErrorKind::WrongChip);
  switch (place) {
  case Place::CPU:
    return loadCpuFunction(std::move(saved));
  case Place::Emulator:
    return loadEmulatorFunction(std::move(saved));
  case Place::Cuda:
    break;
  }
  return loadCudaFunction(std::move(saved), gpu);
}

Result<std::vector<NpyArray>> Executable::run(std::vector<NpyArray> &arguments,
                                              int repeat,
                                              const CallOptions &options,
                                              CallReport &report) {
  std::vector<ArrayView> views = getViews(arguments);
  Result<Shapes> shapes = getResultShapes(views);
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
  // What a call may write to is the same in each.
  std::vector<std::vector<uint8_t>> given(views.size());
  for (auto [slot, view, content] :
       llvm::zip_equal(signature.arguments, views, given))
    if (repeat > 1 && slot.isWritable)
      content.assign(view.data, view.data + view.bytes);
  double fastest = std::numeric_limits<double>::infinity();
  for (int i = 0; i < repeat; ++i) {
    for (auto [view, content] : llvm::zip_equal(views, given))
      llvm::copy(content, view.data);
    report = CallReport();
    Status called = call(views, getViews(results), options, report);
    if (!called.ok())
      return called;
    fastest = std::min(fastest, report.seconds);
  }
  report.seconds = fastest;
  return results;
}

} // namespace blockscale

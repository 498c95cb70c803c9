//===- ExecuteOnCuda.cpp - Compile for a GPU, run there -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ExecuteOnCuda.h"

#include "BundleBuilder.h"
#include "Execute.h"

#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Runtime/CudaRun.h"
#include "blockscale/Target/Chip.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using blockscale::runtime::NpyArray;
using blockscale::runtime::Status;

namespace blockscale::run {

/// The target that suits the GPU best.
static runtime::Result<std::string>
chooseTarget(const runtime::CudaContext &context) {
  std::string list = target::listChips();
  SmallVector<StringRef> names;
  StringRef(list).split(names, ", ");
  std::vector<std::string_view> chips(names.begin(), names.end());
  std::optional<size_t> chosen =
      runtime::chooseChip(chips, context.getCapability());
  if (!chosen)
    return Status::failure("expected a GPU that one of " + list +
                           " suits, but got " + context.describe());
  return names[*chosen].str();
}

static runtime::Result<std::shared_ptr<const runtime::Bundle>>
compile(ModuleOp module, const std::string &entry, const std::string &chip,
        bool fuse) {
  Status lowered = lowerEntry(module, entry, getStagesOfChip(chip, fuse), chip);
  if (!lowered.ok())
    return lowered;
  runtime::BundleContent content;
  if (llvm::Error error = addTarget(content, module, chip))
    return Status::failure(llvm::toString(std::move(error)));
  return runtime::Bundle::parse(runtime::writeBundle(content));
}

runtime::Result<std::vector<NpyArray>>
executeOnCuda(ModuleOp module, const Signature &signature,
              const std::vector<NpyArray> &arguments, const std::string &chip,
              bool fuse, int gpu, int repeat, double &seconds) {
  // Before the work: that there is no GPU is told at once.
  runtime::Result<std::shared_ptr<const runtime::CudaContext>> context =
      runtime::CudaContext::open(gpu);
  if (!context.ok())
    return context.status();
  runtime::Result<std::string> target = chip;
  if (chip.empty())
    target = chooseTarget(**context);
  if (!target.ok())
    return target.status();
  runtime::Result<std::shared_ptr<const runtime::Bundle>> bundle =
      compile(module, signature.name, *target, fuse);
  if (!bundle.ok())
    return bundle.status();
  runtime::Result<std::shared_ptr<const runtime::CudaModule>> loaded =
      runtime::CudaModule::load(*bundle, *context);
  if (!loaded.ok())
    return loaded.status();
  runtime::Result<const runtime::PlanFunction *> function =
      (*loaded)->getPlan().find(signature.name);
  if (!function.ok())
    return function.status();
  runtime::CudaTimes times;
  runtime::Result<std::vector<NpyArray>> results =
      runtime::runOnCuda(**loaded, **function, arguments, repeat, times);
  seconds = times.fastest;
  return results;
}

} // namespace blockscale::run

//===- Registration.cpp - Passes, pipelines and dialects by name ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Target/Chip.h"
#include "blockscale/Transforms/Passes.h"
#include "blockscale/Transforms/Tiling.h"

#include "mlir/Pass/PassRegistry.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace blockscale {

using ErrorHandler = function_ref<LogicalResult(const Twine &)>;

/// Position of the stage that `option` names, or `absent` where it is empty.
static FailureOr<size_t> findStage(const std::vector<Stage> &stages,
                                   StringRef option, StringRef name,
                                   size_t absent, ErrorHandler error) {
  if (name.empty())
    return absent;
  auto stage = llvm::find_if(
      stages, [&](const Stage &stage) { return stage.name == name; });
  if (stage != stages.end())
    return stage - stages.begin();
  std::string names = llvm::join(
      llvm::map_range(stages, [](const Stage &stage) { return stage.name; }),
      ", ");
  return error("expected option '" + option + "' to be one of " + names +
               ", but got '" + name + "'");
}

namespace {

/// Options of `blockscale-to-sm100`: those of `blockscale-to-gpu`, with another
/// chip by default.
struct ToSM100Options : public ToGPUOptions {
  ToSM100Options() { chip = "sm_100a"; }
};

} // namespace

static LogicalResult checkChip(const ToCPUOptions &, ErrorHandler) {
  return success();
}

/// The passes refuse chips that are not in the table.
static LogicalResult checkChip(const ToGPUOptions &, ErrorHandler) {
  return success();
}

static LogicalResult checkChip(const ToSM100Options &options,
                               ErrorHandler error) {
  const target::Chip *chip = target::findChip(options.chip.getValue());
  if (chip && chip->hasTcgen05())
    return success();
  return error("expected option 'chip' to be one of " +
               target::listChips(&target::Chip::hasTcgen05) + ", but got '" +
               options.chip + "'");
}

/// Registers a pipeline with the stages of `getStages`.
template <typename Options, typename GetStagesFn>
static void registerStages(StringRef name, StringRef description,
                           GetStagesFn getStages) {
  registerPassPipeline(
      name, description,
      [=](OpPassManager &pm, StringRef text, ErrorHandler error) {
        Options options;
        if (failed(options.parseFromString(text)) ||
            failed(checkChip(options, error)))
          return failure();
        std::vector<Stage> stages = getStages(options);
        auto from = findStage(stages, "from", options.from, 0, error);
        if (failed(from))
          return failure();
        auto to = findStage(stages, "to", options.to, stages.size() - 1, error);
        if (failed(to))
          return failure();
        if (*from > *to)
          return error("expected option 'from' to name a stage before 'to', "
                       "but got '" +
                       options.from + "' and '" + options.to + "'");
        for (size_t i = *from; i <= *to; ++i)
          stages[i].build(pm);
        return success();
      },
      [](function_ref<void(const mlir::detail::PassOptions &)> describe) {
        describe(Options());
      });
}

void registerAllPasses() {
  registerBlockScaleTransformsPasses();
  registerBlockScaleConversionPasses();
  registerStages<ToCPUOptions>(
      "blockscale-to-cpu", "Lower a module to the LLVM dialect for the host",
      getToCPUStages);
  auto getStages = [](const ToGPUOptions &options) {
    return getToGPUStages(options);
  };
  registerStages<ToGPUOptions>(
      "blockscale-to-gpu",
      "Lower a module to gpu.launch_func and a gpu.module for a GPU",
      getStages);
  registerStages<ToSM100Options>(
      "blockscale-to-sm100",
      "Lower a module to gpu.launch_func and a gpu.module for SM100",
      getStages);
}

void registerDialect(DialectRegistry &registry) {
  registry.insert<BlockScaleDialect>();
  registerBufferizableOpInterfaceExternalModels(registry);
  registerTilingInterfaceExternalModels(registry);
}

} // namespace blockscale

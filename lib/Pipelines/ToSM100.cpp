//===- ToSM100.cpp - Pipeline blockscale-to-sm100 -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Pipelines/Pipelines.h"
#include "blockscale/Target/Chip.h"

namespace blockscale {

std::vector<Stage> getToSM100Stages(const ToSM100Options &options) {
  ToGPUOptions portable;
  portable.chip = options.chip;
  portable.copyFusion(options);
  portable.maxConstantElements = options.maxConstantElements;
  return getToGPUStages(portable);
}

std::vector<Stage> getStagesOfChip(llvm::StringRef chip, bool fuse) {
  const target::Chip *found = target::findChip(chip);
  if (found && found->hasBlockScaledMma()) {
    ToSM100Options options;
    options.chip = chip.str();
    options.fuse = fuse;
    return getToSM100Stages(options);
  }
  ToGPUOptions options;
  options.chip = chip.str();
  options.fuse = fuse;
  return getToGPUStages(options);
}

} // namespace blockscale

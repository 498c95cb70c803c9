//===- FusionChoice.cpp - Which form kernels have, and why ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/FusionChoice.h"

using namespace mlir;

namespace blockscale {

using Ops = FusionChoice::Ops;

static SmallVector<Ops> getEach(Ops ops) {
  SmallVector<Ops> each;
  for (size_t i = 0; i < ops.size(); ++i)
    each.push_back(ops.slice(i, 1));
  return each;
}

FusionChoice::FusionChoice(const FusionModel &model, Ops ops,
                           ArrayRef<Ops> apart)
    : gpu(&model.getGpu()), form(fusion::kTogether) {
  add(fusion::kTogether, model.getCost(ops));
  add(fusion::kApart, model.getCost(apart));
}

FusionChoice::FusionChoice(const FusionModel &model, Ops ops,
                           ArrayRef<Value> results)
    : gpu(&model.getGpu()), form(fusion::kTogether) {
  add(fusion::kTogether, model.getCost(ops, results));
  add(fusion::kApart, model.getCost(getEach(ops)));
}

FusionChoice::FusionChoice(const FusionModel &model, Recompute recompute,
                           Ops producers, Ops first, Ops second, Ops apart)
    : gpu(&model.getGpu()), form(fusion::kKept),
      isForced(recompute != Recompute::Model) {
  auto firstAll =
      llvm::to_vector(llvm::concat<Operation *const>(producers, first));
  auto secondAll =
      llvm::to_vector(llvm::concat<Operation *const>(producers, second));
  add(fusion::kKept, model.getCost({firstAll, second}));
  add(fusion::kRecomputed, model.getCost({firstAll, secondAll}));
  add(fusion::kApart, model.getCost(getEach(apart)));
  const Cost *kept = find(fusion::kKept);
  const Cost *recomputed = find(fusion::kRecomputed);
  // Without an estimate nothing is computed more than once.
  bool isFaster = kept && recomputed && recomputed->seconds < kept->seconds;
  if (recompute == Recompute::Always || (!isForced && isFaster))
    form = fusion::kRecomputed;
}

void FusionChoice::add(StringLiteral name, llvm::Expected<Cost> cost) {
  if (cost)
    costs.emplace_back(name, *cost);
  else
    unknown = llvm::toString(cost.takeError());
}

const Cost *FusionChoice::find(StringRef name) const {
  const auto *found = llvm::find_if(
      costs, [&](const auto &cost) { return cost.first == name; });
  return found == costs.end() ? nullptr : &found->second;
}

} // namespace blockscale

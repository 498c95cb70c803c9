//===- FusionChoice.h - Which form kernels have, and why --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_ANALYSIS_FUSION_FUSIONCHOICE_H
#define BLOCKSCALE_ANALYSIS_FUSION_FUSIONCHOICE_H

#include "blockscale/Analysis/Fusion/FusionModel.h"
#include "blockscale/Analysis/Recompute.h"
#include "blockscale/IR/FusionAttr.h"

namespace blockscale {

/// The form that ops have as kernels, among those they could have, and what
/// each of these is estimated to take.
struct FusionChoice {
  using Ops = llvm::ArrayRef<mlir::Operation *>;

  /// Chooses one kernel of `ops`, which would be the kernels `apart` otherwise.
  FusionChoice(const FusionModel &model, Ops ops, llvm::ArrayRef<Ops> apart);
  /// Chooses one kernel of `ops` that stores `results`. Otherwise each op would
  /// have a kernel of its own.
  FusionChoice(const FusionModel &model, Ops ops,
               llvm::ArrayRef<mlir::Value> results);

  /// Two passes over x, of `first` and of `second`, both of which need
  /// `producers`; `apart` are the same ops, those that both passes have once.
  FusionChoice(const FusionModel &model, Recompute recompute, Ops producers,
               Ops first, Ops second, Ops apart);

  bool isRecomputed() const { return form == fusion::kRecomputed; }
  /// What the form `name` takes; null where that is unknown.
  const Cost *find(llvm::StringRef name) const;

  /// The GPU whose rates count.
  const target::Gpu *gpu;
  /// The name of the form ("blockscale/IR/FusionAttr.h").
  llvm::StringLiteral form;
  /// Whether the form is what was asked for and not the model's choice.
  bool isForced = false;
  /// What each form takes, all of its kernels together.
  llvm::SmallVector<std::pair<llvm::StringLiteral, Cost>> costs;
  /// Why a form has no costs; empty where each has.
  std::string unknown;

private:
  void add(llvm::StringLiteral name, llvm::Expected<Cost> cost);
};

} // namespace blockscale

#endif // BLOCKSCALE_ANALYSIS_FUSION_FUSIONCHOICE_H

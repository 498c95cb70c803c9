//===- FusionChoice.h - Which form kernels have, and why --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_FUSIONCHOICE_H
#define BLOCKSCALE_LIB_TRANSFORMS_FUSIONCHOICE_H

#include "blockscale/Analysis/FusionModel.h"
#include "blockscale/Analysis/Recompute.h"
#include "blockscale/IR/FusionAttr.h"

namespace blockscale {

/// The form that ops have as kernels, among those they could have.
class FusionChoice {
public:
  using Ops = llvm::ArrayRef<mlir::Operation *>;

  /// One kernel of `ops`, which would be `apart` otherwise.
  FusionChoice(const FusionModel &model, Ops ops, llvm::ArrayRef<Ops> apart);
  /// The same of ops that would have a kernel each.
  FusionChoice(const FusionModel &model, Ops ops);

  /// Two passes over x, of `first` and of `second`, both of which need
  /// `producers`; `apart` are the same ops, those that both passes have once.
  FusionChoice(const FusionModel &model, Recompute recompute, Ops producers,
               Ops first, Ops second, Ops apart);

  bool isRecomputed() const { return form == fusion::kRecomputed; }

  /// Writes it to a kernel of that form, and says why in a remark of the
  /// category `gpu-fusion`.
  void record(KernelOp kernel) const;

private:
  void add(llvm::StringLiteral name, llvm::Expected<Cost> cost);
  void remark(KernelOp kernel) const;
  const Cost *find(llvm::StringRef name) const;

  const target::Gpu *gpu;
  llvm::StringLiteral form;
  /// What was asked for, where it is not the model's choice.
  bool isForced = false;
  llvm::SmallVector<std::pair<llvm::StringLiteral, Cost>> costs;
  /// Why there are none.
  std::string unknown;
};

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_FUSIONCHOICE_H

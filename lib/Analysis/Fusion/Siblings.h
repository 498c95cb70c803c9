//===- Siblings.h - Ops of one x that share a kernel ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_ANALYSIS_FUSION_SIBLINGS_H
#define BLOCKSCALE_LIB_ANALYSIS_FUSION_SIBLINGS_H

#include "FusionDraft.h"

#include "llvm/ADT/SetVector.h"

namespace blockscale {

/// Quantizations and amaxes of one x that share a kernel, and the transforms of
/// x that some of them take.
struct Siblings {
  llvm::SmallVector<QuantizeOp> quantizes;
  llvm::SmallVector<AmaxOp> amaxes;
  llvm::SmallSetVector<mlir::Operation *, 2> transforms;
  /// The group that they are a member of; null if of none.
  mlir::StringAttr group;
  /// The number of their pass over x: 0 for amaxes before quantizations,
  /// otherwise 1.
  int pass = 1;

  /// Whether there is nothing to share with each other.
  bool isAlone() const;

  /// A quantization that needs one of the amaxes; null if none does.
  QuantizeOp findSecondPass() const;

  /// The amaxes and the transforms that they take. Those that quantizations
  /// take, too, stay here; `draft` notes that the amaxes have copies of them.
  Siblings takeAmaxes(FusionDraft &draft);

  llvm::SmallVector<mlir::Operation *> getOps() const;
};

/// Plans kernels for quantizations and amaxes, those of one x, or of the
/// members of a group, together.
void planSiblings(mlir::FunctionOpInterface function, FusionDraft &draft);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_ANALYSIS_FUSION_SIBLINGS_H

//===- Siblings.cpp - Ops of one x that share a kernel --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Siblings.h"
#include "blockscale/Analysis/Fusion/FusionLegality.h"

using namespace mlir;

namespace blockscale {

bool Siblings::isAlone() const {
  return quantizes.size() + amaxes.size() < 2 && transforms.empty();
}

QuantizeOp Siblings::findSecondPass() const {
  auto *found = llvm::find_if(quantizes, [&](QuantizeOp op) {
    return findOnePassObstacle(op, amaxes).has_value();
  });
  return found == quantizes.end() ? QuantizeOp() : *found;
}

SmallVector<Operation *> Siblings::getOps() const {
  SmallVector<Operation *> ops(transforms.begin(), transforms.end());
  ops.append(amaxes.begin(), amaxes.end());
  ops.append(quantizes.begin(), quantizes.end());
  return ops;
}

Siblings Siblings::takeAmaxes(FusionDraft &draft) {
  Siblings taken;
  taken.group = group;
  taken.pass = 0;
  taken.amaxes = std::exchange(amaxes, {});
  SmallVector<Operation *> readers(taken.amaxes.begin(), taken.amaxes.end());
  for (Operation *transform : transforms.takeVector()) {
    bool isQuantized =
        llvm::any_of(transform->getUsers(), llvm::IsaPred<QuantizeOp>);
    if (isQuantized)
      transforms.insert(transform);
    if (llvm::none_of(transform->getUsers(), llvm::IsaPred<AmaxOp>))
      continue;
    if (isQuantized)
      draft.copyFor(transform, readers);
    taken.transforms.insert(transform);
  }
  return taken;
}

} // namespace blockscale

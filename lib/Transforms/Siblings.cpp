//===- Siblings.cpp - Ops of one x that share a kernel --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Siblings.h"
#include "blockscale/Analysis/FusionLegality.h"

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

Siblings Siblings::takeAmaxes(OpBuilder &builder) {
  Siblings taken;
  taken.group = group;
  taken.pass = 0;
  taken.amaxes = std::exchange(amaxes, {});
  for (Operation *transform : transforms.takeVector()) {
    if (llvm::any_of(transform->getUsers(), llvm::IsaPred<QuantizeOp>))
      transforms.insert(transform);
    if (llvm::none_of(transform->getUsers(), llvm::IsaPred<AmaxOp>))
      continue;
    Operation *forAmaxes = transform;
    if (transforms.contains(transform)) {
      builder.setInsertionPointAfter(transform);
      forAmaxes = builder.clone(*transform);
      transform->replaceUsesWithIf(forAmaxes->getResults(), [](OpOperand &use) {
        return isa<AmaxOp>(use.getOwner());
      });
    }
    taken.transforms.insert(forAmaxes);
  }
  return taken;
}

} // namespace blockscale

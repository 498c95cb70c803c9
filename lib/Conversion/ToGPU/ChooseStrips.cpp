//===- ChooseStrips.cpp - Strips of warps ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "ToGPU/Strips/StripChoice.h"
#include "blockscale/Conversion/Passes.h"
#include "blockscale/IR/PassOptions.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_CHOOSESTRIPS
#include "blockscale/Conversion/Passes.h.inc"

namespace {

struct ChooseStripsPass : public impl::ChooseStripsBase<ChooseStripsPass> {
  using ChooseStripsBase::ChooseStripsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return verifyChipOption(context, chip);
  }

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    WalkResult result = getOperation()->walk([&](KernelOp kernel) {
      if (kernel->hasAttr(kStripAttrName) ||
          getFamily(kernel) != KernelFamily::Strips)
        return WalkResult::advance();
      FailureOr<SmallVector<StripMembers>> sets = findStripMembers(kernel);
      if (failed(sets))
        return WalkResult::interrupt();
      // Of several sets each has the strip that it has by default.
      if (sets->size() > 1)
        return WalkResult::advance();
      SmallVector<RatedStrip> strips =
          rateStrips(StripRequest(sets->front(), *target));
      const RatedStrip &best = strips.front();
      kernel->setAttr(
          kStripAttrName,
          DenseI64ArrayAttr::get(&getContext(), {best.rows, best.columns}));
      remarkStripChoice(kernel.getLoc(), strips);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale

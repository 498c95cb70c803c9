//===- ChooseTiles.cpp - Tiles of warps -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "ToGPU/Patches/PatchTile.h"
#include "blockscale/Conversion/Passes.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_CHOOSETILES
#include "blockscale/Conversion/Passes.h.inc"

namespace {

struct ChooseTilesPass : public impl::ChooseTilesBase<ChooseTilesPass> {
  using ChooseTilesBase::ChooseTilesBase;

  void runOnOperation() override {
    const target::Chip *target = target::findChip(chip);
    if (!target)
      return;
    WalkResult result = getOperation()->walk([&](KernelOp kernel) {
      if (kernel->hasAttr(kTileAttrName) ||
          getFamily(kernel) != KernelFamily::Patches)
        return WalkResult::advance();
      FailureOr<SmallVector<PatchMember>> members =
          findPatchMembers(kernel, *target);
      if (failed(members))
        return WalkResult::interrupt();
      SmallVector<RatedTile> tiles = rateTiles(PatchJob(*members, *target));
      const RatedTile &best = tiles.front();
      kernel->setAttr(
          kTileAttrName,
          DenseI64ArrayAttr::get(&getContext(), {best.rows, best.columns}));
      remarkTile(kernel.getLoc(), tiles);
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
} // namespace blockscale

//===- QuantizeKernel.cpp - Quantization ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupedQuantizer.h"
#include "PatchQuantizer.h"
#include "RowQuantizer.h"

using namespace mlir;

namespace blockscale::cpu {

/// The sizes of the data of an x of sizes `sizes`.
static CallSite::Sizes getDataSizes(QuantizeOp op, CallSite::Sizes sizes) {
  if (op.getTransposed())
    std::swap(sizes.end()[-2], sizes.end()[-1]);
  return sizes;
}

static bool hasBlocksOfOneRow(QuantizeOp op) { return op.getBlock()[0] == 1; }

Value prepareCall(QuantizeOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getX());
  ArrayRef<OpFoldResult> batch = ArrayRef<OpFoldResult>(sizes).drop_back(2);
  CallSite::Sizes globals(batch);
  if (op.hasRowGlobals())
    globals.push_back(sizes.end()[-2]);
  if (op.getOffsets())
    globals = site.getSizes(op.getOffsets());
  OpFoldResult rows = sizes.end()[-2], cols = sizes.end()[-1];
  if (!acceptsTails(op.getEffectiveRecipe())) {
    site.requireMultiple(rows, op.getBlock()[0],
                         "the second-to-last dimension of x");
    site.requireMultiple(cols, op.getBlock()[1], "the last dimension of x");
  }
  site.requireSizes("data", op.getData(), getDataSizes(op, sizes), "x");
  site.requireSizes("scale", op.getScale(),
                    getScaleSizes(b, b.getLoc(), sizes, op.getScaleForm()),
                    "x");
  StringRef source = op.getOffsets() ? "offsets" : "x";
  site.requireGlobalSizes("global_scale", op.getGlobalScale(), globals, source);
  site.requireGlobalSizes("global_amax", op.getGlobalAmax(), globals, source);
  site.requireSizes("block_amax", op.getBlockAmax(),
                    getScaleSizes(b, b.getLoc(), sizes, op.getScaleForm()),
                    "x");
  site.requireSizes("rng", op.getRng(), {b.getIndexAttr(2)},
                    "a seed and an offset");

  if (op.getOffsets()) {
    LayoutAttr layout = getLayout(op.getScale().getType());
    if (layout && layout.isGrouped())
      site.requireSizes("offsets", op.getOffsets(),
                        {b.getIndexAttr(layout.getGroups())},
                        "the layout of scale");
    return countGroupedItems(op, site);
  }
  return site.countItems(
      sizes, hasBlocksOfOneRow(op)
                 ? countRowItems(op, b, toIndex(b, rows))
                 : countPatchItems(b, toIndex(b, rows), toIndex(b, cols)));
}

void emitItems(QuantizeOp op, const ItemRange &range) {
  if (op.getOffsets())
    emitGroupedItems(op, range);
  else if (hasBlocksOfOneRow(op))
    emitRowItems(op, range);
  else
    emitPatchItems(op, range);
}

} // namespace blockscale::cpu

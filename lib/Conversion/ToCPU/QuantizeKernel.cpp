//===- QuantizeKernel.cpp - Quantization ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

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
  ArrayRef<OpFoldResult> leading =
      ArrayRef<OpFoldResult>(sizes).drop_back(op.hasRowGlobals() ? 1 : 2);
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
  site.requireGlobalSizes("global_scale", op.getGlobalScale(), leading, "x");
  site.requireGlobalSizes("global_amax", op.getGlobalAmax(), leading, "x");
  site.requireSizes("block_amax", op.getBlockAmax(),
                    getScaleSizes(b, b.getLoc(), sizes, op.getScaleForm()),
                    "x");
  site.requireSizes("rng", op.getRng(), {b.getIndexAttr(2)},
                    "a seed and an offset");

  Value items = hasBlocksOfOneRow(op)
                    ? countRowItems(op, b, toIndex(b, rows))
                    : countPatchItems(b, toIndex(b, rows), toIndex(b, cols));
  for (OpFoldResult size : batch)
    items = mul(b, items, toIndex(b, size));
  return items;
}

void emitItems(QuantizeOp op, const ItemRange &range) {
  if (hasBlocksOfOneRow(op))
    emitRowItems(op, range);
  else
    emitPatchItems(op, range);
}

} // namespace blockscale::cpu

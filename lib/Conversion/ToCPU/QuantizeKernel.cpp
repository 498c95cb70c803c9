//===- QuantizeKernel.cpp - Quantization ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "RowQuantizer.h"

using namespace mlir;

namespace blockscale::cpu {

Value prepareCall(QuantizeOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getX());
  ArrayRef<OpFoldResult> batch = ArrayRef<OpFoldResult>(sizes).drop_back(2);
  int64_t blockSize = op.getBlockSize();
  if (!acceptsTails(op.getEffectiveRecipe()))
    site.requireMultiple(sizes.back(), blockSize, "the last dimension of x");
  site.requireSizes("data", op.getData(), sizes, "x");
  site.requireSizes("scale", op.getScale(),
                    getScaleSizes(b, b.getLoc(), sizes, blockSize), "x");
  site.requireGlobalSizes("global_scale", op.getGlobalScale(), batch, "x");
  site.requireGlobalSizes("global_amax", op.getGlobalAmax(), batch, "x");

  Value items = countRowItems(op, b, toIndex(b, sizes[sizes.size() - 2]));
  for (OpFoldResult size : batch)
    items = mul(b, items, toIndex(b, size));
  return items;
}

void emitItems(QuantizeOp op, const ItemRange &range) {
  emitRowItems(op, range);
}

} // namespace blockscale::cpu

//===- QuantizeKernel.cpp - Quantization ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupedQuantizer.h"
#include "PanelQuantizer.h"
#include "RowQuantizer.h"

using namespace mlir;

namespace blockscale::cpu {

Value countItems(QuantizeOp op, CallSite &site) {
  if (op.getOffsets())
    return countGroupedItems(op, site);
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes sizes = site.getSizes(op.getX());
  Value rows = toIndex(b, sizes.end()[-2]);
  return site.countItems(
      sizes, op.hasRowBlocks()
                 ? countRowItems(op, b, rows)
                 : countPanelItems(b, rows, toIndex(b, sizes.back())));
}

void emitItems(QuantizeOp op, const ItemRange &range) {
  if (op.getOffsets())
    emitGroupedItems(op, range);
  else if (op.hasRowBlocks())
    emitRowItems(op, range);
  else
    emitPanelItems(op, range);
}

} // namespace blockscale::cpu

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

QuantizeSpec::QuantizeSpec(ImplicitLocOpBuilder &b, QuantizeOp op,
                           function_ref<Value(Value)> lookup)
    : b(b), format{op.getArithmetic(), getElementFormat(op.getData()),
                   op.getBlockSize()},
      block(op.getBlock()), scaleForm(op.getScaleForm()),
      layout(getScaleLayout(op.getScale().getType())),
      hasGroupTiles(getGroupedLayout(op.getScale().getType()) != nullptr),
      transposed(op.getTransposed()), groupDim(op.getGroupDim()),
      global(op.getGlobalOperand()), shape(op.getX().getType().getShape()),
      x(lookup(op.getX())), data(lookup(op.getData())),
      scale(lookup(op.getScale())), globalScale(lookup(global.value)),
      blockAmax(lookup(op.getBlockAmax())), rng(lookup(op.getRng())),
      offsets(lookup(op.getOffsets())) {}

Value countItems(QuantizeOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  QuantizeSpec spec(b, op, [&](Value logical) { return site.lookup(logical); });
  if (spec.offsets)
    return countGroupedItems(spec);
  CallSite::Sizes sizes = site.getSizes(op.getX());
  Value rows = toIndex(b, sizes.end()[-2]);
  return site.countItems(
      sizes, spec.hasRowBlocks()
                 ? countRowItems(spec, rows)
                 : countPanelItems(b, rows, toIndex(b, sizes.back())));
}

void emitItems(QuantizeOp op, const ItemRange &range) {
  QuantizeSpec spec(range.b, op,
                    [&](Value logical) { return range.lookup(logical); });
  if (spec.offsets)
    emitGroupedItems(spec, range);
  else if (spec.hasRowBlocks())
    emitRowItems(spec, range);
  else
    emitPanelItems(spec, range);
}

} // namespace blockscale::cpu

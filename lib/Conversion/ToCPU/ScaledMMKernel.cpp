//===- ScaledMMKernel.cpp - Products of block-scaled matrices -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "PanelProduct.h"

using namespace mlir;

namespace blockscale::cpu {

/// Whether a global scale has one value a row of its operand.
static bool isPerRow(ScaledMMOp op, Value global) {
  auto type = global ? dyn_cast<RankedTensorType>(global.getType())
                     : RankedTensorType();
  return type && type.getRank() == op.getResult().getType().getRank() - 1;
}

Value prepareCall(ScaledMMOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  int64_t blockSize = op.getBlockSize();
  CallSite::Sizes a = site.getDataSizes(op.getA(), op.getB());
  CallSite::Sizes bSizes = a, result = a, batch = a;
  batch.truncate(a.size() - 2);
  OpFoldResult rows = a[a.size() - 2];
  OpFoldResult cols = site.getSizes(op.getB())[a.size() - 2];
  bSizes[a.size() - 2] = cols;
  result.back() = cols;

  site.requireMultiple(a.back(), blockSize, "the last dimension of a");
  site.requireSizes("a", op.getA(), a, "b");
  site.requireSizes("b", op.getB(), bSizes, "a");
  site.requireSizes("scale_a", op.getScaleA(),
                    getScaleSizes(b, b.getLoc(), a, blockSize), "a");
  site.requireSizes("scale_b", op.getScaleB(),
                    getScaleSizes(b, b.getLoc(), bSizes, blockSize), "b");
  site.requireSizes("bias", op.getBias(), cols, "b");
  site.requireSizes("the result", op.getResult(), result, "a and b");
  auto requireGlobal = [&](StringRef name, Value global,
                           ArrayRef<OpFoldResult> sizes, StringRef source) {
    if (isPerRow(op, global))
      site.requireSizes(name, global, sizes.drop_back(), source);
    else
      site.requireGlobalSizes(name, global, batch, "a");
  };
  requireGlobal("global_scale_a", op.getGlobalScaleA(), a, "a");
  requireGlobal("global_scale_b", op.getGlobalScaleB(), bSizes, "b");

  Value items = mul(b, ceilDiv(b, toIndex(b, rows), kPanelRows),
                    ceilDiv(b, toIndex(b, cols), kPanelCols));
  for (OpFoldResult size : batch)
    items = mul(b, items, toIndex(b, size));
  return items;
}

void emitItems(ScaledMMOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value result = range.lookup(op.getResult());
  int64_t rank = getTensorType(op.getResult()).getRank();
  Value rows = getDim(b, result, rank - 2), cols = getDim(b, result, rank - 1);
  Value blocks =
      div(b, getDataCols(b, op.getA(), range.operands), op.getBlockSize());
  Indices sizes = getLeadingSizes(b, result, rank - 2);
  sizes.append({ceilDiv(b, rows, kPanelRows), ceilDiv(b, cols, kPanelCols)});

  auto getFactor = [&](Value global) {
    return GlobalFactor{range.lookup(global), isPerRow(op, global)};
  };
  PanelProduct product(b, getScaleFormat(op.getScaleA()), blocks,
                       {result, getFactor(op.getGlobalScaleA()),
                        getFactor(op.getGlobalScaleB()),
                        range.lookup(op.getBias()),
                        op.getGlobalScaling() == GlobalScaling::AfterRounding});
  auto getOperand = [&](Value data, Value scale, ValueRange batch) {
    return MatmulOperand{
        range.lookup(data), getElementFormat(data), Indices(batch),
        ScaleMatrix(b, range.lookup(scale), getLayout(scale.getType()), batch)};
  };
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices position = delinearize(b, item, sizes);
    Value col = position.pop_back_val(), row = position.pop_back_val();
    product.emit({getOperand(op.getA(), op.getScaleA(), position),
                  getOperand(op.getB(), op.getScaleB(), position),
                  getPanel(b, row, kPanelRows, rows),
                  getPanel(b, col, kPanelCols, cols),
                  {getIndex(b, 0), blocks},
                  position,
                  position});
  });
  product.emitFree();
}

} // namespace blockscale::cpu

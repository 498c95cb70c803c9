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
  site.requireGlobalSizes("global_scale_a", op.getGlobalScaleA(), batch, "a");
  site.requireGlobalSizes("global_scale_b", op.getGlobalScaleB(), batch, "a");

  Value items = ceilDiv(b, toIndex(b, rows), kPanelRows);
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
  Indices panelSizes = getLeadingSizes(b, result, rank - 2);
  panelSizes.push_back(ceilDiv(b, rows, kPanelRows));

  PanelProduct product(b, getScaleFormat(op.getScaleA()), blocks, cols, result,
                       range.lookup(op.getBias()));
  auto getOperand = [&](Value data, Value scale, ValueRange batch) {
    return MatmulOperand{
        range.lookup(data), getElementFormat(data), Indices(batch),
        ScaleMatrix(b, range.lookup(scale), getLayout(scale.getType()), batch)};
  };
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices panel = delinearize(b, item, panelSizes);
    ValueRange batch = ValueRange(panel).drop_back();
    Value firstRow = mul(b, panel.back(), kPanelRows);
    Value rowCount = min(b, getIndex(b, kPanelRows), sub(b, rows, firstRow));
    product.emit(
        {getOperand(op.getA(), op.getScaleA(), batch),
         getOperand(op.getB(), op.getScaleB(), batch), firstRow, rowCount,
         getIndex(b, 0), blocks, Indices(batch),
         loadGlobalProduct(b, range.lookup(op.getGlobalScaleA()),
                           range.lookup(op.getGlobalScaleB()), batch)});
  });
  product.emitFree();
}

} // namespace blockscale::cpu

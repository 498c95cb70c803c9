//===- ScaledMMKernel.cpp - Products of block-scaled matrices -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "PanelProduct.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace blockscale::cpu {

/// Columns of a panel of few rows: their products are as much work for many
/// threads.
static constexpr int64_t kNarrowPanelCols = 64;

/// Columns of scales in tiles are a tile, and stay together.
static bool hasNarrowPanels(ScaledMMOp op) {
  return op.getScaleB() && getScaleLayout(op.getScaleB().getType()).isLinear();
}

/// The value for narrow panels of columns where the product has few rows, else
/// that for wide ones.
static Value chooseByRows(ImplicitLocOpBuilder &b, ScaledMMOp op, Value rows,
                          function_ref<Value(int64_t)> make) {
  std::optional<int64_t> known = getConstantIntValue(rows);
  if (!hasNarrowPanels(op) || (known && *known > kFewRows))
    return make(kPanelCols);
  if (known)
    return make(kNarrowPanelCols);
  Lanes isFew = compare(arith::CmpIPredicate::ule, Lanes(b, rows), kFewRows);
  return select(isFew, Lanes(b, make(kNarrowPanelCols)), make(kPanelCols));
}

/// Panels of columns of a product.
static Value countPanels(ImplicitLocOpBuilder &b, ScaledMMOp op, Value rows,
                         Value cols) {
  return chooseByRows(b, op, rows, [&](int64_t panelCols) -> Value {
    return ceilDiv(b, cols, panelCols);
  });
}

/// Panel `index` of them.
static Span getColPanel(ImplicitLocOpBuilder &b, ScaledMMOp op, Value index,
                        Value rows, Value cols) {
  auto choose = [&](Value Span::*part) {
    return chooseByRows(b, op, rows, [&](int64_t panelCols) {
      return getPanel(b, index, panelCols, cols).*part;
    });
  };
  return {choose(&Span::first), choose(&Span::count)};
}

Value countItems(ScaledMMOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  CallSite::Sizes result = site.getSizes(op.getResult());
  Value rows = toIndex(b, result.end()[-2]);
  Value items = mul(b, ceilDiv(b, rows, kPanelRows),
                    countPanels(b, op, rows, toIndex(b, result.back())));
  for (OpFoldResult size : ArrayRef<OpFoldResult>(result).drop_back(2))
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
  sizes.append({ceilDiv(b, rows, kPanelRows), countPanels(b, op, rows, cols)});

  auto getFactor = [&](const GlobalOperand &global) {
    return GlobalFactor{range.lookup(global.value), global.extent};
  };
  PanelProduct product(b, op, range.tensorCores, blocks,
                       {result, getFactor(op.getGlobalOperandA()),
                        getFactor(op.getGlobalOperandB()),
                        range.lookup(op.getBias()),
                        op.getGlobalScaling() == GlobalScaling::AfterRounding});
  auto getOperand = [&](Value data, Value scale, ValueRange batch) {
    MatmulOperand operand = {range.lookup(data), getElementTypeOrSelf(data),
                             Indices(batch), std::nullopt};
    if (scale)
      operand.scales.emplace(b, range.lookup(scale),
                             getScaleLayout(scale.getType()), batch);
    return operand;
  };
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices position = delinearize(b, item, sizes);
    Value col = position.pop_back_val(), row = position.pop_back_val();
    product.emit({getOperand(op.getA(), op.getScaleA(), position),
                  getOperand(op.getB(), op.getScaleB(), position),
                  getPanel(b, row, kPanelRows, rows),
                  getColPanel(b, op, col, rows, cols),
                  {getIndex(b, 0), blocks},
                  position,
                  position});
  });
  product.emitFree();
}

} // namespace blockscale::cpu

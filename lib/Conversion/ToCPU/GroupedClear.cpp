//===- GroupedClear.cpp - Zeros where no group is -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupedClear.h"
#include "ScaleTiles.h"

using namespace mlir;

namespace blockscale::cpu {

/// Rows of data and of scales of an item.
static constexpr int64_t kRowsPerItem = 128;

/// Bytes that are stored at a time.
static constexpr int64_t kClearedPerStep = 32;

/// Sets the bytes of rows [firstRow, lastRow) to zero, from `firstByte` on.
static void emitClearRows(ImplicitLocOpBuilder &b, Value memref, Value firstRow,
                          Value lastRow, Value firstByte) {
  Value count = sub(b, getDim(b, memref, 1), firstByte);
  emitLoop(b, firstRow, lastRow, [&](Value row) {
    emitUnitSteps(b, count, kClearedPerStep, [&](Value step, int64_t bytes) {
      auto type = VectorType::get({bytes}, b.getI8Type());
      Lanes zero(b, arith::ConstantOp::create(b, b.getZeroAttr(type)));
      storeLanes(zero, memref, {row, add(b, firstByte, step)});
    });
  });
}

Value GroupedClear::getItemCount() const {
  Value rows = getDim(b, data, 0);
  if (!form.hasLayout())
    rows = max(b, rows, getDim(b, scale, 0));
  return max(b, ceilDiv(b, rows, kRowsPerItem), getIndex(b, 1));
}

void GroupedClear::emitItem(Value item) const {
  Group behind = emitBehindGroups(b, form.getDim());
  Value begin = mul(b, item, kRowsPerItem);
  Value end = add(b, begin, getIndex(b, kRowsPerItem));
  // The rows of the item in a matrix whose rows or columns are covered up to
  // `covered`, where a byte has `perByte` of the columns.
  auto clear = [&](Value memref, bool alongRows, Value covered,
                   int64_t perByte) {
    Value last = min(b, end, getDim(b, memref, 0));
    if (alongRows)
      emitClearRows(b, memref, max(b, begin, covered), last, getIndex(b, 0));
    else
      emitClearRows(b, memref, begin, last, ceilDiv(b, covered, perByte));
  };
  clear(data, form.alongDataRows(), form.toElements(behind.begin),
        codesPerByte);
  if (!form.hasLayout())
    clear(scale, form.alongScaleRows(), form.toScales(behind.begin),
          /*perByte=*/1);
  if (!form.isGroupedLayout())
    return;
  Value used = mul(b, behind.tilesBefore, form.getTilesAcross());
  Value tiles = getDim(b, scale, 0), items = getItemCount();
  Value rest = add(b, sub(b, tiles, used), sub(b, items, getIndex(b, 1)));
  Value share = arith::DivUIOp::create(b, rest, items);
  Value first = add(b, used, mul(b, item, share));
  emitLoop(b, first, min(b, add(b, first, share), tiles),
           [&](Value tile) { emitClearTile(b, scale, tile); });
}

} // namespace blockscale::cpu

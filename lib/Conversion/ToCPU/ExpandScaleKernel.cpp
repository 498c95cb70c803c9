//===- ExpandScaleKernel.cpp - Scales of square blocks, replicated --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "ScaleTiles.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"

using namespace mlir;

namespace blockscale::cpu {

static bool isAlongK(ExpandScaleOp op) {
  return op.getScaleDim() == ScaleDim::K;
}

Value countItems(ExpandScaleOp op, CallSite &site) {
  ImplicitLocOpBuilder &b = site.b;
  OpFoldResult rows = getExpandedRows(b, op, site.lookup(op.getSize()));
  CallSite::Sizes result = site.getSizes(op.getSource());
  if (!isAlongK(op))
    std::swap(result.end()[-2], result.end()[-1]);
  result.end()[-2] = rows;
  const numerics::ScaleLayout &layout = getScaleLayout(op.getType());
  return site.countItems(
      result,
      ceilDiv(b, toIndex(b, rows),
              layout.isLinear() ? op.getBlock()[0] : layout.getTileRows()));
}

namespace {

/// Emits the rows of the result of one kernel.
class ScaleExpander {
public:
  ScaleExpander(ExpandScaleOp op, const ItemRange &range)
      : b(range.b), source(range.lookup(op.getSource())), alongK(isAlongK(op)),
        blockRows(op.getBlock()[0]) {
    int64_t rank = getTensorType(op.getSource()).getRank();
    cols = getDim(b, source, alongK ? rank - 1 : rank - 2);
  }

  int64_t getBlockRows() const { return blockRows; }
  Value getCols() const { return cols; }

  /// Writes `count` equal rows, of the blocks `block`, to target[prefix,
  /// first], and the rows behind it.
  void emitRows(ValueRange batch, Value block, Value target, ValueRange prefix,
                Value first, Value count) {
    Indices firstRow = append(prefix, first);
    if (alongK)
      emitCopyBytes(b, source, append(batch, block), target, firstRow, cols);
    else
      emitLoop(b, getIndex(b, 0), cols, [&](Value col) {
        storeBits(loadBits(b, source, append(batch, {col, block})), target,
                  append(firstRow, col));
      });
    emitLoop(b, getIndex(b, 1), count, [&](Value i) {
      emitCopyBytes(b, target, firstRow, target,
                    append(prefix, add(b, first, i)), cols);
    });
  }

private:
  ImplicitLocOpBuilder &b;
  Value source;
  bool alongK;
  int64_t blockRows;
  Value cols;
};

} // namespace

/// Items are bands of as many rows as a block has.
static void emitLinear(ExpandScaleOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value result = range.lookup(op.getResult());
  int64_t rank = getTensorType(op.getResult()).getRank();
  ScaleExpander expander(op, range);
  int64_t blockRows = expander.getBlockRows();
  Value rows = getDim(b, result, rank - 2);
  Indices bandSizes = getLeadingSizes(b, result, rank - 2);
  bandSizes.push_back(ceilDiv(b, rows, blockRows));
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices index = delinearize(b, item, bandSizes);
    ValueRange batch = ValueRange(index).drop_back();
    Value first = mul(b, index.back(), blockRows);
    Value count = min(b, getIndex(b, blockRows), sub(b, rows, first));
    expander.emitRows(batch, index.back(), result, batch, first, count);
  });
}

/// Items are bands of the rows of a tile, of whole blocks.
static void emitTiles(ExpandScaleOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value result = range.lookup(op.getResult());
  int64_t rank = getTensorType(op.getResult()).getRank();
  ScaleExpander expander(op, range);
  int64_t blockRows = expander.getBlockRows();
  Value rows = toIndex(b, getExpandedRows(b, op, range.lookup(op.getSize())));
  emitScaleBands(
      range,
      {result, getScaleLayout(op.getType()),
       getLeadingSizes(b, result, rank - 2), rows, expander.getCols()},
      [&](ValueRange batch, Value first, Value count, Value buffer) {
        Value firstBlock = div(b, first, blockRows);
        emitLoop(b, getIndex(b, 0), ceilDiv(b, count, blockRows), [&](Value i) {
          Value row = mul(b, i, blockRows);
          expander.emitRows(batch, add(b, firstBlock, i), buffer, {}, row,
                            min(b, getIndex(b, blockRows), sub(b, count, row)));
        });
      });
}

void emitItems(ExpandScaleOp op, const ItemRange &range) {
  if (!getScaleLayout(op.getResult().getType()).isLinear())
    return emitTiles(op, range);
  emitLinear(op, range);
}

} // namespace blockscale::cpu

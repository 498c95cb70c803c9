//===- PanelQuantizer.cpp - Quantization in blocks of rows ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PanelQuantizer.h"
#include "GlobalFactorsSource.h"

using namespace mlir;

namespace blockscale::cpu {

Value countPanelItems(ImplicitLocOpBuilder &b, Value rows, Value cols) {
  return mul(b, ceilDiv(b, rows, kQuantizePanelRows),
             ceilDiv(b, cols, kQuantizePanelCols));
}

/// Whether the steps of all panels end where a row does or before, and rows
/// that share bytes exist. Groups may end anywhere.
static bool canReadInPlace(QuantizeOp op) {
  ArrayRef<int64_t> shape = op.getX().getType().getShape();
  int64_t rows = shape.end()[-2], cols = shape.end()[-1];
  return !op.getOffsets() && !ShapedType::isDynamic(rows) && rows % 2 == 0 &&
         !ShapedType::isDynamic(cols) && cols % kBandColsPerStep == 0;
}

static BandForm getBandForm(QuantizeOp op) {
  BlockFormat format{op.getArithmetic(), getElementFormat(op.getData()),
                     op.getBlockSize()};
  bool pairsRows = op.getTransposed() && format.getCodesPerByte() == 2;
  return {format, op.getBlock()[1],
          PanelScales::getScaleCols(op.getScaleForm()), pairsRows,
          canReadInPlace(op)};
}

PanelQuantizer::PanelQuantizer(QuantizeOp op, const ItemRange &range)
    : b(range.b), form(getBandForm(op)),
      band(b, form, range.lookup(op.getX()), range.lookup(op.getRng())),
      codes(b, range.lookup(op.getData()), form, op.getTransposed()),
      scales(b, op.getScaleForm(), form.getRows()) {}

void PanelQuantizer::emitPanel(const Panel &panel,
                               const ScaleMatrix &scaleMatrix,
                               const GlobalFactors &global) {
  int64_t height = form.getRows();
  emitLoop(
      b, getIndex(b, 0), panel.rows,
      [&](Value row) {
        Value rows = getExtent(b, panel.rows, row, height);
        Indices first =
            append(panel.batch, {add(b, panel.firstRow, row), panel.firstCol});
        band.emitLoad(first, rows, panel.cols);
        band.emitScales(global, rows, panel.cols,
                        scales.getBand(div(b, row, height)));
        emitLoop(
            b, getIndex(b, 0), rows,
            [&](Value i) {
              Value inPanel = add(b, row, i);
              band.emitCodes(i, panel.cols, codes.getRow(inPanel));
              codes.emitRowDone(panel, inPanel);
            },
            form.getByteRows());
      },
      height);
  codes.emitPanelDone(panel);
  scales.emitPanelDone(panel, scaleMatrix);
}

void PanelQuantizer::emitFree() {
  band.emitFree();
  codes.emitFree();
  scales.emitFree();
}

void emitPanelItems(QuantizeOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX()), scale = range.lookup(op.getScale());
  int64_t rank = getTensorType(op.getX()).getRank();
  Value rows = getDim(b, x, rank - 2), cols = getDim(b, x, rank - 1);
  Indices sizes = getLeadingSizes(b, x, rank - 2);
  sizes.append({ceilDiv(b, rows, kQuantizePanelRows),
                ceilDiv(b, cols, kQuantizePanelCols)});
  const numerics::ScaleLayout &layout = getScaleLayout(op.getScale().getType());
  GlobalFactorsSource factors(op, range);
  PanelQuantizer quantizer(op, range);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices index = delinearize(b, item, sizes);
    Panel panel;
    panel.firstCol = mul(b, index.pop_back_val(), kQuantizePanelCols);
    panel.firstRow = mul(b, index.pop_back_val(), kQuantizePanelRows);
    panel.rows = getExtent(b, rows, panel.firstRow, kQuantizePanelRows);
    panel.cols = getExtent(b, cols, panel.firstCol, kQuantizePanelCols);
    panel.batch = index;
    quantizer.emitPanel(panel, ScaleMatrix(b, scale, layout, panel.batch),
                        factors.get(panel.batch));
  });
  quantizer.emitFree();
}

} // namespace blockscale::cpu

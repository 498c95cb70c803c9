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
static bool canReadInPlace(const QuantizeSpec &spec) {
  int64_t rows = spec.shape.end()[-2], cols = spec.shape.end()[-1];
  return !spec.offsets && !ShapedType::isDynamic(rows) && rows % 2 == 0 &&
         !ShapedType::isDynamic(cols) && cols % kBandColsPerStep == 0;
}

static BandForm getBandForm(const QuantizeSpec &spec) {
  bool pairsRows = spec.transposed && spec.format.getCodesPerByte() == 2;
  return {spec.format, spec.block[1], PanelScales::getScaleCols(spec.scaleForm),
          pairsRows, canReadInPlace(spec)};
}

PanelQuantizer::PanelQuantizer(const QuantizeSpec &spec)
    : b(spec.b), form(getBandForm(spec)), band(b, form, spec.x, spec.rng),
      codes(b, spec.data, form, spec.transposed),
      scales(b, spec.scaleForm, form.getRows()) {}

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

void emitPanelItems(const QuantizeSpec &spec, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value rows = spec.getRows(), cols = spec.getCols();
  Indices sizes = spec.getBatch();
  sizes.append({ceilDiv(b, rows, kQuantizePanelRows),
                ceilDiv(b, cols, kQuantizePanelCols)});
  GlobalFactorsSource factors(spec);
  PanelQuantizer quantizer(spec);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices index = delinearize(b, item, sizes);
    Panel panel;
    panel.firstCol = mul(b, index.pop_back_val(), kQuantizePanelCols);
    panel.firstRow = mul(b, index.pop_back_val(), kQuantizePanelRows);
    panel.rows = getExtent(b, rows, panel.firstRow, kQuantizePanelRows);
    panel.cols = getExtent(b, cols, panel.firstCol, kQuantizePanelCols);
    panel.batch = index;
    quantizer.emitPanel(panel,
                        ScaleMatrix(b, spec.scale, spec.layout, panel.batch),
                        factors.get(panel.batch));
  });
  quantizer.emitFree();
}

} // namespace blockscale::cpu

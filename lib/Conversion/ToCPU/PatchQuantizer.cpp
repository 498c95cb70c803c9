//===- PatchQuantizer.cpp - Quantization in blocks of rows ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PatchQuantizer.h"
#include "GlobalFactorsSource.h"

using namespace mlir;

namespace blockscale::cpu {

Value countPatchItems(ImplicitLocOpBuilder &b, Value rows, Value cols) {
  return mul(b, ceilDiv(b, rows, kPatchRows), ceilDiv(b, cols, kPatchCols));
}

/// Whether the steps of all patches end where a row does or before, and rows
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
          PatchScales::getScaleCols(op.getScaleForm()), pairsRows,
          canReadInPlace(op)};
}

PatchQuantizer::PatchQuantizer(QuantizeOp op, const ItemRange &range)
    : b(range.b), form(getBandForm(op)),
      band(b, form, range.lookup(op.getX()), range.lookup(op.getRng())),
      codes(b, range.lookup(op.getData()), form, op.getTransposed()),
      scales(b, op.getScaleForm(), form.getRows()) {}

void PatchQuantizer::emitPatch(const Patch &patch,
                               const ScaleMatrix &scaleMatrix,
                               const GlobalFactors &global) {
  int64_t height = form.getRows();
  emitLoop(
      b, getIndex(b, 0), patch.rows,
      [&](Value row) {
        Value rows = getExtent(b, patch.rows, row, height);
        Indices first =
            append(patch.batch, {add(b, patch.firstRow, row), patch.firstCol});
        band.emitLoad(first, rows, patch.cols);
        band.emitScales(global, rows, patch.cols,
                        scales.getBand(div(b, row, height)));
        emitLoop(
            b, getIndex(b, 0), rows,
            [&](Value i) {
              Value inPatch = add(b, row, i);
              band.emitCodes(i, patch.cols, codes.getRow(inPatch));
              codes.emitRowDone(patch, inPatch);
            },
            form.getByteRows());
      },
      height);
  codes.emitPatchDone(patch);
  scales.emitPatchDone(patch, scaleMatrix);
}

void PatchQuantizer::emitFree() {
  band.emitFree();
  codes.emitFree();
  scales.emitFree();
}

void emitPatchItems(QuantizeOp op, const ItemRange &range) {
  ImplicitLocOpBuilder &b = range.b;
  Value x = range.lookup(op.getX()), scale = range.lookup(op.getScale());
  int64_t rank = getTensorType(op.getX()).getRank();
  Value rows = getDim(b, x, rank - 2), cols = getDim(b, x, rank - 1);
  Indices sizes = getLeadingSizes(b, x, rank - 2);
  sizes.append({ceilDiv(b, rows, kPatchRows), ceilDiv(b, cols, kPatchCols)});
  LayoutAttr layout = getLayout(op.getScale().getType());
  GlobalFactorsSource factors(op, range);
  PatchQuantizer quantizer(op, range);
  emitLoop(b, range.begin, range.end, [&](Value item) {
    Indices index = delinearize(b, item, sizes);
    Patch patch;
    patch.firstCol = mul(b, index.pop_back_val(), kPatchCols);
    patch.firstRow = mul(b, index.pop_back_val(), kPatchRows);
    patch.rows = getExtent(b, rows, patch.firstRow, kPatchRows);
    patch.cols = getExtent(b, cols, patch.firstCol, kPatchCols);
    patch.batch = index;
    quantizer.emitPatch(patch, ScaleMatrix(b, scale, layout, patch.batch),
                        factors.get(patch.batch));
  });
  quantizer.emitFree();
}

} // namespace blockscale::cpu

//===- GroupedForm.cpp - Where groups and their scales lie ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupedForm.h"

using namespace mlir;
using blockscale::numerics::kTileCols;
using blockscale::numerics::kTileRows;

namespace blockscale::cpu {

GroupedForm::GroupedForm(const QuantizeSpec &spec, int64_t pieceSize)
    : spec(spec), b(spec.b), form(spec.scaleForm) {
  Indices sizes = getLeadingSizes(b, spec.x, 2);
  int64_t unit = spec.block[spec.groupDim];
  across = sizes[1 - spec.groupDim];
  scaleRows = ceilDiv(b, sizes[form[0].dim], form[0].divisor);
  scaleCols = ceilDiv(b, sizes[form[1].dim], form[1].divisor);
  if (isGroupedLayout())
    pieceSize = alongScaleRows() ? kTileRows * form[0].divisor
                                 : kTileCols * form[1].divisor;
  dim = GroupedDim::get(b, spec.offsets, div(b, sizes[spec.groupDim], unit),
                        unit, pieceSize / unit);
}

Value GroupedForm::toElements(Value blocks) const {
  return mul(b, blocks, dim.unit);
}

Value GroupedForm::toScales(Value blocks) const {
  return mul(b, blocks, dim.unit / form[alongScaleRows() ? 0 : 1].divisor);
}

Value GroupedForm::getPieceCount() const {
  return numerics::getMostTiles(Lanes(b, dim.extent), Lanes(b, dim.count),
                                dim.tileSize);
}

Value GroupedForm::getTilesAcross() const {
  return alongScaleRows() ? ceilDiv(b, scaleCols, kTileCols)
                          : ceilDiv(b, scaleRows, kTileRows);
}

ScaleMatrix GroupedForm::getScales(const Group &group) const {
  if (!isGroupedLayout())
    return ScaleMatrix(b, spec.scale, spec.layout, {});
  Value zero = getIndex(b, 0), first = toScales(group.begin);
  Value firstTile = mul(b, group.tilesBefore, getTilesAcross());
  if (alongScaleRows())
    return ScaleMatrix::getGroup(b, spec.scale, firstTile, getTilesAcross(),
                                 first, zero);
  Value cols = sub(b, toScales(group.end), first);
  return ScaleMatrix::getGroup(b, spec.scale, firstTile,
                               ceilDiv(b, cols, kTileCols), zero, first);
}

} // namespace blockscale::cpu

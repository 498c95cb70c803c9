//===- TilePadding.cpp - Memory beside tiles ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TilePadding.h"
#include "Arithmetic.h"
#include "DeviceEmission/DeviceCode.h"
#include "EpilogueWriter.h"

using namespace mlir;

namespace blockscale::products {

using emit::Lanes;
using Predicate = arith::CmpIPredicate;

void emitTilePadding(KernelBuilder &b, const GemmSpec &spec,
                     const GemmArguments &arguments, const TileCoord &tile,
                     Value thread, int64_t threads) {
  Lanes firstRow = tile.row * spec.schedule.getRows();
  Lanes firstCol = tile.col * spec.getResultCols();
  Lanes endRow = firstRow + spec.schedule.getRows();
  Lanes endCol = firstCol + spec.getResultCols();
  auto getPaddedEnd = [&](Lanes end, Lanes size, int64_t multiple) {
    Lanes padded = (size + (multiple - 1)) & -multiple;
    return select(compare(Predicate::ult, end, size), end,
                  maxUnsigned(end, padded));
  };
  Lanes paddedRow = getPaddedEnd(endRow, tile.product.rows, kTileRows);
  Lanes paddedCol =
      getPaddedEnd(endCol, Lanes(b, arguments.cols), Sink::kPaddedCols);
  // First rows below the tile, then columns beside it.
  emitCount(b, b.i32(2), {}, [&](Lanes region, ValueRange) {
    Lanes isBelow = compare(Predicate::eq, region, 0);
    Lanes rowBegin = select(isBelow, endRow, firstRow);
    Lanes rowEnd = select(isBelow, paddedRow, endRow);
    Lanes colBegin = select(isBelow, firstCol, endCol);
    Lanes fragments = (paddedCol - colBegin) >> llvm::Log2_64(kFragment);
    Lanes count = (rowEnd - rowBegin) * fragments;
    emitWhile(
        b, thread,
        [&](ValueRange values) {
          return blockscale::isBelow(b, values.front(), count);
        },
        [&](ValueRange values) {
          Lanes number(b, values.front());
          Lanes line = divide(b, number, fragments);
          Lanes row = rowBegin + line;
          Lanes col = colBegin + (number - line * fragments) * kFragment;
          const ProductRange &product = tile.product;
          Value no = arith::ConstantOp::create(b, b.getBoolAttr(false));
          ResultRow padding = {product.number,
                               tile.firstResult + toI64(b, row),
                               no,
                               row,
                               product.rows,
                               product.firstBand};
          createRowWriter(b, spec, arguments, padding)->emitPadding(col);
          return SmallVector<Value>{number + threads};
        });
    return SmallVector<Value>();
  });
}

void emitSinkRest(KernelBuilder &b, const GemmSpec &spec,
                  const GemmArguments &arguments, const ProductRange &product,
                  Value thread, Value cluster, Value clusters) {
  Value isOne = compare(Predicate::ult, Lanes(b, thread), kTileRows);
  emit::emitIf(b, isOne, [&] {
    spec.epilogue->sink->emitRest(
        b, arguments.sink, arguments.cols,
        {product.firstBand, thread, cluster, clusters});
  });
}

} // namespace blockscale::products

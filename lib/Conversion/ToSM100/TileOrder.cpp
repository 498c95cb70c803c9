//===- TileOrder.cpp - Which tiles a thread block computes ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TileOrder.h"
#include "../ToGPU/DeviceCode.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace blockscale::sm100 {

using cpu::Lanes;

static Lanes divide(KernelBuilder &b, Lanes x, Lanes y) {
  return Lanes(b, b.createOrFold<arith::DivUIOp>(x, y));
}

Value emitCeilDiv(KernelBuilder &b, Value value, int64_t divisor) {
  Lanes x(b, value);
  return divide(b, x + (divisor - 1), x.like(divisor));
}

SmallVector<Value>
emitCount(KernelBuilder &b, Value count, ValueRange inits,
          function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop = scf::ForOp::create(b, b.i32(0), count, b.i32(1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  SmallVector<Value> results =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  // The loop makes its own end where nothing is carried.
  if (!inits.empty())
    scf::YieldOp::create(b, results);
  return SmallVector<Value>(loop.getResults());
}

TileOrder::TileOrder(KernelBuilder &b, const GemmSpec &spec,
                     const GemmArguments &arguments, const Cluster &cluster)
    : spec(spec), cluster(cluster),
      tileRows(emitCeilDiv(b, arguments.rows, spec.schedule.getRows())),
      tileCols(emitCeilDiv(b, arguments.cols,
                           spec.schedule.getCols() * cluster.getPairs())),
      tiles(Lanes(b, tileRows) * Lanes(b, tileCols) *
            Lanes(b, arguments.matrices) * spec.schedule.getSplits()),
      steps(emitCeilDiv(b, arguments.depth, spec.format.getTileElements())),
      partSteps(emitCeilDiv(b, steps, spec.schedule.getSplits())) {}

TilePlace TileOrder::getPlace(KernelBuilder &b, Value number) const {
  int64_t band = spec.schedule.getBand(), splits = spec.schedule.getSplits();
  Lanes rows(b, tileRows), cols(b, tileCols), rest(b, number);
  Lanes sums = divide(b, rest, rows * cols);
  rest = rest - sums * (rows * cols);
  Lanes bandNumber = divide(b, rest, cols * band);
  rest = rest - bandNumber * (cols * band);
  Lanes first = bandNumber * band;
  Lanes height = minUnsigned(rows - first, rows.like(band));
  Lanes col = divide(b, rest, height);
  Lanes row = first + (rest - col * height);
  col = col * cluster.getPairs() + Lanes(b, cluster.pair);
  if (splits == 1)
    return {sums, row, col, sums, b.i32(0), steps};
  Lanes matrix = divide(b, sums, sums.like(splits));
  Lanes all(b, steps), part(b, partSteps);
  Lanes begin = minUnsigned((sums - matrix * splits) * part, all);
  return {matrix, row, col, sums, begin, minUnsigned(begin + part, all)};
}

SmallVector<Value> TileOrder::emitTiles(
    KernelBuilder &b, ValueRange inits,
    function_ref<SmallVector<Value>(const TilePlace &, ValueRange)> body)
    const {
  // Of thread blocks, as a number of clusters.
  int64_t blocks = cluster.getTileBlocks() * cluster.getPairs();
  auto getClusters = [&](Value index) -> Value {
    Lanes number(b, arith::IndexCastOp::create(b, b.getI32Type(), index));
    return number >> llvm::Log2_64(blocks);
  };
  SmallVector<Value> carried = {getClusters(emitBlockNumber(b))};
  llvm::append_range(carried, inits);
  Value clusters = getClusters(gpu::GridDimOp::create(b, gpu::Dimension::x));
  carried = emitWhile(
      b, carried,
      [&](ValueRange values) { return isBelow(b, values.front(), tiles); },
      [&](ValueRange values) {
        Value number = values.front();
        SmallVector<Value> next = {Lanes(b, number) + Lanes(b, clusters)};
        llvm::append_range(next,
                           body(getPlace(b, number), values.drop_front()));
        return next;
      });
  carried.erase(carried.begin());
  return carried;
}

} // namespace blockscale::sm100

//===- GroupLoop.cpp - Groups bounded by offsets in memory ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupLoop.h"
#include "blockscale/Numerics/ScaleLayout.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::cpu {

static Value emitGroupEnd(ImplicitLocOpBuilder &b, const GroupedDim &dim,
                          Value index, Value begin) {
  Value offset = memref::LoadOp::create(b, dim.offsets, index);
  Lanes end(b, arith::IndexCastOp::create(b, b.getIndexType(), offset));
  return numerics::getGroupEnd(numerics::getWholeUnits(end, dim.unit),
                               Lanes(b, begin), Lanes(b, dim.extent));
}

/// Loops over the first `count` groups and gives begin and tilesBefore of the
/// next one.
static SmallVector<Value> emitLoopOver(ImplicitLocOpBuilder &b,
                                       const GroupedDim &dim, Value count,
                                       function_ref<void(const Group &)> body) {
  Value zero = getIndex(b, 0);
  return emitReduction(
      b, zero, count, ValueRange{zero, zero},
      [&](Value index, ValueRange carried) -> SmallVector<Value> {
        Value begin = carried[0], tilesBefore = carried[1];
        Value end = emitGroupEnd(b, dim, index, begin);
        body({index, begin, end, tilesBefore});
        Value tiles = ceilDiv(b, sub(b, end, begin), dim.tileSize);
        return {end, add(b, tilesBefore, tiles)};
      });
}

Value emitGroupLoop(ImplicitLocOpBuilder &b, const GroupedDim &dim,
                    function_ref<void(const Group &)> body) {
  return emitLoopOver(b, dim, getDim(b, dim.offsets, 0), body).front();
}

Group emitBehindGroups(ImplicitLocOpBuilder &b, const GroupedDim &dim) {
  Value count = getDim(b, dim.offsets, 0);
  SmallVector<Value> before = emitLoopOver(b, dim, count, [](const Group &) {});
  return {count, before[0], before[0], before[1]};
}

Group emitFindGroup(ImplicitLocOpBuilder &b, const GroupedDim &dim,
                    Value index) {
  SmallVector<Value> before = emitLoopOver(b, dim, index, [](const Group &) {});
  return {index, before[0], emitGroupEnd(b, dim, index, before[0]), before[1]};
}

} // namespace blockscale::cpu

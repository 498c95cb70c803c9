//===- GroupLoop.cpp - Groups bounded by offsets in memory ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupLoop.h"
#include "blockscale/Numerics/GroupEnds.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::emit {

GroupedDim GroupedDim::get(ImplicitLocOpBuilder &b, Value offsets, Value extent,
                           int64_t unit, int64_t tileSize) {
  auto loadEnd = [&b, offsets](Lanes index) -> Lanes {
    Value end = memref::LoadOp::create(b, offsets, Value(index));
    return {b, arith::IndexCastOp::create(b, b.getIndexType(), end)};
  };
  return {getDim(b, offsets, 0), Lanes(b, extent), unit, tileSize, loadEnd};
}

static Lanes emitGroupEnd(const GroupedDim &dim, Lanes index, Lanes begin) {
  Lanes end = dim.loadEnd(index);
  if (dim.unit == 1)
    return numerics::getGroupEnd(end, begin, dim.extent, /*unit=*/1);
  return numerics::getGroupEnd(end, begin * dim.unit, dim.extent * dim.unit,
                               dim.unit) /
         dim.unit;
}

/// Loops over the first `count` groups. The first two values are begin and
/// tilesBefore of the next group, and the others those that `body` carries.
static SmallVector<Value>
emitLoopOver(ImplicitLocOpBuilder &b, const GroupedDim &dim, Lanes count,
             ValueRange inits,
             function_ref<SmallVector<Value>(const Group &, ValueRange)> body) {
  Value zero = getIndex(b, 0);
  SmallVector<Value> all = {zero, zero};
  llvm::append_range(all, inits);
  return emitReduction(
      b, zero, count, all,
      [&](Lanes index, ValueRange carried) -> SmallVector<Value> {
        Lanes begin(b, carried[0]), tilesBefore(b, carried[1]);
        Lanes end = emitGroupEnd(dim, index, begin);
        SmallVector<Value> next =
            body({index, begin, end, tilesBefore}, carried.drop_front(2));
        Lanes tiles = ceilDiv(b, end - begin, dim.tileSize);
        next.insert(next.begin(), {end, tilesBefore + tiles});
        return next;
      });
}

SmallVector<Value> emitGroupReduction(
    ImplicitLocOpBuilder &b, const GroupedDim &dim, ValueRange inits,
    function_ref<SmallVector<Value>(const Group &, ValueRange)> body) {
  SmallVector<Value> all = emitLoopOver(b, dim, dim.count, inits, body);
  return SmallVector<Value>(ArrayRef<Value>(all).drop_front(2));
}

Lanes emitGroupLoop(ImplicitLocOpBuilder &b, const GroupedDim &dim,
                    function_ref<void(const Group &)> body) {
  return {
      b,
      emitLoopOver(b, dim, dim.count, {}, [&](const Group &group, ValueRange) {
        body(group);
        return SmallVector<Value>();
      }).front()};
}

/// begin and tilesBefore of the group after the first `count` ones.
static std::pair<Lanes, Lanes> emitSkip(ImplicitLocOpBuilder &b,
                                        const GroupedDim &dim, Lanes count) {
  SmallVector<Value> next =
      emitLoopOver(b, dim, count, {}, [](const Group &, ValueRange) {
        return SmallVector<Value>();
      });
  return {Lanes(b, next[0]), Lanes(b, next[1])};
}

Group emitBehindGroups(ImplicitLocOpBuilder &b, const GroupedDim &dim) {
  auto [begin, tilesBefore] = emitSkip(b, dim, dim.count);
  return {dim.count, begin, begin, tilesBefore};
}

Group emitGroupAt(ImplicitLocOpBuilder &b, const GroupedDim &dim, Value index) {
  Lanes number(b, index);
  auto [begin, tilesBefore] = emitSkip(b, dim, number);
  return {number, begin, emitGroupEnd(dim, number, begin), tilesBefore};
}

} // namespace blockscale::emit

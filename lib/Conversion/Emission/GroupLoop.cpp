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

/// The group `index` that begins at `begin`, and in the source at `source`.
static Group emitGroup(const GroupedDim &dim, Lanes index, Lanes begin,
                       Lanes tilesBefore, Lanes source) {
  ImplicitLocOpBuilder &b = index.getBuilder();
  Lanes end = dim.loadEnd(index);
  if (dim.padUnit != 0) {
    end = numerics::getGroupEnd(end, source, dim.sourceExtent, /*unit=*/1);
    Lanes size = ceilDiv(b, end - source, dim.padUnit);
    return {index,       begin,  begin + size * (dim.padUnit / dim.unit),
            tilesBefore, source, end};
  }
  if (dim.unit == 1)
    end = numerics::getGroupEnd(end, begin, dim.extent, /*unit=*/1);
  else
    end = numerics::getGroupEnd(end, begin * dim.unit, dim.extent * dim.unit,
                                dim.unit) /
          dim.unit;
  return {index, begin, end, tilesBefore};
}

/// Values that a loop carries of each group: begin and tilesBefore of the next
/// one, and, where groups are padded, its begin in the source.
static size_t getCarried(const GroupedDim &dim) {
  return dim.padUnit != 0 ? 3 : 2;
}

/// The group `index` of such values.
static Group emitGroup(ImplicitLocOpBuilder &b, const GroupedDim &dim,
                       Lanes index, ValueRange carried) {
  return emitGroup(dim, index, Lanes(b, carried[0]), Lanes(b, carried[1]),
                   dim.padUnit != 0 ? Lanes(b, carried[2]) : Lanes());
}

/// Loops over the first `count` groups, with the values of the next group
/// before those that `body` carries.
static SmallVector<Value>
emitLoopOver(ImplicitLocOpBuilder &b, const GroupedDim &dim, Lanes count,
             ValueRange inits,
             function_ref<SmallVector<Value>(const Group &, ValueRange)> body) {
  Value zero = getIndex(b, 0);
  size_t own = getCarried(dim);
  SmallVector<Value> all(own, zero);
  llvm::append_range(all, inits);
  return emitReduction(
      b, zero, count, all,
      [&](Lanes index, ValueRange carried) -> SmallVector<Value> {
        Group group = emitGroup(b, dim, index, carried);
        SmallVector<Value> next = body(group, carried.drop_front(own));
        Lanes tiles = ceilDiv(b, group.end - group.begin, dim.tileSize);
        SmallVector<Value> values = {group.end, group.tilesBefore + tiles};
        if (dim.padUnit != 0)
          values.push_back(group.sourceEnd);
        next.insert(next.begin(), values.begin(), values.end());
        return next;
      });
}

SmallVector<Value> emitGroupReduction(
    ImplicitLocOpBuilder &b, const GroupedDim &dim, ValueRange inits,
    function_ref<SmallVector<Value>(const Group &, ValueRange)> body) {
  SmallVector<Value> all = emitLoopOver(b, dim, dim.count, inits, body);
  return SmallVector<Value>(ArrayRef<Value>(all).drop_front(getCarried(dim)));
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

/// The values of the group after the first `count` ones.
static SmallVector<Value> emitSkip(ImplicitLocOpBuilder &b,
                                   const GroupedDim &dim, Lanes count) {
  return emitLoopOver(b, dim, count, {}, [](const Group &, ValueRange) {
    return SmallVector<Value>();
  });
}

Group emitBehindGroups(ImplicitLocOpBuilder &b, const GroupedDim &dim) {
  SmallVector<Value> next = emitSkip(b, dim, dim.count);
  Lanes begin(b, next[0]);
  return {dim.count, begin, begin, Lanes(b, next[1])};
}

Group emitGroupAt(ImplicitLocOpBuilder &b, const GroupedDim &dim, Value index) {
  Lanes number(b, index);
  return emitGroup(b, dim, number, emitSkip(b, dim, number));
}

} // namespace blockscale::emit

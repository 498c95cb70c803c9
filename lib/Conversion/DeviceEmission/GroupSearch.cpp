//===- GroupSearch.cpp - Groups bounded by offsets in memory --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupSearch.h"
#include "DeviceCode.h"
#include "blockscale/Numerics/ScaleLayout.h"

using namespace mlir;

namespace blockscale {

using emit::add;
using emit::getIndex;
using emit::Lanes;

/// Finds groups by a loop over all ends: all threads read the same ends, and
/// none waits for a comparison.
SmallVector<Value> emitFindGroups(KernelBuilder &b, Value offsets, Value count,
                                  ValueRange positions) {
  SmallVector<Value> none(positions.size(), count);
  return emit::emitReduction(
      b, getIndex(b, 0), toIndex(b, count), none,
      [&](Value i, ValueRange found) -> SmallVector<Value> {
        Value index = arith::IndexCastOp::create(b, b.getI64Type(), i);
        Value end = emitLoadBits(b, offsets, b.getI32Type(), i);
        end = arith::ExtSIOp::create(b, b.getI64Type(), end);
        SmallVector<Value> next;
        for (auto [position, first] : llvm::zip_equal(positions, found)) {
          next.push_back(numerics::takeGroup(Lanes(b, first), Lanes(b, index),
                                             Lanes(b, end), Lanes(b, position),
                                             Lanes(b, count)));
        }
        return next;
      });
}

/// Loops over the groups with values that are carried from one to the next.
static SmallVector<Value> emitGroupReduction(
    KernelBuilder &b, const DeviceGroups &groups, ValueRange inits,
    function_ref<SmallVector<Value>(const DeviceGroup &, ValueRange)> body) {
  Value zero = getIndex(b, 0);
  SmallVector<Value> all = {zero, zero};
  llvm::append_range(all, inits);
  all = emit::emitReduction(
      b, zero, groups.count, all,
      [&](Value index, ValueRange carried) -> SmallVector<Value> {
        Value begin = carried[0], tilesBefore = carried[1];
        Lanes offset(b, toIndex(b, emitLoadBits(b, groups.offsets,
                                                b.getI32Type(), index)));
        Value end =
            numerics::getGroupEnd(numerics::getWholeUnits(offset, groups.unit),
                                  Lanes(b, begin), Lanes(b, groups.extent));
        SmallVector<Value> next =
            body({index, begin, end, tilesBefore}, carried.drop_front(2));
        Value tiles =
            emit::ceilDiv(b, emit::sub(b, end, begin), groups.tileSize);
        next.insert(next.begin(), {end, add(b, tilesBefore, tiles)});
        return next;
      });
  return SmallVector<Value>(ArrayRef<Value>(all).drop_front(2));
}

void emitGroupLoop(KernelBuilder &b, const DeviceGroups &groups,
                   function_ref<void(const DeviceGroup &)> body) {
  emitGroupReduction(b, groups, {}, [&](const DeviceGroup &group, ValueRange) {
    body(group);
    return SmallVector<Value>();
  });
}

/// The groups that `count` searches find: for search i the group for which
/// `holds(group, i)` is true.
static SmallVector<DeviceGroup>
emitSearches(KernelBuilder &b, const DeviceGroups &groups, size_t count,
             function_ref<Value(const DeviceGroup &, size_t)> holds) {
  SmallVector<Value> nothing(4 * count, getIndex(b, 0));
  SmallVector<Value> found = emitGroupReduction(
      b, groups, nothing, [&](const DeviceGroup &group, ValueRange carried) {
        SmallVector<Value> next;
        for (size_t i = 0; i < count; ++i) {
          Value isFound = holds(group, i);
          for (Value value :
               {group.index, group.begin, group.end, group.tilesBefore})
            next.push_back(arith::SelectOp::create(b, isFound, value,
                                                   carried[next.size()]));
        }
        return next;
      });
  SmallVector<DeviceGroup> result;
  for (ArrayRef<Value> rest = found; !rest.empty(); rest = rest.drop_front(4))
    result.push_back({rest[0], rest[1], rest[2], rest[3]});
  return result;
}

DeviceGroup emitFindGroup(KernelBuilder &b, const DeviceGroups &groups,
                          function_ref<Value(const DeviceGroup &)> holds) {
  return emitSearches(
             b, groups, 1,
             [&](const DeviceGroup &group, size_t) { return holds(group); })
      .front();
}

SmallVector<DeviceGroup> emitFindGroups(KernelBuilder &b,
                                        const DeviceGroups &groups,
                                        ValueRange blocks) {
  return emitSearches(b, groups, blocks.size(),
                      [&](const DeviceGroup &group, size_t i) {
                        return isIn(b, blocks[i], group.begin, group.end);
                      });
}

} // namespace blockscale

//===- GroupSearch.cpp - Which group has a row or a block -----------------===//
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

using emit::getIndex;
using emit::Group;
using emit::GroupedDim;
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

emit::GroupedDim getGroupedDim(KernelBuilder &b, Value offsets, Value count,
                               Value extent, int64_t unit, int64_t tileSize) {
  auto loadEnd = [&b, offsets](Value index) {
    return toIndex(b, emitLoadBits(b, offsets, b.getI32Type(), index));
  };
  return {count, extent, unit, tileSize, loadEnd};
}

/// The groups that `count` searches find: for search i the group for which
/// `holds(group, i)` is true.
static SmallVector<Group>
emitSearches(KernelBuilder &b, const GroupedDim &dim, size_t count,
             function_ref<Value(const Group &, size_t)> holds) {
  SmallVector<Value> nothing(4 * count, getIndex(b, 0));
  SmallVector<Value> found = emit::emitGroupReduction(
      b, dim, nothing, [&](const Group &group, ValueRange carried) {
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
  SmallVector<Group> result;
  for (ArrayRef<Value> rest = found; !rest.empty(); rest = rest.drop_front(4))
    result.push_back({rest[0], rest[1], rest[2], rest[3]});
  return result;
}

Group emitFindGroup(KernelBuilder &b, const GroupedDim &dim,
                    function_ref<Value(const Group &)> holds) {
  return emitSearches(b, dim, 1,
                      [&](const Group &group, size_t) { return holds(group); })
      .front();
}

SmallVector<Group> emitFindGroups(KernelBuilder &b, const GroupedDim &dim,
                                  ValueRange blocks) {
  return emitSearches(b, dim, blocks.size(), [&](const Group &group, size_t i) {
    return isIn(b, blocks[i], group.begin, group.end);
  });
}

} // namespace blockscale

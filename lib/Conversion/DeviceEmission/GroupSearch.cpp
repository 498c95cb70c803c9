//===- GroupSearch.cpp - Which group has a row or a block -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupSearch.h"
#include "DeviceCode.h"
#include "blockscale/Numerics/GroupEnds.h"

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Group;
using emit::GroupedDim;
using emit::Lanes;

Lanes toWord(KernelBuilder &b, Lanes value) {
  if (!value.getType().isIndex())
    return truncate(value, 32);
  return {b, arith::IndexCastUIOp::create(b, b.getI32Type(), value)};
}

Lanes saturate(KernelBuilder &b, Lanes value) {
  Lanes most = value.like(std::numeric_limits<int32_t>::max());
  return toWord(b, minUnsigned(value, most));
}

/// Finds groups by a loop over all ends: all threads read the same ends, and
/// none waits for a comparison. Ends are i32, so that a position that is none
/// is behind all of them.
SmallVector<Lanes> emitFindGroups(KernelBuilder &b, const GroupEnds &ends,
                                  ValueRange positions) {
  Lanes extent = saturate(b, ends.extent);
  SmallVector<Lanes> places;
  for (Value position : positions)
    places.push_back(saturate(b, Lanes(b, position)));
  SmallVector<Value> none(positions.size() + 1, b.i32(0));
  SmallVector<Value> found = emit::emitReduction(
      b, getIndex(b, 0), toIndex(b, ends.count), none,
      [&](Value i, ValueRange carried) -> SmallVector<Value> {
        Lanes end = numerics::getGroupEnd(
            emitLoadBits(b, ends.offsets, b.getI32Type(), i),
            Lanes(b, carried.front()), extent, ends.unit);
        SmallVector<Value> next = {end};
        for (auto [place, number] :
             llvm::zip_equal(places, carried.drop_front()))
          next.push_back(numerics::takeGroup(Lanes(b, number), end, place));
        return next;
      });
  SmallVector<Lanes> numbers;
  for (Value number : llvm::drop_begin(found))
    numbers.push_back(b.zext64(number));
  return numbers;
}

emit::GroupedDim getGroupedDim(KernelBuilder &b, Value offsets, Value count,
                               Value extent, int64_t unit, int64_t tileSize) {
  auto loadEnd = [&b, offsets](Lanes index) {
    return toIndex(b, emitLoadBits(b, offsets, b.getI32Type(), index));
  };
  return {Lanes(b, count), Lanes(b, extent), unit, tileSize, loadEnd};
}

/// The groups that `count` searches find: for search i the group for which
/// `holds(group, i)` is true.
static SmallVector<Group>
emitSearches(KernelBuilder &b, const GroupedDim &dim, size_t count,
             function_ref<Value(const Group &, size_t)> holds) {
  // Where groups are padded, their place in the source is found, too.
  size_t values = dim.padUnit != 0 ? 6 : 4;
  SmallVector<Value> nothing(values * count, getIndex(b, 0));
  SmallVector<Value> found = emit::emitGroupReduction(
      b, dim, nothing, [&](const Group &group, ValueRange carried) {
        Lanes all[] = {group.index,       group.begin,  group.end,
                       group.tilesBefore, group.source, group.sourceEnd};
        SmallVector<Value> next;
        for (size_t i = 0; i < count; ++i) {
          Value isFound = holds(group, i);
          for (Lanes value : ArrayRef(all).take_front(values))
            next.push_back(select(isFound, value, carried[next.size()]));
        }
        return next;
      });
  SmallVector<Group> result;
  for (ArrayRef<Value> rest = found; !rest.empty();
       rest = rest.drop_front(values)) {
    auto get = [&](size_t i) {
      return i < values ? Lanes(b, rest[i]) : Lanes();
    };
    result.push_back({get(0), get(1), get(2), get(3), get(4), get(5)});
  }
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

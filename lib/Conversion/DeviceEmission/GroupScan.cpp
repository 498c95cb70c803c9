//===- GroupScan.cpp - Groups that a warp searches together ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupScan.h"
#include "DeviceCode.h"
#include "WarpExchange.h"

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Group;
using emit::Lanes;

/// The lower 32 bits of an index.
static Lanes toWord(KernelBuilder &b, Lanes index) {
  return {b, arith::IndexCastUIOp::create(b, b.getI32Type(), index)};
}

namespace {

/// Values of the 32 groups of a step, one in each thread, i32: what
/// emit::Group has but for the index, and `tilesEnd`, the tiles before the next
/// group.
struct ScannedGroup {
  Lanes begin, end, tilesBefore, tilesEnd, source, sourceEnd;
};

/// Emits the steps of a search.
class GroupScan {
public:
  GroupScan(KernelBuilder &b, const emit::GroupedDim &dim, Lanes lane)
      : b(b), dim(dim), lane(lane), number(toWord(b, lane)) {}

  /// The groups from `first` (index) on, behind those whose last one has these
  /// ends.
  ScannedGroup scan(Lanes first, Lanes begin, Lanes tilesBefore, Lanes source);
  /// The number, of this step's groups, of the one that has `block`; behind all
  /// blocks any number.
  Lanes find(const ScannedGroup &groups, Lanes block);

private:
  /// The sum, or the maximum, of the words of all threads up to this one.
  Lanes sumUp(Lanes word, bool isMaximum = false);
  Lanes loadEnd(Lanes first);

  KernelBuilder &b;
  const emit::GroupedDim &dim;
  /// The number of the thread, as index and as i32.
  Lanes lane, number;
};

} // namespace

Lanes GroupScan::sumUp(Lanes word, bool isMaximum) {
  for (int64_t distance = 1; distance < kWarpThreads; distance *= 2) {
    Lanes other = emitShuffleUp(b, word, distance);
    // The first threads get their own words.
    word = isMaximum ? maxUnsigned(word, other)
                     : select(isBelow(number, distance), word, word + other);
  }
  return word;
}

/// The end that a thread loads; 0 where it cannot be one, whatever the groups
/// before are (numerics::getGroupEnd).
Lanes GroupScan::loadEnd(Lanes first) {
  Lanes index = first + lane;
  Lanes end = dim.loadEnd(emit::min(b, index, dim.count - 1));
  bool isPadded = dim.padUnit != 0;
  int64_t unit = isPadded ? 1 : dim.unit;
  Lanes extent = isPadded ? dim.sourceExtent : dim.extent * unit;
  // An end below 0 is a large number without a sign.
  Lanes isEnd = isBelow(index, dim.count) & isBelow(end, extent + 1);
  if (unit != 1)
    isEnd = isEnd & emit::isEqual(end % unit, 0);
  Lanes word = toWord(b, end);
  return select(isEnd, word, word.like(0));
}

ScannedGroup GroupScan::scan(Lanes first, Lanes begin, Lanes tilesBefore,
                             Lanes source) {
  ScannedGroup groups;
  // An end below those before it makes its group empty.
  groups.sourceEnd = maxUnsigned(sumUp(loadEnd(first), true), source);
  groups.source =
      select(isBelow(number, 1), source, emitShuffleUp(b, groups.sourceEnd, 1));
  Lanes size = groups.sourceEnd - groups.source;
  auto ceilDiv = [](Lanes x, int64_t y) { return (x + (y - 1)) / y; };
  Lanes units = dim.padUnit != 0
                    ? ceilDiv(size, dim.padUnit) * (dim.padUnit / dim.unit)
                    : size / dim.unit;
  groups.end = sumUp(units) + begin;
  groups.begin = groups.end - units;
  Lanes tiles = ceilDiv(units, dim.tileSize);
  groups.tilesEnd = sumUp(tiles) + tilesBefore;
  groups.tilesBefore = groups.tilesEnd - tiles;
  return groups;
}

Lanes GroupScan::find(const ScannedGroup &groups, Lanes block) {
  Lanes found = block.like(0);
  for (int64_t step = kWarpThreads / 2; step > 0; step /= 2) {
    Lanes end = emitShuffleFrom(b, groups.end, found + (step - 1));
    found = select(isBelow(block, end), found, found + step);
  }
  return found;
}

SmallVector<Group> emitFindGroupsInWarp(KernelBuilder &b,
                                        const emit::GroupedDim &dim, Lanes lane,
                                        ValueRange blocks) {
  GroupScan scan(b, dim, lane);
  // Ends are i32, so that what is no such number is behind all of them.
  SmallVector<Lanes> places;
  for (Value block : blocks) {
    Lanes most = getIndex(b, std::numeric_limits<int32_t>::max());
    places.push_back(toWord(b, emit::min(b, block, most)));
  }
  constexpr size_t kCarried = 3, kValues = 6;
  SmallVector<Value> nothing(kCarried + kValues * places.size(), b.i32(0));
  SmallVector<Value> last = emit::emitReduction(
      b, getIndex(b, 0), dim.count, nothing,
      [&](Lanes first, ValueRange carried) {
        auto get = [&](size_t i) { return Lanes(b, carried[i]); };
        ScannedGroup groups = scan.scan(first, get(0), get(1), get(2));
        SmallVector<Value> next;
        for (Lanes value : {groups.end, groups.tilesEnd, groups.sourceEnd})
          next.push_back(
              emitShuffleFrom(b, value, value.like(kWarpThreads - 1)));
        for (Lanes block : places) {
          Lanes found = scan.find(groups, block);
          Lanes begin = emitShuffleFrom(b, groups.begin, found);
          Lanes end = emitShuffleFrom(b, groups.end, found);
          Lanes isFound = compare(arith::CmpIPredicate::uge, block, begin) &
                          isBelow(block, end);
          Lanes values[] = {toWord(b, first) + found,
                            begin,
                            end,
                            emitShuffleFrom(b, groups.tilesBefore, found),
                            emitShuffleFrom(b, groups.source, found),
                            emitShuffleFrom(b, groups.sourceEnd, found)};
          for (Lanes value : values)
            next.push_back(select(isFound, value, get(next.size())));
        }
        return next;
      },
      kWarpThreads);
  SmallVector<Group> result;
  for (size_t i = 0; i < places.size(); ++i) {
    auto get = [&](size_t value) {
      return toIndex(b, b.zext64(last[kCarried + kValues * i + value]));
    };
    Group group = {get(0), get(1), get(2), get(3)};
    if (dim.padUnit != 0) {
      group.source = get(4);
      group.sourceEnd = get(5);
    }
    result.push_back(group);
  }
  return result;
}

} // namespace blockscale

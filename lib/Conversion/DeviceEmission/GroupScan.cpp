//===- GroupScan.cpp - Groups that a warp searches together ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GroupScan.h"
#include "DeviceCode.h"
#include "GroupSearch.h"
#include "WarpExchange.h"
#include "blockscale/Numerics/GroupEnds.h"

using namespace mlir;

namespace blockscale {

using emit::getIndex;
using emit::Group;
using emit::Lanes;

/// An i32 that is not negative as index.
static Lanes fromWord(KernelBuilder &b, Value word) {
  return toIndex(b, b.zext64(word));
}

namespace {

/// Values of the 32 groups of a step, one in each thread, i32: what emit::Group
/// has but for the index, and for each tile size the tiles before the group and
/// before the next one.
struct ScannedGroups {
  Lanes begin, end, source, sourceEnd;
  SmallVector<Lanes> tilesBefore, tilesEnd;
};

/// What a search knows behind some groups, i32.
struct Behind {
  Behind(KernelBuilder &b, ValueRange words)
      : end(b, words[0]), sourceEnd(b, words[1]) {
    for (Value word : words.drop_front(2))
      tilesEnd.emplace_back(b, word);
  }
  static size_t count(size_t sizes) { return 2 + sizes; }

  Lanes end, sourceEnd;
  SmallVector<Lanes> tilesEnd;
};

/// Emits the steps of a search.
class GroupScan {
public:
  /// For each of `tileSizes`, in units of `dim`, the tiles of groups are
  /// counted.
  GroupScan(KernelBuilder &b, const emit::GroupedDim &dim, Lanes lane,
            ArrayRef<int64_t> tileSizes)
      : b(b), dim(dim), lane(lane), number(saturate(b, lane)),
        tileSizes(tileSizes) {}

  /// Searches the groups that have `places` (index): these are numbers of
  /// units, or, where `areTiles`, of tiles of the first size. Gives the words
  /// behind all groups (Behind), and for each place the index of its group,
  /// begin, end, source, sourceEnd and the tiles before of each size; zeros
  /// where no group has the place.
  SmallVector<Value> search(ArrayRef<Lanes> places, bool areTiles);
  size_t countValues() const { return 5 + tileSizes.size(); }

private:
  /// The groups from `first` (index) on.
  ScannedGroups scan(Lanes first, const Behind &before);
  /// The number, of those of a step, of the group that has `place`; `ends` are
  /// those of groups. Behind all groups any number.
  Lanes find(Lanes ends, Lanes place);
  /// The sum, or the maximum, of the words of all threads up to this one.
  Lanes sumUp(Lanes word, bool isMaximum = false);
  Lanes loadEnd(Lanes first);

  KernelBuilder &b;
  const emit::GroupedDim &dim;
  /// The number of the thread, as index and as i32.
  Lanes lane, number;
  ArrayRef<int64_t> tileSizes;
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
/// before are.
Lanes GroupScan::loadEnd(Lanes first) {
  Lanes index = first + lane;
  Lanes end = dim.loadEnd(emit::min(b, index, dim.count - 1));
  bool isPadded = dim.padUnit != 0;
  int64_t unit = isPadded ? 1 : dim.unit;
  Lanes extent =
      saturate(b, isPadded ? dim.sourceExtent : dim.extent * dim.unit);
  // Ends are i32, and those below 0 are none.
  Lanes word = maxSigned(toWord(b, end), extent.like(0));
  word = numerics::keepGroupEnd(word, extent, unit);
  return select(isBelow(index, dim.count), word, word.like(0));
}

ScannedGroups GroupScan::scan(Lanes first, const Behind &before) {
  ScannedGroups groups;
  groups.sourceEnd =
      maxUnsigned(sumUp(loadEnd(first), /*isMaximum=*/true), before.sourceEnd);
  groups.source = select(isBelow(number, 1), before.sourceEnd,
                         emitShuffleUp(b, groups.sourceEnd, 1));
  Lanes size = groups.sourceEnd - groups.source;
  Lanes units = dim.padUnit != 0 ? numerics::ceilDivide(size, dim.padUnit) *
                                       (dim.padUnit / dim.unit)
                                 : size / dim.unit;
  groups.end = sumUp(units) + before.end;
  groups.begin = groups.end - units;
  for (auto [tileSize, tilesEnd] :
       llvm::zip_equal(tileSizes, before.tilesEnd)) {
    Lanes tiles = numerics::ceilDivide(units, tileSize);
    groups.tilesEnd.push_back(sumUp(tiles) + tilesEnd);
    groups.tilesBefore.push_back(groups.tilesEnd.back() - tiles);
  }
  return groups;
}

Lanes GroupScan::find(Lanes ends, Lanes place) {
  Lanes found = place.like(0);
  for (int64_t step = kWarpThreads / 2; step > 0; step /= 2) {
    Lanes end = emitShuffleFrom(b, ends, found + (step - 1));
    found = select(isBelow(place, end), found, found + step);
  }
  return found;
}

SmallVector<Value> GroupScan::search(ArrayRef<Lanes> indices, bool areTiles) {
  // Ends are i32, so that what is no such number is behind all of them.
  SmallVector<Lanes> places;
  for (Lanes index : indices)
    places.push_back(saturate(b, index));
  size_t carriedCount = Behind::count(tileSizes.size());
  SmallVector<Value> nothing(carriedCount + countValues() * places.size(),
                             b.i32(0));
  return emit::emitReduction(
      b, getIndex(b, 0), dim.count, nothing,
      [&](Lanes first, ValueRange carried) {
        ScannedGroups groups =
            scan(first, Behind(b, carried.take_front(carriedCount)));
        SmallVector<Lanes> ends = {groups.end, groups.sourceEnd};
        llvm::append_range(ends, groups.tilesEnd);
        SmallVector<Value> next;
        for (Lanes value : ends)
          next.push_back(
              emitShuffleFrom(b, value, value.like(kWarpThreads - 1)));
        Lanes begins = areTiles ? groups.tilesBefore.front() : groups.begin;
        for (Lanes place : places) {
          Lanes placeEnds = areTiles ? groups.tilesEnd.front() : groups.end;
          Lanes found = find(placeEnds, place);
          Lanes isFound = compare(arith::CmpIPredicate::uge, place,
                                  emitShuffleFrom(b, begins, found)) &
                          isBelow(place, emitShuffleFrom(b, placeEnds, found));
          SmallVector<Lanes> values = {toWord(b, first) + found};
          SmallVector<Lanes> ofGroup = {groups.begin, groups.end, groups.source,
                                        groups.sourceEnd};
          llvm::append_range(ofGroup, groups.tilesBefore);
          for (Lanes value : ofGroup)
            values.push_back(emitShuffleFrom(b, value, found));
          for (Lanes value : values)
            next.push_back(select(isFound, value, carried[next.size()]));
        }
        return next;
      },
      kWarpThreads);
}

/// The group of the values that a search has found for a place.
static Group getGroup(KernelBuilder &b, const emit::GroupedDim &dim,
                      ValueRange values) {
  auto get = [&](size_t i) { return fromWord(b, values[i]); };
  Group group = {get(0), get(1), get(2), get(5)};
  if (dim.padUnit != 0) {
    group.source = get(3);
    group.sourceEnd = get(4);
  }
  return group;
}

/// The groups that have `places`.
static SmallVector<Group> search(KernelBuilder &b, const emit::GroupedDim &dim,
                                 Lanes lane, ArrayRef<Lanes> places,
                                 bool areTiles) {
  GroupScan scan(b, dim, lane, dim.tileSize);
  SmallVector<Value> found = scan.search(places, areTiles);
  SmallVector<Group> groups;
  for (ValueRange rest = ValueRange(found).drop_front(Behind::count(1));
       !rest.empty(); rest = rest.drop_front(scan.countValues()))
    groups.push_back(getGroup(b, dim, rest));
  return groups;
}

SmallVector<Group> emitFindGroupsInWarp(KernelBuilder &b,
                                        const emit::GroupedDim &dim, Lanes lane,
                                        ValueRange blocks) {
  SmallVector<Lanes> places;
  for (Value block : blocks)
    places.emplace_back(b, block);
  return search(b, dim, lane, places, /*areTiles=*/false);
}

Group emitFindTileGroupInWarp(KernelBuilder &b, const emit::GroupedDim &dim,
                              Lanes lane, Lanes tile) {
  return search(b, dim, lane, tile, /*areTiles=*/true).front();
}

Lanes GroupStrip::hasGroup() const {
  return isBelow(group.source, group.sourceEnd);
}

SmallVector<Value> emitFindStripInWarp(KernelBuilder &b,
                                       const emit::GroupedDim &dim, Lanes lane,
                                       Lanes strip,
                                       ArrayRef<int64_t> tileRows) {
  SmallVector<int64_t> sizes = {dim.tileSize};
  llvm::append_range(sizes, tileRows);
  GroupScan scan(b, dim, lane, sizes);
  SmallVector<Value> found = scan.search(strip, /*areTiles=*/true);
  Behind behind(b, ValueRange(found).take_front(Behind::count(sizes.size())));
  SmallVector<Lanes> values;
  for (Value value : llvm::drop_begin(found, Behind::count(sizes.size())))
    values.emplace_back(b, value);
  // Padded groups have rows in the source.
  Lanes hasGroup = isBelow(values[3], values[4]);
  Lanes &begin = values[1], &end = values[2], &stripsBefore = values[5];
  begin = select(hasGroup, begin, behind.end);
  end = select(hasGroup, end, saturate(b, dim.extent));
  stripsBefore = select(hasGroup, stripsBefore, behind.tilesEnd.front());
  values.push_back(begin + (saturate(b, strip) - stripsBefore) * dim.tileSize);
  return SmallVector<Value>(llvm::to_vector_of<Value>(values));
}

GroupStrip getStrip(KernelBuilder &b, ValueRange words) {
  auto get = [&](size_t i) { return fromWord(b, words[i]); };
  GroupStrip strip;
  strip.group = {get(0), get(1), get(2), get(5), get(3), get(4)};
  for (Value tiles : words.drop_front(6).drop_back())
    strip.tilesBefore.push_back(fromWord(b, tiles));
  strip.firstRow = fromWord(b, words.back());
  return strip;
}

} // namespace blockscale

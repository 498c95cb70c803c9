//===- StripGroups.cpp - Groups of the blocks of a fragment ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripGroups.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/WarpExchange.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

static Lanes toI64(KernelBuilder &b, Lanes index) {
  return {b, arith::IndexCastOp::create(b, b.getI64Type(), index)};
}

/// The last element of the block of element `first`, i64. One that is not whole
/// ends behind all groups.
static Lanes getLastOfBlock(KernelBuilder &b, Lanes first, int64_t unit,
                            Lanes size) {
  Lanes last = first / unit * unit + (unit - 1);
  Lanes number = toI64(b, last);
  return select(isBelow(last, size), number,
                number.like(std::numeric_limits<int64_t>::max()));
}

/// The groups of all rows of a fragment. The threads that have the same rows
/// search for some of them each, and exchange what they find.
SmallVector<Lanes> StripGroups::findRows(const StripSpec &spec,
                                         const StripPosition &position,
                                         const GroupEnds &ends) {
  int64_t rows = spec.shape->fragmentRows;
  int64_t sharing = std::min(spec.shape->getLaneColumns(), rows);
  int64_t own = rows / sharing;
  Lanes first = position.row + position.laneColumn % sharing * own;
  SmallVector<Value> last;
  for (int64_t i = 0; i < own; ++i)
    last.push_back(getLastOfBlock(b, first + i, ends.unit, position.rows));
  SmallVector<Lanes> found = emitFindGroups(b, ends, last);
  SmallVector<Lanes> ofRows;
  for (int64_t row = 0; row < rows; ++row) {
    Lanes number = found[row % own];
    if (sharing > 1)
      number = extend(
          emitShuffleFrom(b, truncate(number, 32), row / own, sharing), 64);
    ofRows.push_back(number);
  }
  return ofRows;
}

StripGroups::StripGroups(KernelBuilder &b, const StripSpec &spec,
                         const StripPosition &position, Lanes count)
    : b(b), count(count) {
  int64_t places = spec.hasGroupsOfRows() ? spec.shape->fragmentRows : 1;
  numbers.assign(places, toI64(b, position.group));
  covered.assign(places, position.hasGroup);
}

StripGroups::StripGroups(KernelBuilder &b, const StripSpec &spec,
                         const StripPosition &position, Value offsets,
                         Lanes count)
    : b(b), count(count) {
  bool alongRows = spec.groupDim == GroupDim::Rows;
  Lanes first = alongRows ? position.row : position.column;
  Lanes size = alongRows ? position.rows : position.columns;
  GroupEnds ends{offsets, count, toI64(b, size), spec.getGroupUnit()};
  if (spec.hasGroupsOfRows()) {
    numbers = findRows(spec, position, ends);
  } else {
    int64_t blocks =
        spec.hasGroupsOfColumns() ? spec.shape->fragmentColumns : 1;
    SmallVector<Value> last;
    for (int64_t i = 0; i < blocks; ++i)
      last.push_back(getLastOfBlock(b, first + i, spec.getGroupUnit(), size));
    numbers = emitFindGroups(b, ends, last);
  }
  for (Lanes number : numbers)
    covered.push_back(isBelow(number, count));
}

} // namespace blockscale

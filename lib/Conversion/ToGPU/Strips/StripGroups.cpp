//===- StripGroups.cpp - Groups of the blocks of a fragment ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "StripGroups.h"
#include "DeviceEmission/DeviceCode.h"
#include "DeviceEmission/GroupSearch.h"

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

StripGroups::StripGroups(KernelBuilder &b, const StripSpec &spec,
                         const StripPosition &position, Value offsets,
                         Lanes count) {
  bool alongRows = spec.groupDim == GroupDim::Rows;
  Lanes first = alongRows ? position.row : position.column;
  Lanes size = alongRows ? position.rows : position.columns;
  int64_t blocks = spec.hasSeveralGroups() ? spec.shape->fragmentColumns : 1;
  SmallVector<Value> last;
  for (int64_t i = 0; i < blocks; ++i)
    last.push_back(getLastOfBlock(b, first + i, spec.getGroupUnit(), size));
  numbers = emitFindGroups(
      b, {offsets, count, toI64(b, size), spec.getGroupUnit()}, last);
  for (Lanes number : numbers)
    covered.push_back(isBelow(number, count));
}

} // namespace blockscale

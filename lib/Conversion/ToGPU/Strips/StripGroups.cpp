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

using emit::add;
using emit::getIndex;

/// The last element of the block of element `first`, i64. One that is not whole
/// ends behind all groups.
static Value getLastOfBlock(KernelBuilder &b, Value first, int64_t unit,
                            Value size) {
  Value begin = emit::mul(b, emit::div(b, first, unit), unit);
  Value last = add(b, begin, getIndex(b, unit - 1));
  Value number = arith::IndexCastOp::create(b, b.getI64Type(), last);
  return arith::SelectOp::create(b, isBelow(b, last, size), number,
                                 b.i64(std::numeric_limits<int64_t>::max()));
}

StripGroups::StripGroups(KernelBuilder &b, const StripSpec &spec,
                         const StripPosition &position, Value offsets,
                         Value count) {
  bool alongRows = spec.groupDim == GroupDim::Rows;
  Value first = alongRows ? position.row : position.column;
  Value size = alongRows ? position.rows : position.columns;
  int64_t blocks = spec.hasSeveralGroups() ? spec.fragmentColumns : 1;
  SmallVector<Value> last;
  for (int64_t i = 0; i < blocks; ++i)
    last.push_back(getLastOfBlock(b, add(b, first, getIndex(b, i)),
                                  spec.getGroupUnit(), size));
  Value extent = arith::IndexCastOp::create(b, b.getI64Type(), size);
  numbers =
      emitFindGroups(b, {offsets, count, extent, spec.getGroupUnit()}, last);
  for (Value number : numbers)
    covered.push_back(isBelow(b, number, count));
}

} // namespace blockscale

//===- PaddedGroups.cpp - Groups that a kernel pads -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PaddedGroups.h"
#include "DeviceCode.h"

using namespace mlir;

namespace blockscale {

using emit::Lanes;

emit::GroupedDim getPaddedDim(KernelBuilder &b, Value offsets, Value count,
                              Value rows, Lanes sourceRows, int64_t unit) {
  emit::GroupedDim dim = getGroupedDim(b, offsets, count, rows);
  dim.padUnit = unit;
  dim.sourceExtent = sourceRows;
  return dim;
}

void emitStoreEnds(KernelBuilder &b, const emit::GroupedDim &padded,
                   Value buffer, Lanes block, Lanes thread, int64_t threads) {
  Lanes isStorer = emit::isEqual(block, 0) & emit::isEqual(thread, threads - 1);
  emit::emitIf(b, isStorer, [&] {
    emit::emitGroupLoop(b, padded, [&](const emit::Group &group) {
      Value end = arith::IndexCastOp::create(b, b.getI32Type(), group.end);
      b.store(end, emitAddress(b, buffer, b.getI32Type(), group.index),
              sizeof(int32_t));
    });
  });
}

} // namespace blockscale

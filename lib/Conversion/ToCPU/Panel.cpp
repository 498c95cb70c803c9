//===- Panel.cpp - The part of a matrix that an item has ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Panel.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;

namespace blockscale::cpu {

Value getExtent(ImplicitLocOpBuilder &b, Value size, Value first,
                int64_t limit) {
  Value whole = getIndex(b, limit);
  std::optional<int64_t> known = getConstantIntValue(size);
  if (known && *known % limit == 0)
    return whole;
  if (known && *known < limit)
    return size;
  return min(b, sub(b, size, first), whole);
}

void emitIfLess(ImplicitLocOpBuilder &b, Value extent, int64_t whole,
                function_ref<void()> body) {
  std::optional<int64_t> known = getConstantIntValue(extent);
  if (known && *known >= whole)
    return;
  emitIf(b, isBelow(b, extent, getIndex(b, whole)), body);
}

} // namespace blockscale::cpu

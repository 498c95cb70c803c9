//===- KernelSignature.cpp - The operands of a kernel ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelSignature.h"

#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace blockscale {

SmallVector<Value> KernelSignature::getValues() const {
  return llvm::map_to_vector(
      slots, [](const Slot &slot) -> Value { return *slot.variable; });
}

void KernelSignature::setValues(ValueRange values) const {
  for (auto [slot, value] : llvm::zip_equal(slots, values))
    *slot.variable = value;
}

} // namespace blockscale

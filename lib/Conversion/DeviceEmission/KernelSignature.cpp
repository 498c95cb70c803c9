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

using emit::Lanes;

void KernelSignature::Slot::set(ImplicitLocOpBuilder &b, Value held) const {
  if (value)
    *value = held;
  else
    *number = emit::Lanes(b, held);
}

SmallVector<Value> KernelSignature::getValues() const {
  return llvm::map_to_vector(slots,
                             [](const Slot &slot) { return slot.get(); });
}

void KernelSignature::setValues(ImplicitLocOpBuilder &b,
                                ValueRange values) const {
  for (auto [slot, value] : llvm::zip_equal(slots, values))
    slot.set(b, value);
}

} // namespace blockscale

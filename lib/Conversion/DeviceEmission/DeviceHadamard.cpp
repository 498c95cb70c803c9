//===- DeviceHadamard.cpp - Hadamard transforms in registers --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DeviceHadamard.h"
#include "blockscale/Numerics/Hadamard.h"

using namespace mlir;
using blockscale::numerics::kHadamardSize;

namespace blockscale {

using emit::Lanes;

/// A quarter of a bf16 is exact, so that the first round may scale and add at
/// once, also the 0 that leaves no -0: where the left term is not -0, no sum of
/// the two is.
void emitHadamard(KernelBuilder &b, MutableArrayRef<emit::Lanes> x,
                  uint64_t signMask) {
  auto getFactor = [&](int64_t i) {
    return numerics::getHadamardFactor(signMask, i);
  };
  for (int64_t i = 0; i < kHadamardSize; i += 2) {
    emit::Lanes right = x[i + 1];
    emit::Lanes left = b.fma(x[i], right.like(getFactor(i)), right.like(0.0f));
    auto addTimes = [&](float factor) {
      return b.fma(right, right.like(factor), left);
    };
    x[i] = addTimes(getFactor(i + 1));
    x[i + 1] = addTimes(-getFactor(i + 1));
  }
  numerics::transformHadamardRounds(
      [&](int i) -> emit::Lanes & { return x[i]; }, /*span=*/2);
}

} // namespace blockscale

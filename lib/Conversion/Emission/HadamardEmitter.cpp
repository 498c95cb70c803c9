//===- HadamardEmitter.cpp - A Hadamard transform's butterfly -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "HadamardEmitter.h"
#include "blockscale/Numerics/Hadamard.h"

using namespace mlir;
using blockscale::numerics::kHadamardScale;
using blockscale::numerics::kHadamardSize;

namespace blockscale::emit {

/// Element i of a group is in x[i].
void emitHadamard(MutableArrayRef<Lanes> x, uint64_t signMask) {
  for (int64_t i = 0; i < kHadamardSize; ++i)
    x[i] = x[i] * ((signMask >> i) & 1 ? -kHadamardScale : kHadamardScale);
  emitHadamardRounds(x, /*span=*/1);
}

void emitHadamardRounds(MutableArrayRef<Lanes> x, int64_t span) {
  for (; span < kHadamardSize; span *= 2) {
    for (int64_t i = 0; i < kHadamardSize; ++i) {
      if ((i & span) != 0)
        continue;
      Lanes left = x[i], right = x[i + span];
      x[i] = left + right;
      x[i + span] = left - right;
    }
  }
}

} // namespace blockscale::emit

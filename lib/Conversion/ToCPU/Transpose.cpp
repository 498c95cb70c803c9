//===- Transpose.cpp - Rows of lanes as columns ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Transpose.h"

using namespace mlir;

namespace blockscale::cpu {

/// Interleaves rows in steps. Each step merges row i with row i + n/2, which
/// leaves lane j of all rows together after the last one.
Lanes interleaveRows(ArrayRef<Lanes> rows) {
  SmallVector<Lanes> merged(rows);
  while (merged.size() > 1) {
    size_t half = merged.size() / 2;
    for (size_t i = 0; i < half; ++i)
      merged[i] = interleave(merged[i], merged[i + half]);
    merged.truncate(half);
  }
  return merged.front();
}

/// Takes the same steps as the function above, but keeps each merged pair as
/// two rows, so that no vector grows.
SmallVector<Lanes> transposeRows(ArrayRef<Lanes> rows) {
  SmallVector<Lanes> current(rows);
  for (size_t step = 1; step < rows.size(); step *= 2) {
    SmallVector<Lanes> next;
    for (size_t i = 0; i < rows.size() / 2; ++i) {
      auto [low, high] =
          splitHalves(interleave(current[i], current[i + rows.size() / 2]));
      next.append({low, high});
    }
    current = std::move(next);
  }
  return current;
}

} // namespace blockscale::cpu

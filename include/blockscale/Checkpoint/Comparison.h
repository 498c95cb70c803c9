//===- Comparison.h - How far two tensors are apart -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_COMPARISON_H
#define BLOCKSCALE_CHECKPOINT_COMPARISON_H

#include "blockscale/Checkpoint/ElementType.h"

namespace blockscale::checkpoint {

/// Sums are of f64, and the same whatever number of threads adds them up.
struct Difference {
  uint64_t count = 0;
  /// Elements of other values; all NaNs are equal, and so are 0 and -0.
  uint64_t different = 0;
  /// Those among them of which one is NaN or infinite. No sum has them.
  uint64_t incomparable = 0;
  /// Of the reference, and of the differences.
  double referenceSquares = 0;
  double differenceSquares = 0;
  /// The largest difference, and the first element that has it; -1 if there is
  /// none.
  double largest = 0;
  int64_t largestIndex = -1;
};

/// Compares elements with those of a reference.
Difference compareTensors(ElementType referenceType, const void *reference,
                          ElementType type, const void *elements,
                          int64_t count);

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_COMPARISON_H

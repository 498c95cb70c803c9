//===- LargestMagnitude.h - The largest of packed codes ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CHECKPOINT_LARGESTMAGNITUDE_H
#define BLOCKSCALE_LIB_CHECKPOINT_LARGESTMAGNITUDE_H

#include <cstdint>

namespace blockscale::checkpoint {

/// The largest magnitude, from 0 to 7, of the sixteen E2M1 codes in a word.
///
/// The codes that are as large as any in their upper bits are kept, as one bit
/// each at the place of the bit that is looked at next.
inline unsigned findLargestMagnitude(uint64_t codes) {
  constexpr uint64_t lowest = 0x1111111111111111u;
  uint64_t kept = lowest << 2;
  unsigned largest = 0;
  for (int bit = 2; bit >= 0; --bit, kept >>= 1) {
    uint64_t set = codes & kept;
    largest = 2 * largest + (set != 0);
    kept = set != 0 ? set : kept;
  }
  return largest;
}

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_LIB_CHECKPOINT_LARGESTMAGNITUDE_H

//===- Swizzle.cpp - Swizzled addresses of shared memory ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Swizzle.h"

namespace blockscale::emulator {

namespace {
struct SwizzleInfo {
  unsigned span;
  unsigned atom;
  /// Rows that differ, less one.
  unsigned rowMask;
  /// Bit of the address that the row's lowest bit changes.
  unsigned shift;
};
} // namespace

/// In the order of the enumeration.
static constexpr SwizzleInfo kSwizzles[] = {
    {0, 16, 0, 0},   {32, 16, 1, 4}, {64, 16, 3, 4},  {128, 16, 7, 4},
    {128, 32, 3, 5}, {128, 8, 3, 5}, {128, 64, 1, 6},
};

static const SwizzleInfo &getSwizzleInfo(Swizzle swizzle) {
  return kSwizzles[static_cast<unsigned>(swizzle)];
}

unsigned getSpan(Swizzle swizzle) { return getSwizzleInfo(swizzle).span; }

unsigned getAtom(Swizzle swizzle) { return getSwizzleInfo(swizzle).atom; }

uint64_t applySwizzle(Swizzle swizzle, uint64_t address, unsigned baseOffset) {
  const SwizzleInfo &info = getSwizzleInfo(swizzle);
  uint64_t row = (address >> 7) - baseOffset;
  address ^= (row & info.rowMask) << info.shift;
  if (swizzle == Swizzle::Span128Atom32Flip8)
    address ^= (row & 1) << 3;
  return address;
}

} // namespace blockscale::emulator

//===- BitOps.cpp - Masks and byte permutations ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/BitOps.h"

namespace blockscale::emulator {

uint64_t findNthSet(uint64_t mask, uint64_t base, uint64_t offset) {
  auto bits = static_cast<uint32_t>(mask);
  int64_t position = static_cast<uint32_t>(base);
  int64_t distance = static_cast<int32_t>(offset);
  int64_t step = distance < 0 ? -1 : 1;
  int64_t left = distance == 0 ? 1 : distance * step;
  for (; position >= 0 && position < 32; position += step) {
    if (bits >> position & 1 && --left == 0)
      return static_cast<uint64_t>(position);
    if (distance == 0)
      break;
  }
  return 0xFFFFFFFF;
}

uint64_t makeMask(uint64_t a, uint64_t b, bool wrap) {
  auto position = static_cast<uint32_t>(a), width = static_cast<uint32_t>(b);
  if (wrap) {
    position &= 31;
    width &= 31;
  }
  if (position >= 32 || width == 0)
    return 0;
  uint64_t ones = width >= 32 ? 0xFFFFFFFF : (uint64_t{1} << width) - 1;
  return static_cast<uint32_t>(ones << position);
}

uint64_t extendField(uint64_t a, uint64_t b, bool wrap, bool isSigned) {
  auto value = static_cast<uint32_t>(a);
  auto width = static_cast<uint32_t>(b);
  if (wrap)
    width &= 31;
  if (width >= 32)
    return value;
  if (width == 0)
    return 0;
  uint32_t mask = (uint32_t{1} << width) - 1;
  bool fill = isSigned && (value >> (width - 1) & 1);
  return fill ? value | ~mask : value & mask;
}

/// For each mode and control 0 to 3, the selectors of bytes 3 to 0, as the
/// nibbles that the general form takes.
static constexpr uint16_t kSelectors[][4] = {
    {0x3210, 0x4321, 0x5432, 0x6543}, // .f4e
    {0x5670, 0x6701, 0x7012, 0x0123}, // .b4e
    {0x0000, 0x1111, 0x2222, 0x3333}, // .rc8
    {0x3210, 0x3211, 0x3222, 0x3333}, // .ecl
    {0x0000, 0x1110, 0x2210, 0x3210}, // .ecr
    {0x1010, 0x3232, 0x1010, 0x3232}, // .rc16
};

uint64_t permuteBytes(uint64_t a, uint64_t b, uint64_t c, PermuteMode mode) {
  return permuteBytes(a, b, kSelectors[static_cast<unsigned>(mode)][c & 3]);
}

} // namespace blockscale::emulator

//===- Pack.h - Two 4-bit codes in a byte -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Two 4-bit codes share a byte, the first one in the low half:
//
//   bits  7 6 5 4 | 3 2 1 0        byte i of a row
//         2i + 1  | 2i             element
//
// A row of odd length ends with a zero high nibble.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_PACK_H
#define BLOCKSCALE_NUMERICS_PACK_H

#include <cstdint>

namespace blockscale::numerics {

/// Bytes that `count` 4-bit codes take.
constexpr int64_t getPackedSize(int64_t count) { return (count + 1) / 2; }

constexpr uint8_t packPair(uint8_t even, uint8_t odd) {
  return static_cast<uint8_t>((even & 0xF) | (odd & 0xF) << 4);
}

/// Code `index` of a packed row.
constexpr uint8_t unpackCode(const uint8_t *packed, int64_t index) {
  return static_cast<uint8_t>((packed[index / 2] >> (index % 2) * 4) & 0xF);
}

/// Packs a row of codes to getPackedSize(count) bytes. `packed` may be `codes`.
constexpr void packRow(const uint8_t *codes, int64_t count, uint8_t *packed) {
  for (int64_t i = 0; i < count; i += 2)
    packed[i / 2] = packPair(codes[i], i + 1 < count ? codes[i + 1]
                                                     : static_cast<uint8_t>(0));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_PACK_H

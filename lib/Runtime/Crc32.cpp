//===- Crc32.cpp - The checksum of bundles --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Crc32.h"

#include <array>

using namespace blockscale::runtime;

using Table = std::array<uint32_t, 256>;

/// table[k][b]: the remainder of byte b with k zero bytes behind it, modulo the
/// polynomial, whose bits are reversed here. Four tables take four bytes a
/// step, since constants can be large.
static constexpr std::array<Table, 4> makeTables() {
  std::array<Table, 4> tables{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t remainder = byte;
    for (int bit = 0; bit < 8; ++bit)
      remainder = (remainder >> 1) ^ (remainder & 1 ? 0xEDB88320 : 0);
    tables[0][byte] = remainder;
  }
  for (size_t k = 1; k < 4; ++k)
    for (size_t byte = 0; byte < 256; ++byte) {
      uint32_t shorter = tables[k - 1][byte];
      tables[k][byte] = (shorter >> 8) ^ tables[0][shorter & 0xFF];
    }
  return tables;
}

static constexpr std::array<Table, 4> kTables = makeTables();

uint32_t blockscale::runtime::computeCrc32(std::string_view bytes,
                                           uint32_t before) {
  uint32_t crc = ~before;
  auto get = [&](size_t i) { return static_cast<uint8_t>(bytes[i]); };
  size_t i = 0;
  for (; i + 4 <= bytes.size(); i += 4)
    crc = kTables[3][(crc ^ get(i)) & 0xFF] ^
          kTables[2][((crc >> 8) ^ get(i + 1)) & 0xFF] ^
          kTables[1][((crc >> 16) ^ get(i + 2)) & 0xFF] ^
          kTables[0][(crc >> 24) ^ get(i + 3)];
  for (; i < bytes.size(); ++i)
    crc = (crc >> 8) ^ kTables[0][(crc ^ get(i)) & 0xFF];
  return ~crc;
}

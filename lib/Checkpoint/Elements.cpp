//===- Elements.cpp - Elements of tensors as f32 --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Elements.h"

using namespace blockscale::checkpoint;
using namespace blockscale::numerics;

std::array<float, 256>
blockscale::checkpoint::decodeAllBytes(ElementType type) {
  std::array<float, 256> values = {};
  for (uint32_t byte = 0; byte < values.size(); ++byte)
    values[byte] =
        type == ElementType::E8M0
            ? decodeE8M0Bits(byte)
            : decodeBits(type == ElementType::E4M3 ? ElementFormat::E4M3
                                                   : ElementFormat::E5M2,
                         byte);
  return values;
}

void blockscale::checkpoint::loadElements(ElementType type, const void *bytes,
                                          int64_t first, int64_t count,
                                          float *values) {
  switch (type) {
  case ElementType::F32:
    std::memcpy(values, static_cast<const char *>(bytes) + 4 * first,
                4 * count);
    return;
  case ElementType::BF16:
    for (int64_t i = 0; i < count; ++i)
      values[i] = decodeBF16(loadElement<uint16_t>(bytes, first + i));
    return;
  case ElementType::F16:
    for (int64_t i = 0; i < count; ++i)
      values[i] = decodeF16(loadElement<uint16_t>(bytes, first + i));
    return;
  case ElementType::E4M3:
  case ElementType::E5M2:
  case ElementType::E8M0:
    break;
  }
  static const std::array<float, 256> tables[] = {
      decodeAllBytes(ElementType::E4M3), decodeAllBytes(ElementType::E5M2),
      decodeAllBytes(ElementType::E8M0)};
  const std::array<float, 256> &table =
      tables[static_cast<unsigned>(type) -
             static_cast<unsigned>(ElementType::E4M3)];
  for (int64_t i = 0; i < count; ++i)
    values[i] = table[loadElement<uint8_t>(bytes, first + i)];
}

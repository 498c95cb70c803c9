//===- Elements.h - Elements of tensors as f32 ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CHECKPOINT_ELEMENTS_H
#define BLOCKSCALE_LIB_CHECKPOINT_ELEMENTS_H

#include "blockscale/Checkpoint/ElementType.h"
#include "blockscale/Numerics/Codec.h"

#include <array>
#include <cstring>

namespace blockscale::checkpoint {

/// Element `index` of memory that needs no alignment.
template <typename Word>
Word loadElement(const void *bytes, int64_t index) {
  Word word;
  std::memcpy(&word,
              static_cast<const char *>(bytes) +
                  index * static_cast<int64_t>(sizeof(Word)),
              sizeof(Word));
  return word;
}

/// The values of the codes of a type of one byte.
std::array<float, 256> decodeAllBytes(ElementType type);

/// Elements from `first` on as f32, all of which hold them exactly.
void loadElements(ElementType type, const void *bytes, int64_t first,
                  int64_t count, float *values);

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_LIB_CHECKPOINT_ELEMENTS_H

//===- ElementType.h - Numbers that tensors are made of ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_ELEMENTTYPE_H
#define BLOCKSCALE_CHECKPOINT_ELEMENTTYPE_H

#include "blockscale/Checkpoint/StorageType.h"

#include <optional>

namespace blockscale::checkpoint {

/// The storage types whose elements are numbers of whole bytes that f32 holds
/// exactly. Their order is that of kElementTypeNames.
enum class ElementType : uint8_t { F32, BF16, F16, E4M3, E5M2, E8M0 };

inline constexpr std::string_view kElementTypeNames[] = {
    "F32", "BF16", "F16", "F8_E4M3", "F8_E5M2", "F8_E8M0"};

/// The type of that name, or nothing.
constexpr std::optional<ElementType> findElementType(std::string_view name) {
  for (unsigned i = 0; i < std::size(kElementTypeNames); ++i)
    if (kElementTypeNames[i] == name)
      return static_cast<ElementType>(i);
  return std::nullopt;
}

/// The bytes of an element.
constexpr int64_t getElementBytes(ElementType type) {
  return findStorageType(kElementTypeNames[static_cast<unsigned>(type)])
      ->blockBytes;
}

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_ELEMENTTYPE_H

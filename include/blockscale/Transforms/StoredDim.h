//===- StoredDim.h - Sizes that are asked of memory -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_STOREDDIM_H
#define BLOCKSCALE_TRANSFORMS_STOREDDIM_H

#include "llvm/ADT/StringRef.h"

namespace blockscale {

/// The mark of a `tensor.dim` that asks for a size in memory: of bytes of
/// packed data, of tiles of scales. Checks of sizes ask so, since a logical
/// size that memory does not hold has no other answer.
inline constexpr llvm::StringLiteral kStoredDimAttrName =
    "blockscale.stored_dim";

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_STOREDDIM_H

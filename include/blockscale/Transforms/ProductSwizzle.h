//===- ProductSwizzle.h - Swizzles that passes make for products *- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_PRODUCTSWIZZLE_H
#define BLOCKSCALE_TRANSFORMS_PRODUCTSWIZZLE_H

#include "llvm/ADT/StringRef.h"

namespace blockscale {

/// The unit attribute of a swizzle that a pass makes for a product, or of a
/// quantizer that it gives the offsets of one. The product has the same offsets
/// and checks them, and these ops do not: an error names the op that has the
/// offsets in the program, on every target.
inline constexpr llvm::StringLiteral kEndsCheckedAttrName =
    "blockscale.ends_checked";

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_PRODUCTSWIZZLE_H

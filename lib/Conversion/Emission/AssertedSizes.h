//===- AssertedSizes.h - Products whose operands are checked ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_ASSERTEDSIZES_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_ASSERTEDSIZES_H

#include "llvm/ADT/StringRef.h"

namespace blockscale::emit {

/// The mark of a product the rules of whose operands were asserted before
/// passes brought them into the layouts that its kernel reads
/// (blockscale-assert-product-sizes).
inline constexpr llvm::StringLiteral kSizesAssertedAttrName =
    "blockscale.sizes_asserted";

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_ASSERTEDSIZES_H

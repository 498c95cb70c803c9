//===- AssertedNumber.h - The number that an assertion is about -*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CONVERSION_ASSERTEDNUMBER_H
#define BLOCKSCALE_CONVERSION_ASSERTEDNUMBER_H

#include "llvm/ADT/StringRef.h"

namespace blockscale {

/// The attribute of a `cf.assert` that has the number its message calls found,
/// where that is a constant. A comparison does not tell: canonicalization moves
/// constants to its right.
inline constexpr llvm::StringLiteral kFoundAttrName = "blockscale.found";

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_ASSERTEDNUMBER_H

//===- Scalar.h - Scalars on the command line -------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_EMULATE_SCALAR_H
#define BLOCKSCALE_TOOLS_EMULATE_SCALAR_H

#include "llvm/ADT/StringRef.h"
#include "llvm/Support/Error.h"

#include <cstdint>
#include <vector>

namespace blockscale::emulate {

/// The bytes of a value of type `type`: i8 to i64 (also negative), u8 to u64,
/// b8 to b64, f32, f64. Integers may have 0x; floats may be inf, nan, or hex.
llvm::Expected<std::vector<uint8_t>> parseScalar(llvm::StringRef type,
                                                 llvm::StringRef value);

} // namespace blockscale::emulate

#endif // BLOCKSCALE_TOOLS_EMULATE_SCALAR_H

//===- E2M1.h - The function that decodes E2M1 codes ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CONVERSION_E2M1_H
#define BLOCKSCALE_CONVERSION_E2M1_H

#include <cstdint>

namespace blockscale {

/// The attribute in LLVM IR of a function that decodes a vector of words, i32,
/// whose lowest four bits are E2M1 codes, to `decodeMagnified` of the codes.
/// Its body computes that with the arithmetic of any CPU, and an instruction
/// that looks numbers up in a register may take its place.
inline constexpr char kDecodesE2M1[] = "blockscale-decodes-e2m1";

/// The lanes of its vectors.
inline constexpr int64_t kLanesOfE2M1 = 16;

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_E2M1_H

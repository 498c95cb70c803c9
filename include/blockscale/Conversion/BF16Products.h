//===- BF16Products.h - Functions that multiply bf16 ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Some CPUs multiply pairs of bf16 and add both products to f32. Code for any
// CPU leaves that to functions with attributes in LLVM IR, whose bodies have
// the arithmetic of any CPU, and get the instructions when objects are emitted
// for a CPU that has them. Code asks a function whether it does, and takes
// another way where it does not.
//
// These instructions take subnormal numbers for 0, and give 0 in their place.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CONVERSION_BF16PRODUCTS_H
#define BLOCKSCALE_CONVERSION_BF16PRODUCTS_H

#include <cstdint>

namespace blockscale {

/// The attribute of a function without arguments whose result, an i1, says
/// whether the others have instructions: false in its body for any CPU.
inline constexpr char kHasBF16Products[] = "blockscale-has-bf16-products";

/// The attribute of a function of f32 lanes and of two vectors of bf16, as i16
/// words. To lane i it adds the products of words 2i and 2i + 1.
inline constexpr char kAddsBF16Products[] = "blockscale-adds-bf16-products";

/// The attribute of a function that decodes codes of the element format that
/// the attribute's value names to bf16, as i16 words. Packed codes are the
/// lowest four bits of i16 words, and keep their order. Others are bytes, whose
/// words have the order of `getUnpackedByte`.
inline constexpr char kDecodesToBF16[] = "blockscale-decodes-to-bf16";

/// Words of a vector, and bytes.
inline constexpr int64_t kBF16Words = 32;
inline constexpr int64_t kBF16Bytes = 64;

/// The byte that word `word` of a vector of kBF16Bytes words comes from: bytes
/// become words within 128 bits, the lower halves of all of these first.
constexpr int64_t getUnpackedByte(int64_t word) {
  int64_t half = word / kBF16Words, within = word % kBF16Words;
  return within / 8 * 16 + half * 8 + within % 8;
}

} // namespace blockscale

#endif // BLOCKSCALE_CONVERSION_BF16PRODUCTS_H

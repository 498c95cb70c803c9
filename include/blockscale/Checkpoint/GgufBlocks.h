//===- GgufBlocks.h - MXFP4 and NVFP4 as GGUF stores them -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Everywhere else codes and scales are two row-major tensors, with even columns
// in low halves of bytes (Numerics/Pack.h). In GGUF scales are before the codes
// of their block, and a byte has one code of each half of the elements that
// share a scale:
//
//   MXFP4  32 elements in 17 bytes: E8M0, then byte j with elements j (low) and
//          j + 16 (high)
//   NVFP4  64 elements in 36 bytes: four E4M3, then for each 16 elements eight
//          bytes: byte j with elements j (low) and j + 8 (high)
//
// Rows are whole blocks. Bytes of codes and scales stay what they are, but the
// scales that mean something else: ggml reads E8M0 255 as 2^128 rather than as
// NaN, takes no notice of the sign of E4M3, and reads its NaN as 0.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_GGUFBLOCKS_H
#define BLOCKSCALE_CHECKPOINT_GGUFBLOCKS_H

#include "blockscale/Numerics/Format.h"

#include <cstdint>

namespace blockscale::checkpoint {

/// The two formats by their type of scales.
struct GgufBlockFormat {
  numerics::ScaleFormat scale;
  /// Elements of a block, and those that share a scale.
  int64_t blockElements, groupElements;

  constexpr int64_t getScaleCount() const {
    return blockElements / groupElements;
  }
  constexpr int64_t getBlockBytes() const {
    return getScaleCount() + blockElements / 2;
  }
};
inline constexpr GgufBlockFormat kGgufMxfp4 = {numerics::ScaleFormat::E8M0, 32,
                                               32};
inline constexpr GgufBlockFormat kGgufNvfp4 = {numerics::ScaleFormat::E4M3, 64,
                                               16};

/// Brings `blocks` blocks of row-major codes and scales together. Returns the
/// number of scales that mean something else in GGUF.
uint64_t packGgufBlocks(const GgufBlockFormat &format, int64_t blocks,
                        const uint8_t *codes, const uint8_t *scales,
                        uint8_t *packed);
/// The inverse. The scales mean what they do in GGUF: E4M3 loses signs, and NaN
/// becomes 0. Returns the number of scales that are other bytes therefore, or
/// for which there is none (E8M0 255, which stays).
uint64_t unpackGgufBlocks(const GgufBlockFormat &format, int64_t blocks,
                          const uint8_t *packed, uint8_t *codes,
                          uint8_t *scales);

/// Quantizes blocks as ggml does (Numerics/Ggml.h). The elements of x need no
/// alignment.
void quantizeToGgufBlocks(const GgufBlockFormat &format,
                          numerics::InputFormat input, int64_t blocks,
                          const void *x, uint8_t *packed);

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_GGUFBLOCKS_H

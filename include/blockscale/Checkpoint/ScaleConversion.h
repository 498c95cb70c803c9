//===- ScaleConversion.h - MXFP4 under other scales -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// MXFP4 in NVFP4. A block of 32 codes with scale 2^k becomes two blocks of 16
// with the same codes. With K the largest k of the tensor, m = K - 8 and global
// scale 2^m, the block scale is 2^(k - m). E4M3 has the powers of two from 2^-9
// to 2^8, so nothing is lost where K - k <= 17. Other blocks are quantized anew
// by the recipe modelopt, their amax given. This is ModelOpt's cast
// (modelopt/torch/quantization/utils/numeric_utils.py). A NaN scale stays one,
// and does not count for K.
//
// MXFP4 in block FP8. An E4M3 code and an f32 scale of, say, 128x128 elements
// stand for the same number. E2M1's magnitudes are multiples of 1/2 with two
// significant bits, 6 = 1.5 * 2^2 at most. E4M3 has all multiples of 2^-9 with
// so many bits, up to 1.5 * 2^8. Let E be the exponent of the largest magnitude
// of the elements under an f32 scale, and L that of the last bit that any of
// them has set. Under the scale 2^s they are all E4M3 numbers if and only if
//
//   E - s <= 8  and  L - s >= -9
//
// so there is such an s if and only if E - L <= 17. Here s = E - 8, which
// leaves the most room below; what lies lower is rounded to nearest even. In
// the worst case E = K + 2 and L = k - 1 for the largest and the smallest k
// under an f32 scale: K - k <= 14 is enough, whatever the codes are.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_CHECKPOINT_SCALECONVERSION_H
#define BLOCKSCALE_CHECKPOINT_SCALECONVERSION_H

#include <cstdint>

namespace blockscale::checkpoint {

/// The largest K whose amax, 6 * 448 * 2^(K - 8), f32 holds.
inline constexpr int kMaxNvfp4Exponent = 124;

/// The largest exponent k of MXFP4 scales, those of bytes 0 and NaN not
/// counted; 0 if there are none. Parts of a tensor, and tensors that share a
/// global scale, have the largest of theirs.
int findMaxExponent(const uint8_t *scales, int64_t count);

/// The global scale 2^(K - 8) for the exponent K of a tensor.
float getNvfp4GlobalScale(int maxExponent);

/// Brings `blocks` blocks of MXFP4 to NVFP4. `outCodes` are 16 bytes a block,
/// `outScales` two. Returns the number of blocks of 32 that have elements of
/// another value than before.
uint64_t convertMxfp4ToNvfp4(int64_t blocks, const uint8_t *codes,
                             const uint8_t *scales, int maxExponent,
                             uint8_t *outCodes, uint8_t *outScales);

/// Rows, columns, and those that share an f32 scale; `cols` and `blockCols` are
/// multiples of 32. The last block of a row or column may be smaller.
struct Fp8Shape {
  int64_t rows, cols, blockRows, blockCols;
};

/// Brings MXFP4 to block FP8: a byte for each element, and row-major scales.
/// The scale of a block of zeros is 1. Returns the number of f32 scales with
/// elements of another value than before.
uint64_t convertMxfp4ToFp8(const Fp8Shape &shape, const uint8_t *codes,
                           const uint8_t *scales, uint8_t *data,
                           float *blockScales);

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_CHECKPOINT_SCALECONVERSION_H

//===- Numerics.h - Quantize buffers and place scales, from C -----*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The reference arithmetic (docs/Numerics.md) on buffers, without compilation:
// one element after the other. Any thread may call anything here. Results
// overlap no other buffer of a call.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_NUMERICS_H
#define BLOCKSCALE_C_NUMERICS_H

#include "blockscale-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// C names, and enumerations of the width that C gives them.
// NOLINTBEGIN(readability-identifier-naming,modernize-*)

typedef enum blockscale_input {
  BLOCKSCALE_INPUT_F32 = 0,
  BLOCKSCALE_INPUT_BF16 = 1,
  BLOCKSCALE_INPUT_F16 = 2
} blockscale_input;

typedef enum blockscale_global {
  BLOCKSCALE_GLOBAL_ABSENT = 0,
  /// x ~ code * block scale * global.
  BLOCKSCALE_GLOBAL_DECODE_SCALE = 1,
  /// The recipe derives its own scale of it.
  BLOCKSCALE_GLOBAL_AMAX = 2
} blockscale_global;

typedef struct blockscale_quantize_config {
  size_t struct_size;
  /// The recipe, as "torchao" or "rceil"; null for the default of the block:
  /// torchao for blocks of 16, rceil for those of 32.
  const char *recipe;
  /// The format of elements: "e2m1", "e2m3", "e3m2", "e4m3", "e5m2" or "int8";
  /// null for e2m1.
  const char *format;
  /// The shape of x.
  int64_t rows, cols;
  /// The shape of a block, which has one scale: 1x16 or 16x16 (NVFP4), 1x32,
  /// 32x1 or 32x32 (MX).
  int64_t block_rows, block_cols;
  blockscale_input input;
  blockscale_global global;
  float global_value;
} blockscale_quantize_config;

blockscale_quantize_config blockscale_quantize_config_default(void);

/// Bytes of the results: codes by rows, E2M1 two to a byte, and row-major
/// scales, one for each block.
blockscale_status
blockscale_quantize_sizes(const blockscale_quantize_config *config,
                          size_t *data_bytes, size_t *scale_bytes);

/// Quantizes x, row-major, to nearest. The sizes are those that
/// blockscale_quantize_sizes gives.
blockscale_status blockscale_quantize(const blockscale_quantize_config *config,
                                      const void *x, void *data,
                                      size_t data_bytes, void *scales,
                                      size_t scale_bytes);

/// The inverse, into `count` = rows * cols elements. `input` is what was
/// quantized, which matters to recipes that round an amax to its type.
blockscale_status
blockscale_dequantize(const blockscale_quantize_config *config,
                      const void *data, size_t data_bytes, const void *scales,
                      size_t scale_bytes, float *x, size_t count);

/// The name of a recipe, from 0 on; null after the last one.
const char *blockscale_recipe_name(size_t index);

/// The decode scale that a recipe derives from the amax of a tensor.
blockscale_status blockscale_global_decode_scale(const char *recipe, float amax,
                                                 float *scale);
/// The encode scale, by which numbers of a tensor are multiplied: that of a
/// recipe for the amax of a tensor of the type `input`, as checkpoints of
/// compressed-tensors have it. Its reciprocal may differ from the decode scale
/// in the last bit.
blockscale_status blockscale_global_encode_scale(const char *recipe,
                                                 blockscale_input input,
                                                 float amax, float *scale);

/// The amax from which to derive the global scale of a tensor: its own, or
/// 2688, whose scale is 1, if it is 0 or so small that a decode scale would be
/// 0, under which some recipes give NaN. Every global scale that the compiler
/// chooses is that of this amax.
float blockscale_nonzero_amax(float amax);

//===-- Layouts of scales -------------------------------------------------===//

/// Bytes of a matrix of scales in the layout of a name, such as "swizzle_8x4",
/// padding included; negative for a name of no layout, and for a size that is
/// negative or too large.
int64_t blockscale_layout_size(const char *layout, int64_t rows, int64_t cols);
/// Where the scale of a place is; negative for what has no size, and for a
/// place outside of the matrix.
int64_t blockscale_layout_offset(const char *layout, int64_t rows, int64_t cols,
                                 int64_t row, int64_t col);
/// Brings row-major scales into a layout, whose padding becomes 0, and back.
blockscale_status blockscale_to_layout(const char *layout, const void *linear,
                                       int64_t rows, int64_t cols, void *tiles,
                                       size_t tiles_bytes);
blockscale_status blockscale_from_layout(const char *layout, const void *tiles,
                                         size_t tiles_bytes, int64_t rows,
                                         int64_t cols, void *linear);

/// The same of swizzle_128x4: bytes of the tiles of a matrix of scales, padding
/// included; negative for a size that is negative or too large.
int64_t blockscale_swizzled_size(int64_t rows, int64_t cols);
/// Where the scale of a place is; negative for a place outside of the matrix.
int64_t blockscale_swizzled_offset(int64_t rows, int64_t cols, int64_t row,
                                   int64_t col);
/// Brings row-major scales into tiles, whose padding becomes 0, and back.
blockscale_status blockscale_swizzle(const void *linear, int64_t rows,
                                     int64_t cols, void *swizzled,
                                     size_t swizzled_bytes);
blockscale_status blockscale_unswizzle(const void *swizzled,
                                       size_t swizzled_bytes, int64_t rows,
                                       int64_t cols, void *linear);

// NOLINTEND(readability-identifier-naming,modernize-*)

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_NUMERICS_H

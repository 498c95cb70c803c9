//===- Checkpoint.h - Files of tensors, from C --------------------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads safetensors and GGUF files, lays new ones out, and converts and
// examines what is in them. Any thread may call anything here. Functions over
// tensors use the threads of blockscale_set_num_threads (Run.h), take memory of
// any alignment, and get the bytes of each buffer, which must be those that the
// shape asks for. Results overlap no other buffer of a call. A file that breaks
// a rule of its format gives BLOCKSCALE_INVALID_CHECKPOINT, and
// blockscale_last_error() the rule, what was expected and found, the tensor,
// and the byte of the file.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_C_CHECKPOINT_H
#define BLOCKSCALE_C_CHECKPOINT_H

#include "blockscale-c/Runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

// C names, and enumerations of the width that C gives them.
// NOLINTBEGIN(readability-identifier-naming,modernize-*)

typedef enum blockscale_file_format {
  BLOCKSCALE_FORMAT_SAFETENSORS = 0,
  BLOCKSCALE_FORMAT_GGUF = 1
} blockscale_file_format;

/// How a file stores elements.
typedef struct blockscale_storage_type {
  /// As the formats spell it: "BF16", "F8_E4M3", "MXFP4". The same name means
  /// the same in both.
  const char *name;
  /// The fewest elements that take whole bytes, and those bytes. In GGUF they
  /// are a block, which lies in one row.
  int64_t block_elements, block_bytes;
  /// 1 where safetensors files have it.
  int in_safetensors;
  /// The number of the type in GGUF files; negative for one that they lack.
  int gguf_number;
} blockscale_storage_type;

/// The types, from 0 on; null after the last one.
const blockscale_storage_type *blockscale_storage_type_get(size_t number);

//===-- Files -------------------------------------------------------------===//

typedef struct blockscale_tensor_file blockscale_tensor_file;

typedef struct blockscale_tensor {
  const char *name;
  const blockscale_storage_type *type;
  /// The sizes of a row-major tensor, the longest stride first, in both
  /// formats. They count elements, of F4 too.
  size_t rank;
  const int64_t *shape;
  /// From the begin of the file on. What is read needs no alignment.
  uint64_t offset, bytes;
} blockscale_tensor;

/// Types of metadata, numbered as in GGUF. safetensors has strings only.
typedef enum blockscale_metadata_type {
  BLOCKSCALE_METADATA_U8 = 0,
  BLOCKSCALE_METADATA_I8 = 1,
  BLOCKSCALE_METADATA_U16 = 2,
  BLOCKSCALE_METADATA_I16 = 3,
  BLOCKSCALE_METADATA_U32 = 4,
  BLOCKSCALE_METADATA_I32 = 5,
  BLOCKSCALE_METADATA_F32 = 6,
  BLOCKSCALE_METADATA_BOOL = 7,
  BLOCKSCALE_METADATA_STRING = 8,
  BLOCKSCALE_METADATA_ARRAY = 9,
  BLOCKSCALE_METADATA_U64 = 10,
  BLOCKSCALE_METADATA_I64 = 11,
  BLOCKSCALE_METADATA_F64 = 12
} blockscale_metadata_type;

/// A key and its value.
typedef struct blockscale_metadata {
  const char *key;
  blockscale_metadata_type type;
  /// Of an array: the type of its elements and their number.
  blockscale_metadata_type element_type;
  uint64_t count;
  /// A number in its bytes, the characters of a string, and the elements of an
  /// array, one after the other. There a string has its length before it, 8
  /// bytes, and an array its type of elements, 4 bytes, and its number of
  /// elements, 8 bytes. All is as GGUF has it.
  const void *value;
  uint64_t bytes;
} blockscale_metadata;

/// Maps a file, of the format that its first bytes say, and reads its header.
/// Whoever cuts the file while it is open ends the process that reads it, as
/// with all mapped files, but for between the two calls below.
blockscale_status blockscale_tensor_file_open(const char *path,
                                              blockscale_tensor_file **file);
void blockscale_tensor_file_close(blockscale_tensor_file *file);

blockscale_file_format
blockscale_tensor_file_format(const blockscale_tensor_file *file);
/// The whole file. It cannot be written.
const void *blockscale_tensor_file_data(const blockscale_tensor_file *file);
uint64_t blockscale_tensor_file_size(const blockscale_tensor_file *file);

/// The tensors, in the order of their offsets.
size_t blockscale_tensor_file_tensor_count(const blockscale_tensor_file *file);
blockscale_status
blockscale_tensor_file_tensor(const blockscale_tensor_file *file, size_t number,
                              blockscale_tensor *tensor);
/// The metadata, in the order of the file.
size_t
blockscale_tensor_file_metadata_count(const blockscale_tensor_file *file);
blockscale_status
blockscale_tensor_file_metadata(const blockscale_tensor_file *file,
                                size_t number, blockscale_metadata *metadata);

/// Takes the pages that hold these bytes out of the memory of the process, for
/// those who read large files from begin to end. Nothing is lost: what is
/// looked at again is read again. The page that the range ends in stays.
blockscale_status
blockscale_tensor_file_release(const blockscale_tensor_file *file,
                               uint64_t offset, uint64_t bytes);

/// Between these, reads of any open file give zeros for pages that the file has
/// no more, and no SIGBUS, for which there is a handler then. They may be
/// nested, and in several threads; the last end brings back the process's own
/// handler. blockscale_tensor_file_check tells whether such a file was read.
void blockscale_read_guard_begin(void);
void blockscale_read_guard_end(void);
/// BLOCKSCALE_FILE, if the file was cut or written since it was opened, so that
/// what was read of it may be anything.
blockscale_status
blockscale_tensor_file_check(const blockscale_tensor_file *file);

//===-- Layouts of new files ----------------------------------------------===//

/// Where the tensors of a new file are, which is decided before the first of
/// them is there.
typedef struct blockscale_file_layout blockscale_file_layout;

typedef struct blockscale_new_tensor {
  const char *name;
  /// The name of its storage type.
  const char *type;
  size_t rank;
  const int64_t *shape;
} blockscale_new_tensor;

/// Lays tensors out in this order, one after the other. Metadata of GGUF are
/// written as they are given; general.alignment, of u32, is obeyed.
blockscale_status blockscale_file_layout_create(
    blockscale_file_format format, const blockscale_new_tensor *tensors,
    size_t tensor_count, const blockscale_metadata *metadata,
    size_t metadata_count, blockscale_file_layout **layout);
void blockscale_file_layout_destroy(blockscale_file_layout *layout);

/// The first bytes of the file.
const void *blockscale_file_layout_header(const blockscale_file_layout *layout);
uint64_t
blockscale_file_layout_header_bytes(const blockscale_file_layout *layout);
/// The whole file. Bytes that belong to no tensor are 0.
uint64_t
blockscale_file_layout_file_bytes(const blockscale_file_layout *layout);
/// Where each tensor begins, as many numbers as there are tensors.
const uint64_t *
blockscale_file_layout_offsets(const blockscale_file_layout *layout);

//===-- Orders of codes and rows ------------------------------------------===//

/// Brings row-major E2M1 codes, even columns in low halves of bytes, and
/// row-major scales of blocks of `type`, "MXFP4" (32 columns, E8M0) or "NVFP4"
/// (16 columns, E4M3), into blocks of GGUF. `cols` is a multiple of 32, or of
/// 64 for NVFP4. `changed` becomes the number of scales that mean something
/// else there: E8M0 255 is 2^128 to ggml, E4M3 has no sign, and its NaN is 0.
blockscale_status blockscale_gguf_pack(const char *type, int64_t rows,
                                       int64_t cols, const void *codes,
                                       size_t code_bytes, const void *scales,
                                       size_t scale_bytes, void *blocks,
                                       size_t block_bytes, uint64_t *changed);
/// The inverse. E4M3 scales lose their sign, and NaN becomes 0, which is what
/// they mean to ggml; `changed` counts these, and E8M0 255, which stays.
blockscale_status blockscale_gguf_unpack(const char *type, int64_t rows,
                                         int64_t cols, const void *blocks,
                                         size_t block_bytes, void *codes,
                                         size_t code_bytes, void *scales,
                                         size_t scale_bytes, uint64_t *changed);

/// Brings matrices whose rows alternate between two others, as gate and up in
/// gpt-oss, to those one after the other, and back. `rows` is even.
blockscale_status blockscale_split_rows(int64_t count, int64_t rows,
                                        int64_t row_bytes,
                                        const void *alternating, void *split,
                                        size_t bytes);
blockscale_status blockscale_alternate_rows(int64_t count, int64_t rows,
                                            int64_t row_bytes,
                                            const void *split,
                                            void *alternating, size_t bytes);

//===-- Conversions -------------------------------------------------------===//

/// Quantizes x, row-major, to blocks of GGUF as ggml does: nearest, ties toward
/// zero, scales of NVFP4 half up.
blockscale_status blockscale_gguf_quantize(const char *type,
                                           const char *input_type, int64_t rows,
                                           int64_t cols, const void *x,
                                           size_t x_bytes, void *blocks,
                                           size_t block_bytes);

/// The largest k of E8M0 scales 2^k, those of bytes 0 and NaN not counted; 0 if
/// there are none.
blockscale_status blockscale_mxfp4_max_exponent(const void *scales,
                                                size_t scale_bytes,
                                                int32_t *exponent);
/// Brings row-major MXFP4 to NVFP4 with global scale 2^(K - 8), for the largest
/// exponent K, at most 124, of all that shares it. Blocks of 2^k stay exact
/// where K - k is at most 17; others are quantized anew, as ModelOpt does.
/// `changed` becomes the number of blocks of 32 with other values than before.
blockscale_status blockscale_mxfp4_to_nvfp4(
    int64_t rows, int64_t cols, const void *codes, size_t code_bytes,
    const void *scales, size_t scale_bytes, int32_t max_exponent,
    void *out_codes, size_t out_code_bytes, void *out_scales,
    size_t out_scale_bytes, float *global_scale, uint64_t *changed);
/// Brings row-major MXFP4 to E4M3 with an f32 scale for each block of
/// `block_rows` by `block_cols`, the last of which may be smaller. It is exact
/// where the exponents under an f32 scale differ by at most 14, and sometimes
/// beyond; the rest is rounded. `changed` becomes the number of blocks with
/// other values than before.
blockscale_status blockscale_mxfp4_to_fp8(
    int64_t rows, int64_t cols, int64_t block_rows, int64_t block_cols,
    const void *codes, size_t code_bytes, const void *scales,
    size_t scale_bytes, void *data, size_t data_bytes, float *block_scales,
    size_t block_scale_count, uint64_t *changed);

//===-- Facts about tensors -----------------------------------------------===//
// Types of elements are "F32", "BF16", "F16", "F8_E4M3", "F8_E5M2" and
// "F8_E8M0".

/// The largest magnitude; NaN if there is one, 0 of nothing.
blockscale_status blockscale_amax(const char *type, const void *x, size_t bytes,
                                  float *amax);

typedef struct blockscale_statistics {
  /// Numbers of elements: all; NaN; infinities; 0 and -0; less than 0.
  uint64_t count, nan, infinite, zero, negative;
  /// Of what is not NaN; infinity and -infinity if there is nothing.
  float min, max;
  /// The least magnitude that is not 0; infinity if there is none.
  float least;
} blockscale_statistics;

blockscale_status blockscale_scan(const char *type, const void *x, size_t bytes,
                                  blockscale_statistics *statistics);

typedef struct blockscale_code_statistics {
  /// Elements by the parity of their column and by their E2M1 code.
  uint64_t codes[2][16];
  /// Blocks by the code, without sign, of their largest magnitude. Most blocks
  /// that were quantized by their amax have a large one.
  uint64_t largest[8];
} blockscale_code_statistics;

/// Looks at packed E2M1 codes with blocks of 1 by `block_cols`, an even number.
blockscale_status blockscale_scan_codes(int64_t rows, int64_t cols,
                                        int64_t block_cols, const void *codes,
                                        size_t code_bytes,
                                        blockscale_code_statistics *statistics);

/// Writes the sum of squares of each column of a matrix, `count` = cols of
/// them. Columns of weights that read the same activations go together.
blockscale_status blockscale_column_squares(const char *type, int64_t rows,
                                            int64_t cols, const void *x,
                                            size_t bytes, double *squares,
                                            size_t count);
/// The same for packed E2M1 codes times row-major scales, "F8_E4M3" or
/// "F8_E8M0", of 1 by `block_cols`, an even number.
blockscale_status blockscale_column_squares_of_codes(
    const char *scale_type, int64_t rows, int64_t cols, int64_t block_cols,
    const void *codes, size_t code_bytes, const void *scales,
    size_t scale_bytes, double *squares, size_t count);

typedef struct blockscale_difference {
  /// Numbers of elements: all; those of other values, where NaNs are equal, and
  /// 0 and -0; those among them of which one is NaN or infinite, which are in
  /// no sum.
  uint64_t count, different, incomparable;
  double reference_squares, difference_squares;
  /// The largest difference, and the first element that has it; -1 if there is
  /// none.
  double largest;
  int64_t largest_index;
} blockscale_difference;

/// Compares elements with as many of a reference. The sums do not depend on the
/// number of threads.
blockscale_status blockscale_compare(const char *reference_type,
                                     const void *reference,
                                     size_t reference_bytes, const char *type,
                                     const void *x, size_t bytes,
                                     blockscale_difference *difference);

// NOLINTEND(readability-identifier-naming,modernize-*)

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_CHECKPOINT_H

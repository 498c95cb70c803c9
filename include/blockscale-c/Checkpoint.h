//===- Checkpoint.h - Files of tensors, from C --------------------*- C -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Reads safetensors and GGUF files, and lays new ones out. Any thread may call
// anything here. A file that breaks a rule of its format gives
// BLOCKSCALE_INVALID_CHECKPOINT, and blockscale_last_error() the rule, what was
// expected and found, the tensor, and the byte of the file.
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
/// Whoever cuts the file while it is open ends the process, as with all mapped
/// files.
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

// NOLINTEND(readability-identifier-naming,modernize-*)

#ifdef __cplusplus
}
#endif

#endif // BLOCKSCALE_C_CHECKPOINT_H

//===- CheckpointTest.cpp - Files of tensors from C -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale-c/Checkpoint.h"

#include "../Runtime/TestFiles.h"

#include <cmath>
#include <limits>

namespace {

using CheckpointTest = blockscale::runtime::FileTest;

std::string fail(blockscale_status status) {
  EXPECT_EQ(status, BLOCKSCALE_INVALID_ARGUMENT);
  return blockscale_last_error();
}

blockscale_file_layout *layOut() {
  const int64_t shape[] = {2, 3};
  const blockscale_new_tensor tensors[] = {{"w", "BF16", 2, shape},
                                           {"s", "F32", 0, nullptr}};
  const blockscale_metadata entry = {
      "k", BLOCKSCALE_METADATA_STRING, BLOCKSCALE_METADATA_U8, 0, "v", 1};
  blockscale_file_layout *layout = nullptr;
  EXPECT_EQ(blockscale_file_layout_create(BLOCKSCALE_FORMAT_SAFETENSORS,
                                          tensors, 2, &entry, 1, &layout),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  return layout;
}

TEST_F(CheckpointTest, FilesAreWrittenAndRead) {
  blockscale_file_layout *layout = layOut();
  ASSERT_NE(layout, nullptr);
  std::string bytes(
      static_cast<const char *>(blockscale_file_layout_header(layout)),
      blockscale_file_layout_header_bytes(layout));
  const uint64_t *offsets = blockscale_file_layout_offsets(layout);
  EXPECT_EQ(offsets[0], bytes.size());
  EXPECT_EQ(offsets[1], bytes.size() + 12);
  EXPECT_EQ(blockscale_file_layout_file_bytes(layout), bytes.size() + 16);
  blockscale_file_layout_destroy(layout);

  blockscale_tensor_file *file = nullptr;
  ASSERT_EQ(blockscale_tensor_file_open(
                create("f", bytes + "0123456789abcdef").c_str(), &file),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  EXPECT_EQ(blockscale_tensor_file_format(file), BLOCKSCALE_FORMAT_SAFETENSORS);
  EXPECT_EQ(blockscale_tensor_file_size(file), bytes.size() + 16);
  ASSERT_EQ(blockscale_tensor_file_tensor_count(file), 2u);
  blockscale_tensor tensor;
  ASSERT_EQ(blockscale_tensor_file_tensor(file, 1, &tensor), BLOCKSCALE_OK);
  EXPECT_STREQ(tensor.name, "s");
  EXPECT_STREQ(tensor.type->name, "F32");
  EXPECT_EQ(tensor.rank, 0u);
  EXPECT_EQ(tensor.bytes, 4u);
  const char *data =
      static_cast<const char *>(blockscale_tensor_file_data(file));
  EXPECT_EQ(std::string(data + tensor.offset, 4), "cdef");
  ASSERT_EQ(blockscale_tensor_file_metadata_count(file), 1u);
  blockscale_metadata entry;
  ASSERT_EQ(blockscale_tensor_file_metadata(file, 0, &entry), BLOCKSCALE_OK);
  EXPECT_STREQ(entry.key, "k");
  EXPECT_EQ(std::string(static_cast<const char *>(entry.value), entry.bytes),
            "v");
  EXPECT_EQ(blockscale_tensor_file_release(file, 0, UINT64_MAX), BLOCKSCALE_OK);
  EXPECT_EQ(data[tensor.offset], 'c');
  blockscale_read_guard_begin();
  EXPECT_EQ(blockscale_tensor_file_check(file), BLOCKSCALE_OK);
  create("f", "another");
  EXPECT_EQ(blockscale_tensor_file_check(file), BLOCKSCALE_FILE);
  blockscale_read_guard_end();

  EXPECT_EQ(fail(blockscale_tensor_file_tensor(file, 2, &tensor)),
            "expected number to be less than 2, but got 2");
  EXPECT_EQ(fail(blockscale_tensor_file_metadata(file, 1, &entry)),
            "expected number to be less than 1, but got 1");
  blockscale_tensor_file_close(file);
}

TEST_F(CheckpointTest, FilesThatAreRefused) {
  blockscale_tensor_file *file = nullptr;
  EXPECT_EQ(blockscale_tensor_file_open(create("f", "GGUF").c_str(), &file),
            BLOCKSCALE_INVALID_CHECKPOINT);
  EXPECT_EQ(blockscale_last_error(),
            path("f") + ": byte 4 of the file: expected the version to have 4 "
                        "bytes, but only 0 are left");
  EXPECT_EQ(blockscale_tensor_file_open(path("none").c_str(), &file),
            BLOCKSCALE_FILE);
  EXPECT_EQ(file, nullptr);
}

TEST(CheckpointNulls, AreRefusedOrNothing) {
  EXPECT_EQ(fail(blockscale_tensor_file_open(nullptr, nullptr)),
            "expected path to be a pointer, but got null");
  EXPECT_EQ(fail(blockscale_tensor_file_tensor(nullptr, 0, nullptr)),
            "expected file to be a pointer, but got null");
  EXPECT_EQ(fail(blockscale_tensor_file_release(nullptr, 0, 0)),
            "expected file to be a pointer, but got null");
  EXPECT_EQ(fail(blockscale_tensor_file_check(nullptr)),
            "expected file to be a pointer, but got null");
  EXPECT_EQ(blockscale_tensor_file_tensor_count(nullptr), 0u);
  EXPECT_EQ(blockscale_tensor_file_data(nullptr), nullptr);
  EXPECT_EQ(blockscale_tensor_file_size(nullptr), 0u);
  EXPECT_EQ(blockscale_file_layout_header(nullptr), nullptr);
  EXPECT_EQ(blockscale_file_layout_offsets(nullptr), nullptr);
  blockscale_tensor_file_close(nullptr);
  blockscale_file_layout_destroy(nullptr);
  const blockscale_new_tensor tensor = {"w", nullptr, 0, nullptr};
  blockscale_file_layout *layout = nullptr;
  EXPECT_EQ(fail(blockscale_file_layout_create(BLOCKSCALE_FORMAT_GGUF, &tensor,
                                               1, nullptr, 0, &layout)),
            "expected type to be a pointer, but got null");
  EXPECT_EQ(fail(blockscale_file_layout_create(BLOCKSCALE_FORMAT_GGUF, nullptr,
                                               1, nullptr, 0, &layout)),
            "expected tensors to be a pointer, but got null");
  uint64_t changed = 0;
  EXPECT_EQ(fail(blockscale_gguf_pack("MXFP4", 1, 32, nullptr, 16, nullptr, 1,
                                      nullptr, 17, &changed)),
            "expected codes to be a pointer, but got null");
  EXPECT_EQ(fail(blockscale_gguf_pack("MXFP4", 0, 32, nullptr, 0, nullptr, 0,
                                      nullptr, 0, nullptr)),
            "expected changed to be a pointer, but got null");
  // Nothing needs no memory.
  EXPECT_EQ(blockscale_gguf_pack("MXFP4", 0, 32, nullptr, 0, nullptr, 0,
                                 nullptr, 0, &changed),
            BLOCKSCALE_OK);
  float amax = 1;
  EXPECT_EQ(blockscale_amax("F32", nullptr, 0, &amax), BLOCKSCALE_OK);
  EXPECT_EQ(amax, 0.0f);
  EXPECT_EQ(blockscale_split_rows(0, 0, 0, nullptr, nullptr, 0), BLOCKSCALE_OK);
}

TEST(CheckpointTypes, AreListed) {
  size_t count = 0;
  bool found = false;
  for (;
       const blockscale_storage_type *type = blockscale_storage_type_get(count);
       ++count)
    found |= std::string(type->name) == "NVFP4" && type->gguf_number == 40 &&
             type->block_elements == 64 && type->block_bytes == 36;
  EXPECT_TRUE(found);
  EXPECT_GT(count, 40u);
}

// Sizes whose products do not fit are refused before anything is computed.
TEST(CheckpointSizes, AreChecked) {
  uint64_t changed = 0;
  int64_t most = int64_t(1) << 31;
  EXPECT_EQ(fail(blockscale_gguf_unpack("NVFP4", INT64_MAX, 64, nullptr, 0,
                                        nullptr, 0, nullptr, 0, &changed)),
            "expected rows from 0 to 2^31, but got 9223372036854775807");
  EXPECT_EQ(fail(blockscale_gguf_unpack("NVFP4", most, most, nullptr, 0,
                                        nullptr, 0, nullptr, 0, &changed)),
            "expected codes to have 2305843009213693952 bytes, but got 0");
  double squares = 0;
  EXPECT_EQ(fail(blockscale_column_squares("F32", most, most, nullptr, 0,
                                           &squares, 1)),
            "expected sizes of less than 2^63 bytes, but got more");
  EXPECT_EQ(
      fail(blockscale_alternate_rows(most, most, most, nullptr, nullptr, 0)),
      "expected sizes of less than 2^63 bytes, but got more");
  EXPECT_EQ(
      fail(blockscale_column_squares("F32", 0, 2, nullptr, 0, &squares, 1)),
      "expected count to be 2, that of columns, but got 1");
  float scale = 0;
  EXPECT_EQ(
      fail(blockscale_mxfp4_to_fp8(0, 0, 1, 32, nullptr, 0, nullptr, 0, nullptr,
                                   0, &scale, SIZE_MAX, &changed)),
      "expected block_scale_count to be less than 2^62, but got "
      "18446744073709551615");
  blockscale_code_statistics statistics;
  EXPECT_EQ(
      fail(blockscale_scan_codes(1, 3, INT64_MAX - 1, "ab", 2, &statistics)),
      "expected block_cols from 0 to 2^31, but got 9223372036854775806");
}

// A conversion in place would read what it has written.
TEST(CheckpointConversions, ResultsOverlapNothing) {
  std::vector<uint8_t> memory(256), other(64);
  uint8_t *first = memory.data(), *second = other.data();
  uint64_t changed = 0;
  float global = 0, scale = 0;
  std::string rule = " in memory of its own, but it overlaps ";
  EXPECT_EQ(fail(blockscale_gguf_pack("MXFP4", 1, 32, first, 16, second, 1,
                                      first + 15, 17, &changed)),
            "expected blocks" + rule + "codes");
  EXPECT_EQ(fail(blockscale_gguf_unpack("MXFP4", 1, 32, first, 17, first, 16,
                                        second, 1, &changed)),
            "expected codes" + rule + "blocks");
  EXPECT_EQ(fail(blockscale_split_rows(1, 2, 8, first, first, 16)),
            "expected split" + rule + "alternating");
  EXPECT_EQ(fail(blockscale_alternate_rows(1, 2, 8, first, first + 8, 16)),
            "expected alternating" + rule + "split");
  EXPECT_EQ(fail(blockscale_gguf_quantize("MXFP4", "F32", 1, 32, first, 128,
                                          first, 17)),
            "expected blocks" + rule + "x");
  EXPECT_EQ(
      fail(blockscale_mxfp4_to_nvfp4(1, 32, first, 16, second, 1, 0, first, 16,
                                     second + 1, 2, &global, &changed)),
      "expected out_codes" + rule + "codes");
  EXPECT_EQ(fail(blockscale_mxfp4_to_fp8(1, 32, 1, 32, first, 16, second, 1,
                                         first, 32, &scale, 1, &changed)),
            "expected data" + rule + "codes");
  std::vector<double> squares(32);
  EXPECT_EQ(fail(blockscale_column_squares("F32", 4, 2, squares.data(), 32,
                                           squares.data() + 3, 2)),
            "expected squares" + rule + "x");
  EXPECT_EQ(fail(blockscale_column_squares_of_codes("F8_E8M0", 1, 32, 32,
                                                    second, 16, squares.data(),
                                                    1, squares.data(), 32)),
            "expected squares" + rule + "scales");
  EXPECT_EQ(blockscale_split_rows(1, 2, 8, first, first + 16, 16),
            BLOCKSCALE_OK);
}

TEST(CheckpointFacts, AreThoseOfTheLibrary) {
  const float x[] = {1, -2, NAN, 0};
  blockscale_statistics statistics;
  ASSERT_EQ(blockscale_scan("F32", x, sizeof x, &statistics), BLOCKSCALE_OK);
  EXPECT_EQ(statistics.count, 4u);
  EXPECT_EQ(statistics.nan, 1u);
  EXPECT_EQ(statistics.zero, 1u);
  EXPECT_EQ(statistics.negative, 1u);
  EXPECT_EQ(statistics.min, -2.0f);
  EXPECT_EQ(statistics.max, 1.0f);
  EXPECT_EQ(statistics.least, 1.0f);
  blockscale_difference difference;
  const float y[] = {1, -1, NAN, 0};
  ASSERT_EQ(
      blockscale_compare("F32", x, sizeof x, "F32", y, sizeof y, &difference),
      BLOCKSCALE_OK);
  EXPECT_EQ(difference.different, 1u);
  EXPECT_EQ(difference.incomparable, 0u);
  EXPECT_EQ(difference.reference_squares, 5.0);
  EXPECT_EQ(difference.difference_squares, 1.0);
  EXPECT_EQ(difference.largest_index, 1);
  blockscale_code_statistics codes;
  ASSERT_EQ(blockscale_scan_codes(1, 3, 2, "\x21\x05", 2, &codes),
            BLOCKSCALE_OK);
  EXPECT_EQ(codes.codes[0][1], 1u);
  EXPECT_EQ(codes.codes[1][2], 1u);
  EXPECT_EQ(codes.codes[0][5], 1u);
  EXPECT_EQ(codes.codes[1][0], 0u);
  EXPECT_EQ(codes.largest[2], 1u);
  EXPECT_EQ(codes.largest[5], 1u);
}

} // namespace

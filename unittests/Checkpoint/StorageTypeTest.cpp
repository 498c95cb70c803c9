//===- StorageTypeTest.cpp - How files of tensors store elements ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/StorageType.h"

#include "gtest/gtest.h"

#include <set>

using namespace blockscale::checkpoint;
using blockscale::runtime::Result;

namespace {

TEST(StorageType, NamesAndNumbersAreDifferent) {
  std::set<std::string_view> names;
  std::set<int> numbers;
  for (const StorageType &type : kStorageTypes) {
    EXPECT_TRUE(names.insert(type.name).second) << type.name;
    EXPECT_TRUE(type.ggufNumber < 0 || numbers.insert(type.ggufNumber).second)
        << type.name;
    EXPECT_TRUE(type.isInSafetensors || type.ggufNumber >= 0) << type.name;
    EXPECT_EQ(findStorageType(type.name), &type);
  }
  EXPECT_EQ(findStorageType("F7"), nullptr);
  EXPECT_EQ(findGgufType(40)->name, "NVFP4");
  EXPECT_EQ(findGgufType(4), nullptr);
  EXPECT_EQ(findGgufType(UINT32_MAX), nullptr);
}

uint64_t getBytes(FileFormat format, const char *type,
                  const std::vector<int64_t> &shape) {
  Result<uint64_t> bytes = computeBytes(format, *findStorageType(type), shape);
  EXPECT_TRUE(bytes.ok()) << bytes.message();
  return bytes.ok() ? *bytes : UINT64_MAX;
}

std::string rejectShape(FileFormat format, const char *type,
                        const std::vector<int64_t> &shape) {
  return computeBytes(format, *findStorageType(type), shape).message();
}

TEST(StorageType, Bytes) {
  constexpr FileFormat st = FileFormat::Safetensors, gguf = FileFormat::Gguf;
  EXPECT_EQ(getBytes(st, "BF16", {3, 5}), 30u);
  EXPECT_EQ(getBytes(st, "F64", {}), 8u);
  EXPECT_EQ(getBytes(st, "F4", {3, 2}), 3u);
  // In safetensors rows may end within a byte.
  EXPECT_EQ(getBytes(st, "F4", {2, 3}), 3u);
  EXPECT_EQ(getBytes(st, "F6_E3M2", {4}), 3u);
  EXPECT_EQ(getBytes(st, "U8", {0, INT64_MAX}), 0u);
  EXPECT_EQ(getBytes(gguf, "MXFP4", {2, 3, 64}), 204u);
  EXPECT_EQ(getBytes(gguf, "NVFP4", {5, 128}), 360u);
  EXPECT_EQ(getBytes(gguf, "Q8_0", {32}), 34u);
  EXPECT_EQ(getBytes(gguf, "F32", {}), 4u);
}

TEST(StorageType, Errors) {
  constexpr FileFormat st = FileFormat::Safetensors, gguf = FileFormat::Gguf;
  // The number of all elements would do.
  EXPECT_EQ(rejectShape(gguf, "MXFP4", {4, 16}),
            "expected the number of elements of a row to be a multiple of 32 "
            "for MXFP4, but got 16");
  EXPECT_EQ(rejectShape(gguf, "NVFP4", {}),
            "expected the number of elements of a row to be a multiple of 64 "
            "for NVFP4, but got 1");
  EXPECT_EQ(rejectShape(st, "F6_E2M3", {6}),
            "expected the number of elements to be a multiple of 4 for "
            "F6_E2M3, but got 6");
  EXPECT_EQ(rejectShape(gguf, "F32", {1, 1, 1, 1, 1}),
            "expected a shape of at most 4 dimensions, but got 5");
  EXPECT_EQ(rejectShape(st, "F32", {INT64_MAX / 2}),
            "expected a shape of less than 2^63 bytes, but got "
            "[4611686018427387903] of F32");
  EXPECT_EQ(rejectShape(st, "U8", {INT64_MIN}),
            "expected sizes of the shape not to be negative, but got "
            "-9223372036854775808");
  EXPECT_NE(
      rejectShape(gguf, "U8", {1}).find("expected a type of GGUF, one of F32"),
      std::string::npos);
}

} // namespace

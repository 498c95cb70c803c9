//===- NpyWriteTest.cpp - Writing .npy files ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Npy.h"

#include "TestFiles.h"

#include <cstring>
#include <random>

using namespace blockscale::runtime;

namespace {

using NpyWrite = FileTest;

NpyArray makeArray(NpyType type, std::vector<int64_t> shape,
                   const std::string &bytes) {
  Result<NpyArray> array = NpyArray::allocate(type, std::move(shape));
  EXPECT_TRUE(array.ok()) << array.message();
  EXPECT_EQ(array->data.size(), bytes.size());
  std::memcpy(array->data.data(), bytes.data(), bytes.size());
  return std::move(*array);
}

// numpy.save(np.array([[1], [2]], np.uint16)), NumPy 2.4.
TEST_F(NpyWrite, EqualsNumPy) {
  NpyArray array =
      makeArray(NpyType::UInt16, {2, 1}, std::string("\1\0\2\0", 4));
  Status status = writeNpy(path("out.npy"), array);
  ASSERT_TRUE(status.ok()) << status.message();
  std::string expected("\x93NUMPY\x01\x00v\x00{'descr': '<u2', "
                       "'fortran_order': False, 'shape': (2, 1), }",
                       69);
  expected += std::string(58, ' ') + "\n" + std::string("\1\0\2\0", 4);
  EXPECT_EQ(contents("out.npy"), expected);
  EXPECT_EQ(list(), std::vector<std::string>{"out.npy"});
}

TEST_F(NpyWrite, RoundTripsRandomArrays) {
  // NOLINTNEXTLINE(bugprone-random-generator-seed): the same arrays each time
  std::mt19937_64 random(20261);
  for (int trial = 0; trial < 300; ++trial) {
    auto type = static_cast<NpyType>(random() %
                                     (static_cast<int>(NpyType::Float64) + 1));
    std::vector<int64_t> shape(random() % 5);
    for (int64_t &size : shape)
      size = static_cast<int64_t>(random() % 9);
    Result<NpyArray> array = NpyArray::allocate(type, shape);
    ASSERT_TRUE(array.ok()) << array.message();
    for (size_t i = 0; i < array->data.size(); ++i)
      array->data.data()[i] = static_cast<uint8_t>(random());

    Status status = writeNpy(path("out.npy"), *array);
    ASSERT_TRUE(status.ok()) << status.message();
    Result<NpyArray> again = readNpy(path("out.npy"));
    ASSERT_TRUE(again.ok()) << again.message();
    EXPECT_EQ(again->type, type);
    EXPECT_EQ(again->shape, shape);
    ASSERT_EQ(again->data.size(), array->data.size());
    EXPECT_EQ(
        std::memcmp(again->data.data(), array->data.data(), array->data.size()),
        0);
  }
}

TEST_F(NpyWrite, WritesSeveral) {
  NpyArray a = makeArray(NpyType::UInt8, {3}, "abc");
  NpyArray b = makeArray(NpyType::Int16, {1, 1}, "xy");
  Status status = writeNpyFiles({{path("a.npy"), &a}, {path("b.npy"), &b}});
  ASSERT_TRUE(status.ok()) << status.message();
  Result<NpyArray> readA = readNpy(path("a.npy"));
  Result<NpyArray> readB = readNpy(path("b.npy"));
  ASSERT_TRUE(readA.ok() && readB.ok());
  EXPECT_EQ(std::memcmp(readA->data.data(), "abc", 3), 0);
  EXPECT_EQ(std::memcmp(readB->data.data(), "xy", 2), 0);
  EXPECT_EQ(readB->type, NpyType::Int16);
}

TEST_F(NpyWrite, OneFailureLeavesNone) {
  NpyArray a = makeArray(NpyType::UInt8, {3}, "abc");
  Status status =
      writeNpyFiles({{path("a.npy"), &a}, {path("absent/b.npy"), &a}});
  EXPECT_EQ(status.message(), path("absent/b.npy") +
                                  ": cannot write: No such file or "
                                  "directory");
  EXPECT_TRUE(list().empty());
}

TEST_F(NpyWrite, RefusesInconsistentArrays) {
  NpyArray a = makeArray(NpyType::UInt8, {3}, "abc");
  a.shape = {2, 2};
  EXPECT_EQ(writeNpy("a.npy", a).message(),
            "a.npy: expected 4 bytes of data for shape (2, 2) of uint8, but "
            "got 3");
  a.shape = {-1, 3};
  EXPECT_EQ(writeNpy("a.npy", a).message(),
            "a.npy: expected dimension 0 to be non-negative, but got -1");
}

} // namespace

//===- NpyReadTest.cpp - Reading .npy files -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Npy.h"

#include "TestFiles.h"

#include <cstring>
#include <sys/resource.h>

using namespace blockscale::runtime;

namespace {

class NpyRead : public FileTest {
protected:
  /// The message of a refusal without the leading path.
  std::string reject(const std::string &file) {
    Result<NpyArray> array = readNpy(file);
    if (array.ok())
      return "accepted";
    std::string message = array.message();
    std::string prefix = file + ": ";
    EXPECT_EQ(message.substr(0, prefix.size()), prefix);
    return message.substr(std::min(prefix.size(), message.size()));
  }

  std::string rejectBytes(const std::string &bytes) {
    return reject(create("in.npy", bytes));
  }
};

/// A version 1.0 file as numpy.save would not pad it.
std::string compose(const std::string &header, const std::string &data) {
  std::string bytes("\x93NUMPY\x01\x00", 8);
  bytes += static_cast<char>(header.size());
  bytes += '\0';
  return bytes + header + data;
}

const char *const kPair =
    "{'descr': '<u2', 'fortran_order': False, 'shape': (2, 1), }";

TEST_F(NpyRead, ReadsArray) {
  Result<NpyArray> array = readNpy(
      create("in.npy", compose(kPair, std::string("\x34\x12\xff\x00", 4))));
  ASSERT_TRUE(array.ok()) << array.message();
  EXPECT_EQ(array->type, NpyType::UInt16);
  EXPECT_EQ(array->shape, (std::vector<int64_t>{2, 1}));
  EXPECT_EQ(array->data.size(), 4u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array->data.data()) % 64, 0u);
  EXPECT_EQ(array->getAs<uint16_t>()[0], 0x1234);
  EXPECT_EQ(array->getAs<uint16_t>()[1], 0xff);
}

TEST_F(NpyRead, ReadsVersions2And3) {
  for (char version : {2, 3}) {
    std::string bytes = std::string("\x93NUMPY") + version;
    bytes += std::string("\0\x3b\0\0\0", 5);
    bytes += kPair;
    ASSERT_EQ(std::strlen(kPair), 0x3bu);
    Result<NpyArray> array = readNpy(create("in.npy", bytes + "abcd"));
    ASSERT_TRUE(array.ok()) << array.message();
    EXPECT_EQ(std::memcmp(array->data.data(), "abcd", 4), 0);
  }
}

TEST_F(NpyRead, ReadsScalarAndEmptyArrays) {
  Result<NpyArray> scalar = readNpy(
      create("0d.npy",
             compose("{'descr': '<f4', 'fortran_order': False, 'shape': (), }",
                     std::string("\0\0\x80\x3f", 4))));
  ASSERT_TRUE(scalar.ok()) << scalar.message();
  EXPECT_TRUE(scalar->shape.empty());
  EXPECT_EQ(*scalar->getAs<float>(), 1.0f);

  Result<NpyArray> empty = readNpy(create(
      "empty.npy",
      compose("{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }",
              "")));
  ASSERT_TRUE(empty.ok()) << empty.message();
  EXPECT_EQ(empty->shape, (std::vector<int64_t>{3, 0}));
  EXPECT_EQ(empty->data.size(), 0u);
  EXPECT_NE(empty->data.data(), nullptr);
}

TEST_F(NpyRead, RejectsWrongDataSize) {
  EXPECT_EQ(rejectBytes(compose(kPair, "abc")),
            "expected 4 bytes of data for shape (2, 1) of uint16, but got 3");
  EXPECT_EQ(rejectBytes(compose(kPair, "")),
            "expected 4 bytes of data for shape (2, 1) of uint16, but got 0");
  EXPECT_EQ(rejectBytes(compose(kPair, "abcde")),
            "expected 4 bytes of data for shape (2, 1) of uint16, but got 5");
  EXPECT_EQ(
      rejectBytes(compose(
          "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 0), }", "x")),
      "expected 0 bytes of data for shape (3, 0) of float32, but got 1");
}

// The file is compared with the shape before memory is taken for the shape.
TEST_F(NpyRead, RejectsHugeShapeOfSmallFile) {
  EXPECT_EQ(rejectBytes(compose("{'descr': '<f8', 'fortran_order': False, "
                                "'shape': (1000000000000000,), }",
                                "abcd")),
            "expected 8000000000000000 bytes of data for shape "
            "(1000000000000000,) of float64, but got 4");
  EXPECT_EQ(rejectBytes(compose("{'descr': '<f8', 'fortran_order': False, "
                                "'shape': (4294967296, 4294967296), }",
                                "")),
            "expected an array of less than 2^63 bytes, but got shape "
            "(4294967296, 4294967296) of float64");
}

TEST_F(NpyRead, RejectsBadPreambleAndHeader) {
  EXPECT_EQ(rejectBytes(""),
            "expected at least 10 bytes of an .npy file, but got 0");
  EXPECT_EQ(rejectBytes("hello, world"),
            "expected an .npy file, which begins with '\\x93NUMPY', but got "
            "'hello,'");
  std::string good = compose(kPair, "abcd");
  EXPECT_EQ(rejectBytes(good.substr(0, 40)),
            "expected 59 bytes of header, but got 30");
  EXPECT_EQ(rejectBytes(compose("[]", "")),
            "expected a dict ('{') at byte 0 of the header, but got '[]'");
  EXPECT_EQ(rejectBytes(compose("{'descr': '>u2', 'fortran_order': False, "
                                "'shape': (2, 1), }",
                                "abcd")),
            "expected little-endian data ('<u2'), but got big-endian data "
            "('>u2')");
}

TEST_F(NpyRead, RejectsEveryTruncation) {
  std::string good = compose(kPair, "abcd");
  ASSERT_EQ(rejectBytes(good), "accepted");
  for (size_t size = 0; size < good.size(); ++size)
    EXPECT_NE(rejectBytes(good.substr(0, size)), "accepted") << size;
}

TEST_F(NpyRead, RejectsWhatIsNoFile) {
  EXPECT_EQ(reject(path("absent.npy")),
            "cannot open: No such file or directory");
  EXPECT_EQ(reject(directory), "expected a regular file, but got a directory");
  EXPECT_EQ(reject("/dev/null"),
            "expected a regular file, but got a device or pipe");
  // A pipe without a writer must not be waited for.
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  EXPECT_EQ(reject(path("pipe")),
            "expected a regular file, but got a device or pipe");
  std::string file = create("file", "");
  EXPECT_EQ(reject(file + "/in.npy"), "cannot open: Not a directory");
}

TEST_F(NpyRead, RejectsUnreadableFile) {
  std::string file = create("in.npy", compose(kPair, "abcd"));
  ASSERT_EQ(chmod(file.c_str(), 0), 0);
  ASSERT_EQ(chmod(directory.c_str(), 0755), 0);
  AsOrdinaryUser user;
  if (!user.holds())
    GTEST_SKIP() << "root reads every file here";
  EXPECT_EQ(reject(file), "cannot open: Permission denied");
}

// Memory for a file that is long enough, but larger than what can be had.
TEST_F(NpyRead, ReportsLackOfMemory) {
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the sanitizer ends the process instead";
#endif
  std::string file = create(
      "in.npy", compose("{'descr': '|u1', 'fortran_order': False, 'shape': "
                        "(1099511627776,), }",
                        ""));
  off_t header = static_cast<off_t>(contents("in.npy").size());
  if (truncate(file.c_str(), header + (off_t(1) << 40)) != 0)
    GTEST_SKIP() << "no sparse files of 1 TiB here";
  struct rlimit before;
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  struct rlimit limit = before;
  limit.rlim_cur = rlim_t(1) << 38;
  ASSERT_EQ(setrlimit(RLIMIT_AS, &limit), 0);
  std::string message = reject(file);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(message, "cannot allocate 1099511627776 bytes");
}

TEST(NpyArray, AllocatesZeros) {
  Result<NpyArray> array = NpyArray::allocate(NpyType::Int32, {3, 5});
  ASSERT_TRUE(array.ok()) << array.message();
  ASSERT_EQ(array->data.size(), 60u);
  EXPECT_EQ(reinterpret_cast<uintptr_t>(array->data.data()) % 64, 0u);
  for (int i = 0; i < 15; ++i)
    EXPECT_EQ(array->getAs<int32_t>()[i], 0);
}

TEST(NpyArray, RefusesBadShapes) {
  EXPECT_EQ(NpyArray::allocate(NpyType::UInt8, {-2}).message(),
            "expected dimension 0 to be non-negative, but got -2");
#if !__has_feature(address_sanitizer) && !__has_feature(thread_sanitizer)
  EXPECT_EQ(NpyArray::allocate(NpyType::UInt8, {int64_t(1) << 62}).message(),
            "cannot allocate 4611686018427387904 bytes");
#endif
}

} // namespace

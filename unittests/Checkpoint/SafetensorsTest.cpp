//===- SafetensorsTest.cpp - Headers of safetensors files -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Headers.h"

using namespace blockscale::checkpoint;
using blockscale::runtime::Result;

namespace {

std::string writeLength(uint64_t length) {
  std::string bytes;
  for (int i = 0; i < 8; ++i)
    bytes += static_cast<char>(length >> (8 * i));
  return bytes;
}

/// A file with a header and as many bytes of data.
std::string makeFile(const std::string &header, size_t dataBytes) {
  return writeLength(header.size()) + header + std::string(dataBytes, 'x');
}

/// A header of one tensor, whose members are given.
std::string rejectTensor(const std::string &members, size_t dataBytes) {
  return reject(makeFile("{\"w\": {" + members + "}}", dataBytes));
}

TEST(Safetensors, Contents) {
  std::string header =
      "{\"b\": {\"dtype\": \"BF16\", \"shape\": [2, 3], "
      "\"data_offsets\": [4, 16]},\n"
      "\"__metadata__\": {\"format\": \"pt\", \"\\u00e9\": \"\\n\"},"
      "\"a\": {\"data_offsets\": [0, 4], \"dtype\": \"F32\", \"shape\": []}}  ";
  Result<FileContents> contents = readContents(makeFile(header, 16));
  ASSERT_TRUE(contents.ok()) << contents.message();
  EXPECT_EQ(contents->format, FileFormat::Safetensors);
  ASSERT_EQ(contents->tensors.size(), 2u);
  // By their offsets.
  const StoredTensor &a = contents->tensors[0], &b = contents->tensors[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type->name, "F32");
  EXPECT_TRUE(a.shape.empty());
  EXPECT_EQ(a.offset, 8 + header.size());
  EXPECT_EQ(a.bytes, 4u);
  EXPECT_EQ(b.name, "b");
  EXPECT_EQ(b.type->name, "BF16");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(b.offset, 8 + header.size() + 4);
  EXPECT_EQ(b.bytes, 12u);
  ASSERT_EQ(contents->metadata.size(), 2u);
  EXPECT_EQ(contents->metadata[0].key, "format");
  EXPECT_EQ(contents->metadata[0].value, "pt");
  EXPECT_EQ(contents->metadata[0].type, MetadataType::String);
  EXPECT_EQ(contents->metadata[1].key, "\xC3\xA9");
  EXPECT_EQ(contents->metadata[1].value, "\n");
}

TEST(Safetensors, ContentsOutliveMoves) {
  Result<FileContents> read =
      readContents(makeFile("{\"__metadata__\": {\"a\": \"b\"}}", 0));
  ASSERT_TRUE(read.ok());
  FileContents moved = std::move(*read);
  FileContents again = std::move(moved);
  EXPECT_EQ(again.metadata[0].value, "b");
}

// Types of less than a byte, and tensors without elements between others.
TEST(Safetensors, PackedTypesAndEmptyTensors) {
  std::string header =
      "{\"a\":{\"dtype\":\"F4\",\"shape\":[3,2],\"data_offsets\":[0,3]},"
      "\"z\":{\"dtype\":\"I64\",\"shape\":[0,7],\"data_offsets\":[3,3]},"
      "\"b\":{\"dtype\":\"F6_E2M3\",\"shape\":[8],\"data_offsets\":[3,9]},"
      "\"c\":{\"dtype\":\"F8_E8M0\",\"shape\":[1],\"data_offsets\":[9,10]}}";
  Result<FileContents> contents = readContents(makeFile(header, 10));
  ASSERT_TRUE(contents.ok()) << contents.message();
  EXPECT_EQ(contents->tensors[1].name, "z");
  EXPECT_EQ(contents->tensors[3].bytes, 1u);
}

TEST(Safetensors, NoTensors) {
  EXPECT_TRUE(readContents(makeFile("{}", 0)).ok());
  EXPECT_TRUE(readContents(makeFile("{}      ", 0)).ok());
}

TEST(Safetensors, HeaderLengths) {
  EXPECT_EQ(reject(""), "byte 0 of the file: expected the length of a header "
                        "in 8 bytes, but got a file of 0 bytes");
  EXPECT_EQ(reject("{}"), "byte 0 of the file: expected the length of a header "
                          "in 8 bytes, but got a file of 2 bytes");
  EXPECT_EQ(reject(writeLength(3) + "{}"),
            "byte 0 of the file: expected a header of at most 2 bytes, which "
            "the file has, but got 3");
  EXPECT_EQ(reject(writeLength(100000001) + "{}"),
            "byte 0 of the file: expected a header of at most 100000000 bytes, "
            "but got 100000001");
  EXPECT_EQ(reject(writeLength(UINT64_MAX) + "{}"),
            "byte 0 of the file: expected a header of at most 100000000 bytes, "
            "but got 18446744073709551615");
}

TEST(Safetensors, HeaderText) {
  EXPECT_EQ(reject(makeFile("", 0)), "byte 8 of the file: expected a header "
                                     "that begins with '{', but got none");
  EXPECT_EQ(reject(makeFile("[]", 0)), "byte 8 of the file: expected a header "
                                       "that begins with '{', but got '['");
  EXPECT_EQ(reject(makeFile(" {}", 0)), "byte 8 of the file: expected a header "
                                        "that begins with '{', but got ' '");
  EXPECT_EQ(reject(makeFile("{\"\xFF\": 1}", 0)),
            "byte 10 of the file: expected a header of UTF-8 text, but got "
            "other bytes");
  EXPECT_EQ(reject(makeFile("{} {}", 0)),
            "the header: 1:4: expected the end of the text, but got '{'");
  EXPECT_EQ(reject(makeFile("{\"a\"}", 0)),
            "the header: 1:5: expected ':' after a key, but got '}'");
}

TEST(Safetensors, Metadata) {
  EXPECT_EQ(reject(makeFile("{\"__metadata__\": {\"a\": 1}}", 0)),
            "the header: 1:24: expected the value of 'a' to be a string, but "
            "got a number");
  EXPECT_EQ(reject(makeFile("{\"__metadata__\": \"a\"}", 0)),
            "the header: 1:18: expected __metadata__ to be an object, but got "
            "a string");
  EXPECT_EQ(reject(makeFile("{\"__metadata__\": {\"a\\u0000\": \"\"}}", 0)),
            "the header: expected the key without NUL, but byte 1 of it is "
            "one");
}

TEST(Safetensors, Names) {
  std::string empty =
      "{\"dtype\": \"U8\", \"shape\": [0], \"data_offsets\": [0, 0]}";
  EXPECT_EQ(reject(makeFile("{\"w\": " + empty + ", \"w\": " + empty + "}", 0)),
            "the header: 1:65: expected different keys in an object, but got "
            "'w' twice");
  EXPECT_EQ(reject(makeFile("{\"w\\u0000\": " + empty + "}", 0)),
            std::string("tensor 'w\0' (byte 20 of the file): expected the name "
                        "without NUL, but byte 1 of it is one",
                        89));
}

TEST(Safetensors, Members) {
  EXPECT_EQ(reject(makeFile("{\"w\": 3}", 0)),
            "tensor 'w' (byte 14 of the file): 1:7: expected the tensor to be "
            "an object, but got a number");
  EXPECT_EQ(rejectTensor("\"dtype\": \"U8\", \"shape\": [0]", 0),
            "tensor 'w' (byte 14 of the file): expected members dtype, shape "
            "and data_offsets, but data_offsets is missing");
  EXPECT_EQ(rejectTensor("\"type\": \"U8\"", 0),
            "tensor 'w' (byte 14 of the file): expected members dtype, shape "
            "and data_offsets, but got 'type'");
}

TEST(Safetensors, Types) {
  std::string rest = ", \"shape\": [1], \"data_offsets\": [0, 1]";
  std::string message = rejectTensor("\"dtype\": \"U7\"" + rest, 1);
  EXPECT_EQ(message.substr(0, 85),
            "tensor 'w' (byte 14 of the file): expected dtype to be one of "
            "F32, F16, BF16, F64, I8");
  EXPECT_EQ(message.substr(message.size() - 14), ", but got 'U7'");
  // A type of GGUF only.
  EXPECT_NE(rejectTensor("\"dtype\": \"MXFP4\"" + rest, 1).find("'MXFP4'"),
            std::string::npos);
  EXPECT_NE(rejectTensor("\"dtype\": 3" + rest, 1)
                .find("expected dtype to be a string, but got a number"),
            std::string::npos);
}

/// What is wrong with a shape of bytes.
std::string rejectBytes(const std::string &shape) {
  std::string message = rejectTensor("\"dtype\": \"U16\", \"shape\": " + shape +
                                         ", \"data_offsets\": [0, 4]",
                                     4);
  std::string where = "tensor 'w' (byte 14 of the file): ";
  EXPECT_EQ(message.substr(0, where.size()), where);
  return message.substr(where.size());
}

TEST(Safetensors, Shapes) {
  EXPECT_EQ(rejectBytes("[-2, -1]"),
            "expected sizes of the shape not to be negative, but got -2");
  EXPECT_EQ(rejectBytes("[3]"),
            "expected data_offsets to span 6 bytes, the shape [3] of U16, but "
            "they span 4");
  EXPECT_EQ(rejectBytes("[0, 2]"),
            "expected data_offsets to span 0 bytes, the shape [0, 2] of U16, "
            "but they span 4");
  // Products that wrap to 4 bytes, in elements and in bytes.
  EXPECT_EQ(rejectBytes("[4294967296, 4294967296, 2]"),
            "expected a shape of less than 2^63 bytes, but got [4294967296, "
            "4294967296, 2] of U16");
  EXPECT_EQ(rejectBytes("[4611686018427387904]"),
            "expected a shape of less than 2^63 bytes, but got "
            "[4611686018427387904] of U16");
  EXPECT_EQ(rejectBytes("[9223372036854775808]"),
            "1:34: expected an integer of 64 bits, but got "
            "9223372036854775808");
  EXPECT_EQ(rejectBytes("[2.0]"),
            "1:34: expected a size of the shape to be an integer, but got a "
            "number with a fraction or an exponent");
  EXPECT_EQ(rejectBytes("[[2]]"),
            "1:34: expected a size of the shape to be an integer, but got an "
            "array");
  EXPECT_EQ(rejectBytes("2"),
            "1:33: expected shape to be an array, but got a number");
  std::string ones = "[1";
  for (int i = 0; i < 64; ++i)
    ones += ", 1";
  EXPECT_EQ(rejectBytes(ones + "]"),
            "expected a shape of at most 64 dimensions, but got more");
}

// An odd number of codes of 4 bits has half a byte.
TEST(Safetensors, PackedShapes) {
  EXPECT_EQ(rejectTensor("\"dtype\": \"F4\", \"shape\": [3], "
                         "\"data_offsets\": [0, 2]",
                         2),
            "tensor 'w' (byte 14 of the file): expected the number of elements "
            "to be a multiple of 2 for F4, but got 3");
}

/// What is wrong with the offsets of two bytes in a file of four.
std::string rejectOffsets(const std::string &offsets) {
  std::string message = rejectTensor("\"dtype\": \"U8\", \"shape\": [2], "
                                     "\"data_offsets\": " +
                                         offsets,
                                     4);
  std::string where = "tensor 'w' (byte 14 of the file): ";
  return message.substr(0, where.size()) == where ? message.substr(where.size())
                                                  : message;
}

TEST(Safetensors, Offsets) {
  std::string rule = "expected data_offsets in rising order from 0 to 4, the "
                     "bytes behind the header, but got ";
  EXPECT_EQ(rejectOffsets("[3, 5]"), rule + "[3, 5]");
  EXPECT_EQ(rejectOffsets("[2, 0]"), rule + "[2, 0]");
  EXPECT_EQ(rejectOffsets("[-2, 0]"), rule + "[-2, 0]");
  EXPECT_EQ(rejectOffsets("[9223372036854775806, -9223372036854775808]"),
            rule + "[9223372036854775806, -9223372036854775808]");
  EXPECT_EQ(rejectOffsets("[0]"), "expected data_offsets to be two, but got 1");
  EXPECT_EQ(rejectOffsets("[0, 2, 4]"),
            "expected data_offsets to be two, but got more");
  EXPECT_EQ(rejectOffsets("[0, 3]"),
            "expected data_offsets to span 2 bytes, the shape [2] of U8, but "
            "they span 3");
  EXPECT_EQ(rejectOffsets("[2, 4]"),
            "expected it to begin at byte 68 of the file, behind the header, "
            "but it begins at byte 70, behind a hole");
  EXPECT_EQ(rejectOffsets("[0, 2]"),
            "byte 70 of the file: expected the end of the file behind the last "
            "tensor, but got 2 more bytes");
}

TEST(Safetensors, OverlapsAndHoles) {
  auto getFile = [](int begin) {
    return makeFile(
        "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[0,4]},"
        "\"b\":{\"dtype\":\"U8\",\"shape\":[2],\"data_offsets\":[" +
            std::to_string(begin) + "," + std::to_string(begin + 2) + "]}}",
        8);
  };
  EXPECT_EQ(reject(getFile(3)),
            "tensor 'b' (byte 65 of the file): expected it to begin at byte "
            "117 of the file, behind 'a', but it begins at byte 116 and "
            "overlaps");
  EXPECT_EQ(reject(getFile(5)),
            "tensor 'b' (byte 65 of the file): expected it to begin at byte "
            "117 of the file, behind 'a', but it begins at byte 118, behind a "
            "hole");
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

Metadata getString(std::string key, std::string_view value) {
  return {std::move(key), MetadataType::String, MetadataType::U8, 0, value};
}

TEST(Safetensors, LayoutIsRead) {
  std::vector<TensorDescription> tensors = {
      describe("b", "F32", {2, 3}), describe("a\"\n\xC3\xA9", "F4", {4, 2}),
      describe("empty", "I64", {0}), describe("scalar", "BF16", {})};
  Result<FileLayout> layout =
      layOutFile(FileFormat::Safetensors, tensors,
                 {getString("format", "pt"), getString("\"", "\t")});
  ASSERT_TRUE(layout.ok()) << layout.message();
  EXPECT_EQ(layout->header.size() % 8, 0u);
  std::string file = layout->header;
  file.resize(layout->fileBytes);
  Result<FileContents> contents = readContents(file);
  ASSERT_TRUE(contents.ok()) << contents.message();
  ASSERT_EQ(contents->tensors.size(), tensors.size());
  for (size_t i = 0; i < tensors.size(); ++i) {
    EXPECT_EQ(contents->tensors[i].name, tensors[i].name);
    EXPECT_EQ(contents->tensors[i].type, tensors[i].type);
    EXPECT_EQ(contents->tensors[i].shape, tensors[i].shape);
    EXPECT_EQ(contents->tensors[i].offset, layout->offsets[i]);
  }
  EXPECT_EQ(contents->metadata[1].key, "\"");
  EXPECT_EQ(contents->metadata[1].value, "\t");
}

TEST(Safetensors, LayoutIsThis) {
  Result<FileLayout> layout =
      layOutFile(FileFormat::Safetensors, {describe("w", "BF16", {2, 3})}, {});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->header, writeLength(64) +
                                "{\"w\":{\"dtype\":\"BF16\",\"shape\":[2,3],"
                                "\"data_offsets\":[0,12]}}      ");
  EXPECT_EQ(layout->fileBytes, 8u + 64 + 12);
}

TEST(Safetensors, LayoutErrors) {
  EXPECT_EQ(rejectLayout(FileFormat::Safetensors,
                         {describe("w", "U8", {}), describe("w", "U8", {})}),
            "expected different names of tensors, but got 'w' twice");
  EXPECT_EQ(rejectLayout(FileFormat::Safetensors,
                         {describe("__metadata__", "U8", {})}),
            "expected the name of a tensor, but got '__metadata__', which is "
            "that of metadata");
  EXPECT_EQ(rejectLayout(FileFormat::Safetensors, {describe("\xFF", "U8", {})}),
            "expected the name of a tensor to be UTF-8, but byte 0 of it is "
            "not");
  std::string message =
      rejectLayout(FileFormat::Safetensors, {describe("w", "NVFP4", {64})});
  EXPECT_EQ(message.substr(0, 51),
            "tensor 'w': expected a type of safetensors, one of ");
  EXPECT_EQ(
      rejectLayout(FileFormat::Safetensors, {describe("w", "U8", {INT64_MAX})}),
      "tensor 'w': expected a file of at most 2^62 bytes of data, but "
      "got more");
  EXPECT_EQ(rejectLayout(FileFormat::Safetensors, {describe("w", "U8", {-1})}),
            "tensor 'w': expected sizes of the shape not to be negative, but "
            "got -1");
  EXPECT_EQ(rejectLayout(FileFormat::Safetensors, {},
                         {getString("a", ""), getString("a", "")}),
            "expected different keys of metadata, but got 'a' twice");
  EXPECT_EQ(rejectLayout(FileFormat::Safetensors, {}, {getString("a", "\xFF")}),
            "expected the value of 'a' to be UTF-8, but byte 0 of it is not");
  EXPECT_EQ(rejectLayout(FileFormat::Safetensors, {},
                         {{"a", MetadataType::U8, MetadataType::U8, 0, "1"}}),
            "expected strings as metadata of safetensors, but got 'a' of "
            "another type");
}

} // namespace

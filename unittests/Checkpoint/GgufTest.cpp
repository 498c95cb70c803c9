//===- GgufTest.cpp - Headers of GGUF files -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Headers.h"

using namespace blockscale::checkpoint;
using blockscale::runtime::Result;

namespace {

template <typename Number>
std::string toBytes(Number number) {
  return {reinterpret_cast<const char *>(&number), sizeof number};
}
std::string u32(uint32_t number) { return toBytes(number); }
std::string u64(uint64_t number) { return toBytes(number); }
std::string text(const std::string &text) { return u64(text.size()) + text; }

std::string makeHeader(uint64_t tensors, uint64_t keys, uint32_t version = 3) {
  return "GGUF" + u32(version) + u64(tensors) + u64(keys);
}

/// A tensor of bytes, as the header has it.
std::string makeTensor(const std::string &name, uint64_t size, uint64_t offset,
                       uint32_t type = 24) {
  return text(name) + u32(1) + u64(size) + u32(type) + u64(offset);
}

std::string alignTo(std::string file, size_t alignment) {
  file.resize((file.size() + alignment - 1) / alignment * alignment);
  return file;
}

TEST(Gguf, Contents) {
  std::string file = makeHeader(2, 3) + text("general.alignment") + u32(4) +
                     u32(64) + text("name") + u32(8) + text("llama") +
                     text("list") + u32(9) + u32(8) + u64(2) + text("a") +
                     text("") +
                     // Sizes begin with that of a row.
                     text("b") + u32(2) + u64(32) + u64(3) + u32(39) + u64(64) +
                     text("a") + u32(0) + u32(0) + u64(0);
  size_t dataOffset = alignTo(file, 64).size();
  file = alignTo(file, 64) + std::string(64 + 51, 'x');
  Result<FileContents> contents = readContents(file);
  ASSERT_TRUE(contents.ok()) << contents.message();
  EXPECT_EQ(contents->format, FileFormat::Gguf);
  ASSERT_EQ(contents->tensors.size(), 2u);
  const StoredTensor &a = contents->tensors[0], &b = contents->tensors[1];
  EXPECT_EQ(a.name, "a");
  EXPECT_EQ(a.type->name, "F32");
  EXPECT_TRUE(a.shape.empty());
  EXPECT_EQ(a.offset, dataOffset);
  EXPECT_EQ(a.bytes, 4u);
  EXPECT_EQ(b.type->name, "MXFP4");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{3, 32}));
  EXPECT_EQ(b.offset, dataOffset + 64);
  EXPECT_EQ(b.bytes, 51u);
  ASSERT_EQ(contents->metadata.size(), 3u);
  EXPECT_EQ(contents->metadata[0].key, "general.alignment");
  EXPECT_EQ(contents->metadata[0].type, MetadataType::U32);
  EXPECT_EQ(contents->metadata[0].value, u32(64));
  EXPECT_EQ(contents->metadata[1].value, "llama");
  EXPECT_EQ(contents->metadata[2].type, MetadataType::Array);
  EXPECT_EQ(contents->metadata[2].elementType, MetadataType::String);
  EXPECT_EQ(contents->metadata[2].count, 2u);
  EXPECT_EQ(contents->metadata[2].value, text("a") + text(""));
}

// A value of each type, alone and in an array.
TEST(Gguf, Values) {
  size_t sizes[] = {1, 1, 2, 2, 4, 4, 4, 1, 0, 0, 8, 8, 8};
  std::string file;
  uint64_t keys = 0;
  for (uint32_t type = 0; type < std::size(sizes); ++type) {
    if (sizes[type] == 0)
      continue;
    file += text("k" + std::to_string(type)) + u32(type) +
            std::string(sizes[type], '\1');
    file += text("a" + std::to_string(type)) + u32(9) + u32(type) + u64(3) +
            std::string(3 * sizes[type], '\1');
    keys += 2;
  }
  file = makeHeader(0, keys) + file;
  Result<FileContents> contents = readContents(file);
  ASSERT_TRUE(contents.ok()) << contents.message();
  ASSERT_EQ(contents->metadata.size(), keys);
  for (const Metadata &entry : contents->metadata) {
    bool isArray = entry.key[0] == 'a';
    int type = std::stoi(entry.key.substr(1));
    EXPECT_EQ(static_cast<int>(isArray ? entry.elementType : entry.type), type);
    EXPECT_EQ(entry.value, std::string((isArray ? 3 : 1) * sizes[type], '\1'));
  }
}

TEST(Gguf, OlderVersionAndNoTensors) {
  EXPECT_TRUE(readContents(makeHeader(0, 0, 2)).ok());
  EXPECT_TRUE(readContents(makeHeader(0, 0)).ok());
}

TEST(Gguf, Start) {
  EXPECT_EQ(reject("GGUF"), "byte 4 of the file: expected the version to have "
                            "4 bytes, but only 0 are left");
  EXPECT_EQ(reject(makeHeader(0, 0, 1)),
            "byte 8 of the file: expected version 2 or 3, but got 1");
  EXPECT_EQ(reject(makeHeader(0, 0).substr(0, 23)),
            "byte 16 of the file: expected the number of keys to have 8 bytes, "
            "but only 7 are left");
  EXPECT_EQ(reject(makeHeader(0, UINT64_MAX) + std::string(26, '\0')),
            "byte 24 of the file: expected a number of keys of at most 2, for "
            "which there are bytes, but got 18446744073709551615");
  EXPECT_EQ(reject(makeHeader(2, 0) + std::string(47, '\0')),
            "byte 24 of the file: expected a number of tensors of at most 1, "
            "for which there are bytes, but got 2");
}

TEST(Gguf, Keys) {
  auto getFile = [](const std::string &rest) {
    return makeHeader(0, 1) + rest + std::string(20, '\0');
  };
  EXPECT_EQ(reject(getFile(u64(29))),
            "byte 24 of the file: expected a key to have 29 bytes, but only 20 "
            "are left");
  EXPECT_EQ(reject(getFile(u64(UINT64_MAX))),
            "byte 24 of the file: expected a key to have 18446744073709551615 "
            "bytes, but only 20 are left");
  EXPECT_EQ(reject(getFile(text("\xC0"))),
            "byte 24 of the file: expected a key to be UTF-8, but byte 0 of it "
            "is not");
  EXPECT_TRUE(readContents(makeHeader(0, 1) + text(std::string(65535, 'k')) +
                           u32(0) + "1")
                  .ok());
  EXPECT_EQ(reject(getFile(text(std::string(65536, 'k')))),
            "byte 24 of the file: expected a key to have at most 65535 bytes, "
            "but got 65536");
  EXPECT_EQ(reject(makeHeader(0, 2) + text("k") + u32(0) + "1" + text("k") +
                   u32(0) + "1"),
            "key 'k' (byte 38 of the file): expected different keys, but got "
            "it twice");
  EXPECT_EQ(reject(getFile(text("k") + u32(13))),
            "key 'k' (byte 24 of the file): expected the type of a value to be "
            "from 0 to 12, but got 13");
  EXPECT_EQ(reject(getFile(text("k") + u32(7) + "\2")),
            "key 'k' (byte 24 of the file): expected a boolean to be 0 or 1, "
            "but got 2");
  EXPECT_EQ(reject(getFile(text("k") + u32(8) + u64(21))),
            "key 'k' (byte 24 of the file): expected a string to have 21 "
            "bytes, but only 20 are left");
}

TEST(Gguf, Arrays) {
  auto getFile = [](const std::string &array) {
    return makeHeader(0, 1) + text("k") + u32(9) + array;
  };
  std::string where = "key 'k' (byte 24 of the file): ";
  // The product of the number and the size would be 8.
  EXPECT_EQ(reject(getFile(u32(10) + u64((uint64_t(1) << 61) + 1) +
                           std::string(9, '\0'))),
            where + "expected an array of at most 1 elements, for which there "
                    "are bytes, but got 2305843009213693953");
  EXPECT_EQ(reject(getFile(u32(8) + u64(UINT64_MAX) + text("a"))),
            where + "expected the length of a string to have 8 bytes, but only "
                    "0 are left");
  EXPECT_EQ(reject(getFile(u32(14) + u64(0))),
            where + "expected the type of a value to be from 0 to 12, but got "
                    "14");
  EXPECT_EQ(reject(getFile(u32(7) + u64(3) + std::string("\0\1\xFF", 3))),
            where + "expected a boolean to be 0 or 1, but got 255");
}

TEST(Gguf, NestedArrays) {
  auto getFile = [](int depth) {
    std::string file = makeHeader(0, 1) + text("k") + u32(9);
    for (int i = 1; i < depth; ++i)
      file += u32(9) + u64(1);
    return file + u32(2) + u64(2) + "abcd";
  };
  std::string file = getFile(3);
  Result<FileContents> contents = readContents(file);
  ASSERT_TRUE(contents.ok()) << contents.message();
  EXPECT_EQ(contents->metadata[0].elementType, MetadataType::Array);
  EXPECT_EQ(contents->metadata[0].count, 1u);
  EXPECT_EQ(contents->metadata[0].value,
            u32(9) + u64(1) + u32(2) + u64(2) + "abcd");
  EXPECT_TRUE(readContents(getFile(8)).ok());
  EXPECT_EQ(reject(getFile(9)),
            "key 'k' (byte 24 of the file): expected at most 8 levels of "
            "arrays, but got more");
}

TEST(Gguf, Alignment) {
  auto getFile = [](uint32_t type, const std::string &value) {
    return makeHeader(0, 1) + text("general.alignment") + u32(type) + value;
  };
  std::string where = "key 'general.alignment' (byte 24 of the file): ";
  std::string rule = where + "expected general.alignment to be a power of two "
                             "up to 1073741824, but got ";
  EXPECT_EQ(reject(getFile(4, u32(0))), rule + "0");
  EXPECT_EQ(reject(getFile(4, u32(48))), rule + "48");
  EXPECT_EQ(reject(getFile(4, u32(uint32_t(1) << 31))), rule + "2147483648");
  EXPECT_EQ(reject(getFile(10, u64(32))),
            where + "expected its value to be of type 4, u32, but got 10");
  EXPECT_TRUE(readContents(getFile(4, u32(1))).ok());
}

/// A file of one tensor, described, and some data.
std::string makeFile(const std::string &tensors, uint64_t count,
                     size_t dataBytes) {
  return alignTo(makeHeader(count, 0) + tensors, 32) +
         std::string(dataBytes, 'x');
}

TEST(Gguf, Tensors) {
  std::string where = "tensor 'w' (byte 24 of the file): ";
  EXPECT_TRUE(readContents(makeFile(makeTensor("w", 5, 0), 1, 5)).ok());
  EXPECT_EQ(reject(makeFile(text("w") + u32(5) + std::string(64, '\0'), 1, 0)),
            where + "expected at most 4 dimensions, but got 5");
  EXPECT_EQ(reject(makeFile(makeTensor("w", 5, 0, 4), 1, 5)),
            where + "expected the number of a type of ggml, but got 4");
  EXPECT_EQ(reject(makeFile(makeTensor("w", UINT64_MAX, 0), 1, 5)),
            where + "expected sizes of the shape not to be negative, but got "
                    "-1");
  EXPECT_EQ(reject(makeFile(makeTensor("w", uint64_t(1) << 62, 0, 0), 1, 5)),
            where + "expected a shape of less than 2^63 bytes, but got "
                    "[4611686018427387904] of F32");
  EXPECT_EQ(reject(makeFile(makeTensor("w", 33, 0, 39), 1, 34)),
            where + "expected the number of elements of a row to be a multiple "
                    "of 32 for MXFP4, but got 33");
  EXPECT_EQ(reject(makeFile(makeTensor("\xFF", 5, 0), 1, 5)),
            "byte 24 of the file: expected the name of a tensor to be UTF-8, "
            "but byte 0 of it is not");
  EXPECT_EQ(
      reject(makeFile(makeTensor("w", 32, 0) + makeTensor("w", 1, 32), 2, 64)),
      "tensor 'w' (byte 57 of the file): expected different names of "
      "tensors, but got it twice");
}

TEST(Gguf, Offsets) {
  std::string where = "tensor 'w' (byte 24 of the file): ";
  EXPECT_EQ(reject(makeFile(makeTensor("w", 5, 16), 1, 64)),
            where + "expected its offset in the data to be a multiple of the "
                    "alignment, 32, but got 16");
  EXPECT_EQ(reject(makeFile(makeTensor("w", 5, 32), 1, 64)),
            where + "expected it to begin at byte 64 of the file, behind the "
                    "header, but it begins at byte 96, behind a hole");
  EXPECT_EQ(reject(makeFile(makeTensor("w", 5, uint64_t(-32)), 1, 64)),
            where + "expected a file with its 5 bytes from byte "
                    "18446744073709551584 of the data on, but got one of 128 "
                    "bytes");
  EXPECT_EQ(reject(makeFile(makeTensor("w", 5, 0), 1, 4)),
            "byte 68 of the file: expected a file of at least 69 bytes, where "
            "'w' ends, but got one of 68");
  auto getPair = [](uint64_t offset) {
    return makeFile(makeTensor("a", 33, 0) + makeTensor("w", 1, offset), 2,
                    128);
  };
  // Padding behind the last tensor, and bytes behind that, are no fault.
  EXPECT_EQ(reject(getPair(64)), "accepted");
  EXPECT_EQ(reject(getPair(32)),
            "tensor 'w' (byte 57 of the file): expected it to begin at byte "
            "160 of the file, behind 'a', but it begins at byte 128 and "
            "overlaps");
  EXPECT_EQ(reject(getPair(96)),
            "tensor 'w' (byte 57 of the file): expected it to begin at byte "
            "160 of the file, behind 'a', but it begins at byte 192, behind a "
            "hole");
}

//===----------------------------------------------------------------------===//
// Layout
//===----------------------------------------------------------------------===//

// What is read of a layout is what it was made of.
TEST(Gguf, LayoutIsRead) {
  std::string alignment = u32(128), number = toBytes(0.1),
              list = u32(8) + u64(1) + text("x") + u32(0) + u64(2) + "12";
  std::vector<Metadata> metadata = {
      {"general.alignment", MetadataType::U32, MetadataType::U8, 0, alignment},
      {"f", MetadataType::F64, MetadataType::U8, 0, number},
      {"s", MetadataType::String, MetadataType::U8, 0, "text"},
      {"l", MetadataType::Array, MetadataType::Array, 2, list}};
  std::vector<TensorDescription> tensors = {describe("b", "NVFP4", {3, 2, 64}),
                                            describe("a", "F32", {}),
                                            describe("c", "BF16", {2, 3})};
  Result<FileLayout> layout = layOutFile(FileFormat::Gguf, tensors, metadata);
  ASSERT_TRUE(layout.ok()) << layout.message();
  EXPECT_EQ(layout->header.size() % 128, 0u);
  EXPECT_EQ(layout->fileBytes, layout->header.size() + 512);
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
  ASSERT_EQ(contents->metadata.size(), metadata.size());
  for (size_t i = 0; i < metadata.size(); ++i) {
    EXPECT_EQ(contents->metadata[i].key, metadata[i].key);
    EXPECT_EQ(contents->metadata[i].type, metadata[i].type);
    EXPECT_EQ(contents->metadata[i].elementType, metadata[i].elementType);
    EXPECT_EQ(contents->metadata[i].count, metadata[i].count);
    EXPECT_EQ(contents->metadata[i].value, metadata[i].value);
  }
}

TEST(Gguf, LayoutIsThis) {
  Result<FileLayout> layout =
      layOutFile(FileFormat::Gguf, {describe("w", "I8", {2, 3})},
                 {{"k", MetadataType::U8, MetadataType::U8, 0, "1"}});
  ASSERT_TRUE(layout.ok());
  EXPECT_EQ(layout->header,
            alignTo(makeHeader(1, 1) + text("k") + u32(0) + "1" + text("w") +
                        u32(2) + u64(3) + u64(2) + u32(24) + u64(0),
                    32));
}

TEST(Gguf, LayoutErrors) {
  EXPECT_EQ(rejectLayout(FileFormat::Gguf,
                         {describe("w", "F32", {}), describe("w", "F32", {})}),
            "tensor 'w': expected different names of tensors, but got it "
            "twice");
  std::string name(63, 'n');
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {describe(name, "F32", {})}),
            "accepted");
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {describe(name + "n", "F32", {})}),
            "tensor '" + name +
                "n': expected a name of at most 63 bytes, but got 64");
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {describe("w", "NVFP4", {2, 32})}),
            "tensor 'w': expected the number of elements of a row to be a "
            "multiple of 64 for NVFP4, but got 32");
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {describe("w", "I8", {INT64_MAX})}),
            "tensor 'w': expected a file of at most 2^62 bytes of data, but "
            "got more");
  Metadata entry = {std::string(65536, 'k'), MetadataType::U32,
                    MetadataType::U8, 0, "1234"};
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {}, {entry}),
            "key '" + entry.key +
                "': expected a key of at most 65535 bytes, but got 65536");
  entry.key = "k";
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {}, {entry}), "accepted");
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {}, {entry, entry}),
            "key 'k': expected different keys, but got it twice");
  entry.value = "123";
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {}, {entry}),
            "key 'k': expected an array of at most 0 elements, for which there "
            "are bytes, but got 1");
  entry.value = "12345";
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {}, {entry}),
            "key 'k': expected the end of its value, but got 1 more bytes");
  entry = {"k", static_cast<MetadataType>(13), MetadataType::U8, 0, ""};
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {}, {entry}),
            "key 'k': expected types of metadata from 0 to 12, but got 13");
  entry = {"general.alignment", MetadataType::U32, MetadataType::U8, 0,
           std::string_view("\3\0\0\0", 4)};
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {}, {entry}),
            "key 'general.alignment': expected general.alignment to be a power "
            "of two up to 1073741824, but got 3");
  entry.type = MetadataType::I32;
  EXPECT_EQ(rejectLayout(FileFormat::Gguf, {}, {entry}),
            "key 'general.alignment': expected its value to be of type 4, u32, "
            "but got 5");
}

} // namespace

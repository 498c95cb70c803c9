//===- FatBinary.cpp - PTX in what nvcc embeds ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FatBinary.h"

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FormatVariadic.h"

namespace blockscale::cuda {

namespace {
constexpr uint32_t kMagic = 0xBA55ED50;
constexpr uint16_t kVersion = 1;
constexpr uint64_t kHeaderBytes = 16;
constexpr uint64_t kEntryHeaderBytes = 64;
constexpr uint16_t kPtxKind = 1;
constexpr uint64_t kLz4Flag = 0x2000;
constexpr uint64_t kZstdFlag = 0x8000;
/// More than any PTX text has; bounds what a damaged file asks for.
constexpr uint64_t kMaxTextBytes = uint64_t(1) << 32;
} // namespace

template <typename T>
static T readField(const uint8_t *at) {
  return llvm::support::endian::read<T, llvm::endianness::little>(at);
}

static llvm::Error refuse(const llvm::Twine &message) {
  return llvm::createStringError("fat binary: " + message);
}

/// The text of an entry that holds PTX.
static llvm::Expected<std::string> readText(const uint8_t *entry,
                                            llvm::ArrayRef<uint8_t> content) {
  uint64_t flags = readField<uint64_t>(entry + 40);
  uint64_t compressed = readField<uint32_t>(entry + 16);
  uint64_t bytes = readField<uint64_t>(entry + 56);
  if (flags & kLz4Flag)
    return refuse("LZ4 compression is not modelled; build with nvcc 13's "
                  "default, or with -no-compress");
  if (!(flags & kZstdFlag) && compressed != 0)
    return refuse(llvm::formatv("expected an entry that is not compressed or "
                                "one zstd frame, but got flags {0:x}",
                                flags));
  if (compressed == 0) {
    llvm::StringRef text(reinterpret_cast<const char *>(content.data()),
                         content.size());
    return text.take_until([](char c) { return c == 0; }).str();
  }
  if (compressed > content.size())
    return refuse(llvm::formatv("expected at most {0} compressed bytes in an "
                                "entry, but got {1}",
                                content.size(), compressed));
  if (bytes > kMaxTextBytes)
    return refuse(llvm::formatv("expected at most {0} bytes of PTX, but got "
                                "{1}",
                                kMaxTextBytes, bytes));
  if (!llvm::compression::zstd::isAvailable())
    return refuse("the LLVM of this build cannot read zstd; build the program "
                  "with -no-compress");
  llvm::SmallVector<uint8_t> text;
  if (llvm::Error error = llvm::compression::zstd::decompress(
          content.take_front(compressed), text, bytes))
    return refuse("zstd: " + llvm::toString(std::move(error)));
  llvm::StringRef decompressed(reinterpret_cast<const char *>(text.data()),
                               text.size());
  return decompressed.take_until([](char c) { return c == 0; }).str();
}

llvm::Expected<std::vector<std::string>> readFatBinary(const void *data) {
  const auto *header = static_cast<const uint8_t *>(data);
  uint32_t magic = readField<uint32_t>(header);
  if (magic != kMagic)
    return refuse(llvm::formatv("expected it to begin with {0:x}, but got "
                                "{1:x}",
                                kMagic, magic));
  uint16_t version = readField<uint16_t>(header + 4);
  uint16_t headerBytes = readField<uint16_t>(header + 6);
  if (version != kVersion || headerBytes != kHeaderBytes)
    return refuse(llvm::formatv("expected version {0} with a header of {1} "
                                "bytes, but got version {2} with {3}",
                                kVersion, kHeaderBytes, version, headerBytes));
  llvm::ArrayRef<uint8_t> rest(header + kHeaderBytes,
                               readField<uint64_t>(header + 8));
  std::vector<std::string> texts;
  while (!rest.empty()) {
    if (rest.size() < kEntryHeaderBytes)
      return refuse(llvm::formatv("expected an entry's header of {0} bytes, "
                                  "but got {1}",
                                  kEntryHeaderBytes, rest.size()));
    const uint8_t *entry = rest.data();
    uint64_t entryHeader = readField<uint32_t>(entry + 4);
    uint64_t bytes = readField<uint64_t>(entry + 8);
    if (entryHeader < kEntryHeaderBytes || entryHeader > rest.size() ||
        bytes > rest.size() - entryHeader)
      return refuse(llvm::formatv("expected an entry within {0} bytes, but got "
                                  "a header of {1} and a content of {2}",
                                  rest.size(), entryHeader, bytes));
    if (readField<uint16_t>(entry) == kPtxKind) {
      llvm::Expected<std::string> text =
          readText(entry, rest.slice(entryHeader, bytes));
      if (!text)
        return text.takeError();
      texts.push_back(std::move(*text));
    }
    rest = rest.drop_front(entryHeader + bytes);
  }
  return texts;
}

llvm::StringRef getTarget(llvm::StringRef ptx) {
  llvm::StringRef rest = ptx.split("\n.target").second.ltrim(" \t");
  return rest.take_until([](char c) {
    return c == ',' || c == '\n' || c == '\r' || c == ' ' || c == '\t';
  });
}

} // namespace blockscale::cuda

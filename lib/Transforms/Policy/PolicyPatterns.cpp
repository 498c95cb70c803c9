//===- PolicyPatterns.cpp - Patterns of names in policies -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// LLVM's patterns are of bytes, and those of policies of characters. A pattern
// tells apart only the characters that it has and what lies between two of
// them, so that these get bytes of their own in their order, of the pattern and
// of the name alike: ASCII keeps its bytes, and the n-th other character of the
// pattern gets byte 129 + 2 n, between 128 + 2 n for all before it and
// 130 + 2 n for all behind it.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/QuantizationPolicy.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/GlobPattern.h"

using namespace mlir;
using blockscale::runtime::Status;

namespace blockscale {

/// Most patterns that braces may stand for.
static constexpr size_t kMaxPatterns = 1024;
/// Most characters of a pattern that are not ASCII, each counted once.
static constexpr size_t kMaxWideCharacters = 63;
static constexpr uint32_t kFirstWide = 0x80;
/// What stands for a byte b that is of no character: beyond all of Unicode.
static constexpr uint32_t kFirstStrayByte = 0x110000;

/// The code points of a text, and the bytes of it that are of none.
static SmallVector<uint32_t> decode(StringRef text) {
  SmallVector<uint32_t> characters;
  const auto *at = text.bytes_begin(), *end = text.bytes_end();
  while (at != end) {
    llvm::UTF32 character;
    const auto *begin = at;
    if (llvm::convertUTF8Sequence(&at, end, &character,
                                  llvm::strictConversion) ==
        llvm::conversionOK) {
      characters.push_back(character);
      continue;
    }
    at = begin + 1;
    characters.push_back(kFirstStrayByte + *begin);
  }
  return characters;
}

/// The characters of a pattern that are not ASCII, in ascending order.
static SmallVector<uint32_t> findWide(ArrayRef<uint32_t> pattern) {
  SmallVector<uint32_t> wide;
  llvm::copy_if(pattern, std::back_inserter(wide),
                [](uint32_t each) { return each >= kFirstWide; });
  llvm::sort(wide);
  wide.erase(llvm::unique(wide), wide.end());
  return wide;
}

/// The bytes of characters beside those of a pattern.
static llvm::SmallString<64> encode(ArrayRef<uint32_t> characters,
                                    ArrayRef<uint32_t> wide) {
  llvm::SmallString<64> bytes;
  for (uint32_t each : characters) {
    if (each < kFirstWide) {
      bytes.push_back(static_cast<char>(each));
      continue;
    }
    size_t place = llvm::lower_bound(wide, each) - wide.begin();
    bool isOfPattern = place < wide.size() && wide[place] == each;
    bytes.push_back(static_cast<char>(kFirstWide + 2 * place + isOfPattern));
  }
  return bytes;
}

Status checkPattern(StringRef pattern) {
  SmallVector<uint32_t> characters = decode(pattern);
  SmallVector<uint32_t> wide = findWide(characters);
  if (wide.size() > kMaxWideCharacters)
    return Status::failure(
        "expected at most " + std::to_string(kMaxWideCharacters) +
        " different characters that are not ASCII, but got " +
        std::to_string(wide.size()));
  llvm::Expected<llvm::GlobPattern> made =
      llvm::GlobPattern::create(encode(characters, wide), kMaxPatterns);
  if (made)
    return Status::success();
  return Status::failure(llvm::toString(made.takeError()));
}

bool matchesPattern(StringRef pattern, StringRef name) {
  SmallVector<uint32_t> characters = decode(pattern);
  SmallVector<uint32_t> wide = findWide(characters);
  // The pattern refers to its text.
  llvm::SmallString<64> bytes = encode(characters, wide);
  llvm::Expected<llvm::GlobPattern> made =
      llvm::GlobPattern::create(bytes, kMaxPatterns);
  if (made)
    return made->match(encode(decode(name), wide));
  llvm::consumeError(made.takeError());
  return false;
}

} // namespace blockscale

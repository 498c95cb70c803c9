//===- BytecodeAnswer.cpp - What the reader of bytecode says --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/BytecodeAnswer.h"

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/raw_ostream.h"

using blockscale::runtime::Result;
using blockscale::runtime::Status;
using llvm::StringRef;
using Kind = blockscale::BytecodeAnswer::Kind;

namespace blockscale {

/// The names of the kinds, in their order.
static constexpr StringRef kKindNames[] = {"module", "error", "damaged"};

/// The most bytes that the line before the text has.
static constexpr size_t kLongestHeader = 128;

/// What each answer begins with, "blockscale-read-bytecode 0.1.0".
static std::string getGreeting() {
  return std::string(kBytecodeReaderName) + " " + BLOCKSCALE_VERSION;
}

std::string formatAnswer(const BytecodeAnswer &answer) {
  StringRef kind = kKindNames[static_cast<size_t>(answer.kind)];
  return (getGreeting() + " " + kind + " " + llvm::Twine(answer.text.size()) +
          "\n" + answer.text)
      .str();
}

/// The kind of the answer and the length of its text.
static std::optional<std::pair<Kind, uint64_t>> parseHeader(StringRef header) {
  uint64_t length = 0;
  if (!header.consume_front(getGreeting() + " "))
    return std::nullopt;
  auto [name, digits] = header.split(' ');
  const auto *found = llvm::find(kKindNames, name);
  if (found == std::end(kKindNames) || digits.getAsInteger(10, length))
    return std::nullopt;
  return std::make_pair(static_cast<Kind>(found - std::begin(kKindNames)),
                        length);
}

std::optional<Result<BytecodeAnswer>> parseAnswer(StringRef bytes,
                                                  uint64_t longest) {
  size_t end = bytes.take_front(kLongestHeader).find('\n');
  if (end == StringRef::npos && bytes.size() < kLongestHeader)
    return std::nullopt;
  StringRef header = bytes.take_front(std::min(end, kLongestHeader));
  auto parsed = parseHeader(header);
  if (!parsed || parsed->second > longest) {
    std::string found;
    llvm::raw_string_ostream os(found);
    llvm::printEscapedString(header, os);
    return Status::failure("expected an answer of " + getGreeting() +
                           " with at most " + std::to_string(longest) +
                           " bytes of text, but got '" + found + "'");
  }
  auto [kind, length] = *parsed;
  StringRef text = bytes.drop_front(end + 1);
  if (text.size() < length)
    return std::nullopt;
  return BytecodeAnswer{kind, text.take_front(length).str()};
}

} // namespace blockscale

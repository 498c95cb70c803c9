//===- TextLists.cpp - Lists in text of MLIR ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TextLists.h"

#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace blockscale {

namespace {

/// An op whose parser needs a list, and the word before that.
struct OpWithList {
  StringRef op, word;
};

constexpr OpWithList kOpsWithLists[] = {{"linalg.transpose", "permutation"},
                                        {"linalg.broadcast", "dimensions"},
                                        {"linalg.reduce", "dimensions"}};

class ListScanner {
public:
  explicit ListScanner(StringRef text) : text(text) {}

  std::optional<TextFault> run();

private:
  bool isAt(StringRef token) const {
    return text.substr(at).starts_with(token);
  }
  StringRef takeWhile(function_ref<bool(char)> isPart) {
    size_t begin = at;
    while (at < text.size() && isPart(text[at]))
      ++at;
    return text.slice(begin, at);
  }
  void skipString();
  void skipBlanks();
  /// Whether an integer of 64 bits is here, which it takes.
  bool takeInteger();
  /// What is wrong behind the word before a list.
  std::optional<TextFault> checkList();

  StringRef text;
  size_t at = 0;
};

} // namespace

static bool isPartOfWord(char c) {
  return llvm::isAlnum(c) || c == '_' || c == '$' || c == '.';
}

void ListScanner::skipString() {
  for (++at; at < text.size() && text[at] != '"' && text[at] != '\n'; ++at)
    if (text[at] == '\\')
      ++at;
  ++at;
}

void ListScanner::skipBlanks() {
  while (true) {
    takeWhile(llvm::isSpace);
    if (!isAt("//"))
      return;
    takeWhile([](char c) { return c != '\n'; });
  }
}

bool ListScanner::takeInteger() {
  size_t begin = at;
  if (isAt("-"))
    ++at;
  StringRef word = takeWhile(llvm::isAlnum);
  int64_t number;
  if (word == "true" || word == "false")
    return at - begin == word.size();
  bool isHex = word.starts_with("0x");
  return llvm::isDigit(word.empty() ? '\0' : word.front()) &&
         !text.slice(begin, at).getAsInteger(isHex ? 0 : 10, number);
}

std::optional<TextFault> ListScanner::checkList() {
  skipBlanks();
  if (!isAt("="))
    return std::nullopt;
  ++at;
  skipBlanks();
  size_t begin = at;
  auto fail = [&](StringRef expected) {
    StringRef line = text.substr(begin).take_until(
        [](char c) { return c == '\n' || c == '\r'; });
    return TextFault{at, ("expected " + expected +
                          " in a list of integers, as "
                          "[1, 0], but got '" +
                          line.take_front(32) + "'")
                             .str()};
  };
  if (!isAt("["))
    return fail("'['");
  ++at;
  skipBlanks();
  if (isAt("]"))
    return std::nullopt;
  while (true) {
    skipBlanks();
    size_t element = at;
    if (!takeInteger()) {
      at = element;
      return fail("an integer of 64 bits");
    }
    skipBlanks();
    if (isAt("]"))
      return std::nullopt;
    if (!isAt(","))
      return fail("',' or ']'");
    ++at;
  }
}

std::optional<TextFault> ListScanner::run() {
  StringRef awaited;
  while (at < text.size()) {
    skipBlanks();
    if (at >= text.size())
      break;
    char c = text[at];
    if (c == '"') {
      skipString();
    } else if (StringRef("%@^#!").contains(c)) {
      // A name, which can be any word.
      ++at;
      if (!isAt("\""))
        takeWhile([](char c) { return isPartOfWord(c) || c == '-'; });
    } else if (isPartOfWord(c)) {
      StringRef word = takeWhile(isPartOfWord);
      for (const OpWithList &each : kOpsWithLists)
        if (word == each.op)
          awaited = each.word;
      if (!awaited.empty() && word == awaited) {
        awaited = {};
        if (std::optional<TextFault> fault = checkList())
          return fault;
      }
    } else {
      ++at;
    }
  }
  return std::nullopt;
}

std::optional<TextFault> findTextListFault(StringRef text) {
  return ListScanner(text).run();
}

} // namespace blockscale

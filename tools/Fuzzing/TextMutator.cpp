//===- TextMutator.cpp - Mutations of tokens and lines --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "TextMutator.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;

namespace blockscale {

static unsigned below(std::minstd_rand &random, size_t count) {
  return count == 0 ? 0 : random() % count;
}

/// Cuts words, numbers, the x between sizes, and single characters.
static SmallVector<StringRef, 0> tokenize(StringRef text,
                                          StringRef wordCharacters) {
  SmallVector<StringRef, 0> tokens;
  bool afterSize = false;
  while (!text.empty()) {
    size_t length = 1;
    bool isSize = text.front() == '?';
    if (isDigit(text.front())) {
      length = text.find_if_not(isDigit);
      isSize = true;
    } else if (isAlpha(text.front()) && !(afterSize && text.front() == 'x')) {
      length = text.find_if_not(
          [&](char c) { return isAlnum(c) || wordCharacters.contains(c); });
    }
    length = std::min(length, text.size());
    tokens.push_back(text.take_front(length));
    text = text.drop_front(length);
    afterSize = isSize;
  }
  return tokens;
}

static std::string mutateTokens(StringRef text, const Vocabulary &vocabulary,
                                std::minstd_rand &random) {
  SmallVector<StringRef, 0> tokens = tokenize(text, vocabulary.wordCharacters);
  SmallVector<unsigned, 0> words;
  for (auto [i, token] : enumerate(tokens))
    if (!isSpace(token.front()))
      words.push_back(i);
  if (words.empty())
    return text.str();
  StringRef &token = tokens[words[below(random, words.size())]];
  StringRef other = tokens[words[below(random, words.size())]];
  switch (below(random, 6)) {
  case 0:
    token = "";
    break;
  case 1:
    token = other;
    break;
  default:
    token = vocabulary.tokens[below(random, vocabulary.tokens.size())];
    break;
  }
  return join(tokens, "");
}

static std::string mutateLines(StringRef text, std::minstd_rand &random) {
  SmallVector<StringRef, 0> lines;
  text.split(lines, '\n');
  unsigned line = below(random, lines.size());
  switch (below(random, 3)) {
  case 0:
    lines.erase(lines.begin() + line);
    break;
  case 1: {
    StringRef copied = lines[line];
    lines.insert(lines.begin() + below(random, lines.size()), copied);
    break;
  }
  default:
    std::swap(lines[line], lines[below(random, lines.size())]);
    break;
  }
  return join(lines, "\n");
}

std::string mutateText(StringRef text, const Vocabulary &vocabulary,
                       std::minstd_rand &random) {
  if (below(random, 8) == 0)
    return mutateLines(text, random);
  return mutateTokens(text, vocabulary, random);
}

std::string mutateBytes(StringRef bytes, std::minstd_rand &random) {
  std::string result = bytes.str();
  size_t at = below(random, result.size());
  char byte = static_cast<char>(below(random, 256));
  switch (below(random, 4)) {
  case 0:
    result.insert(at, 1, byte);
    break;
  case 1:
    result.erase(at, 1);
    break;
  default:
    if (!result.empty())
      result[at] = byte;
    break;
  }
  return result;
}

} // namespace blockscale

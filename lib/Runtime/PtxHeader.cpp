//===- PtxHeader.cpp - What a PTX text is for -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxHeader.h"

using namespace blockscale::runtime;

/// Takes blanks and comments off the front.
static void skipBlanks(std::string_view &text) {
  while (!text.empty()) {
    if (std::string_view(" \t\r\n").find(text[0]) != std::string_view::npos) {
      text.remove_prefix(1);
      continue;
    }
    std::string_view end;
    if (text.substr(0, 2) == "//")
      end = "\n";
    else if (text.substr(0, 2) == "/*")
      end = "*/";
    else
      return;
    size_t found = text.find(end, 2);
    text.remove_prefix(found == std::string_view::npos ? text.size()
                                                       : found + end.size());
  }
}

/// Takes a word off the front, of which a comma is no part; what is longer than
/// any directive is cut.
static std::string takeWord(std::string_view &text) {
  skipBlanks(text);
  std::string word(text.substr(0, text.find_first_of(" \t\r\n,/")), 0, 32);
  text.remove_prefix(word.size());
  return word;
}

Result<PtxHeader> blockscale::runtime::parsePtxHeader(std::string_view text) {
  // Drivers take a text that ends with a NUL.
  if (size_t found = text.find('\0'); found != std::string_view::npos)
    return Status::failure("expected text, but got a zero at byte " +
                           std::to_string(found));
  PtxHeader header;
  const std::pair<const char *, std::string *> directives[] = {
      {".version", &header.version}, {".target", &header.chip}};
  for (auto [directive, value] : directives) {
    if (std::string found = takeWord(text); found != directive)
      return Status::failure("expected the directive " +
                             std::string(directive) + ", but got '" + found +
                             "'");
    *value = takeWord(text);
  }
  return header;
}

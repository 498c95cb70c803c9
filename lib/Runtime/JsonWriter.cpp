//===- JsonWriter.cpp - Writes JSON text ----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/JsonWriter.h"

using namespace blockscale::runtime;

void JsonWriter::breakLine() {
  if (!containers.empty() && containers.back().layout == Layout::OneLine)
    return;
  text += '\n';
  text.append(2 * containers.size(), ' ');
}

void JsonWriter::separate() {
  if (hasKey || containers.empty()) {
    hasKey = false;
    return;
  }
  if (!containers.back().isEmpty)
    text += ',';
  containers.back().isEmpty = false;
  breakLine();
}

void JsonWriter::begin(char bracket, Layout layout) {
  separate();
  if (!containers.empty() && containers.back().layout == Layout::OneLine)
    layout = Layout::OneLine;
  text += bracket;
  containers.push_back({layout});
}

void JsonWriter::end(char bracket) {
  Container ended = containers.back();
  containers.pop_back();
  if (!ended.isEmpty && ended.layout == Layout::Lines)
    breakLine();
  text += bracket;
}

void JsonWriter::key(std::string_view name) {
  separate();
  quote(name);
  text += containers.back().layout == Layout::OneLine ? ":" : ": ";
  hasKey = true;
}

void JsonWriter::value(int64_t number) {
  separate();
  text += std::to_string(number);
}

void JsonWriter::value(bool flag) {
  separate();
  text += flag ? "true" : "false";
}

void JsonWriter::value(std::string_view content) {
  separate();
  quote(content);
}

void JsonWriter::quote(std::string_view content) {
  constexpr std::string_view escaped = "\t\n\r\"\\", letters = "tnr\"\\";
  constexpr std::string_view digits = "0123456789abcdef";
  text += '"';
  for (char c : content) {
    if (size_t found = escaped.find(c); found != std::string_view::npos)
      text += {'\\', letters[found]};
    else if (static_cast<unsigned char>(c) < 0x20)
      text += {'\\', 'u', '0', '0', digits[c >> 4], digits[c & 15]};
    else
      text += c;
  }
  text += '"';
}

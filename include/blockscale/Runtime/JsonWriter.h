//===- JsonWriter.h - Writes JSON text --------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_JSONWRITER_H
#define BLOCKSCALE_RUNTIME_JSONWRITER_H

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace blockscale::runtime {

/// JSON text that grows value by value. Members of an object, and elements of
/// an array, have a line each; those in a container on one line are on that
/// line.
class JsonWriter {
public:
  enum class Layout { Lines, OneLine };

  void beginObject(Layout layout = Layout::Lines) { begin('{', layout); }
  void endObject() { end('}'); }
  void beginArray(Layout layout = Layout::Lines) { begin('[', layout); }
  void endArray() { end(']'); }

  /// The key of the value that follows.
  void key(std::string_view name);
  void value(int64_t number);
  void value(bool flag);
  /// `text` must be UTF-8.
  void value(std::string_view text);
  void value(const char *text) { value(std::string_view(text)); }

  /// What was written.
  std::string take() { return std::move(text); }

private:
  struct Container {
    Layout layout;
    bool isEmpty = true;
  };

  void begin(char bracket, Layout layout);
  void end(char bracket);
  /// What is between the value before and this one.
  void separate();
  void breakLine();
  void quote(std::string_view content);

  std::string text;
  std::vector<Container> containers;
  bool hasKey = false;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_JSONWRITER_H

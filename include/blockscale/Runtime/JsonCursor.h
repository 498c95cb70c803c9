//===- JsonCursor.h - JSON text, value by value -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A cursor goes through JSON text (Json.h) once and keeps nothing of it but the
// keys of the objects that it is in. A document that says the same thing many
// times, such as the header of a file with a million tensors, takes no more
// memory than what its reader keeps.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_JSONCURSOR_H
#define BLOCKSCALE_RUNTIME_JSONCURSOR_H

#include "blockscale/Runtime/Json.h"

#include <functional>

namespace blockscale::runtime {

/// Reads the values of a text from left to right. After a failure, whose
/// message begins with "LINE:COLUMN: ", nothing more is read.
class JsonCursor {
public:
  explicit JsonCursor(std::string_view text) : text(text) {}

  /// The next value with all that is in it.
  Status readValue(JsonValue &value);
  /// The next value, which must be an object; `what` names it in messages.
  /// `readMember` gets each key and reads the value of it.
  Status
  readObject(std::string_view what,
             const std::function<Status(const std::string &)> &readMember);
  /// The next value, which must be an array; `readElement` reads each element.
  Status readArray(std::string_view what,
                   const std::function<Status()> &readElement);
  Status readString(std::string_view what, std::string &string);
  Status readInteger(std::string_view what, int64_t &integer);
  /// The end of the text, behind blanks.
  Status readEnd();

  /// Bytes before the next value, blanks included.
  size_t getPosition();

private:
  Status expectKind(std::string_view what, JsonValue::Kind kind);
  Status parseElements(const std::function<Status()> &readElement);
  Status
  parseMembers(const std::function<Status(const std::string &)> &readMember);
  Status parseString(std::string &string);
  Status parseEscape(std::string &string);
  Status parseUnit(uint32_t &unit);
  Status parseNumber(JsonValue &value);
  /// Digits, at least one.
  Status skipDigits();
  bool consumeWord(std::string_view word);

  void skipSpace();
  bool atEnd() const { return position == text.size(); }
  /// The next byte; 0 at the end, which no token begins with.
  char peek() const { return atEnd() ? '\0' : text[position]; }
  bool consume(char expected);
  Status expect(char expected, const char *where);
  Status fail(const std::string &message) const;
  /// `expected X, but got` the next byte.
  Status failExpected(const std::string &expected) const;

  std::string_view text;
  size_t position = 0;
  int line = 1;
  size_t lineStart = 0;
  /// The number of arrays and objects that the position is in.
  int depth = 0;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_JSONCURSOR_H

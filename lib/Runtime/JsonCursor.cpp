//===- JsonCursor.cpp - JSON text, value by value -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/JsonCursor.h"

#include <charconv>
#include <unordered_set>

using namespace blockscale::runtime;

static bool isJsonDigit(char c) { return c >= '0' && c <= '9'; }

void JsonCursor::skipSpace() {
  for (; !atEnd(); ++position) {
    char c = text[position];
    if (c == '\n') {
      ++line;
      lineStart = position + 1;
    } else if (c != ' ' && c != '\t' && c != '\r') {
      return;
    }
  }
}

bool JsonCursor::consume(char expected) {
  if (peek() != expected || atEnd())
    return false;
  ++position;
  return true;
}

bool JsonCursor::consumeWord(std::string_view word) {
  if (text.substr(position, word.size()) != word)
    return false;
  position += word.size();
  return true;
}

Status JsonCursor::fail(const std::string &message) const {
  return Status::failure(std::to_string(line) + ":" +
                         std::to_string(position - lineStart + 1) + ": " +
                         message);
}

Status JsonCursor::failExpected(const std::string &expected) const {
  std::string found = "the end of the text";
  unsigned char c = peek();
  if (!atEnd())
    found = c >= 0x20 && c < 0x7F ? "'" + std::string(1, peek()) + "'"
                                  : "byte " + std::to_string(c);
  return fail("expected " + expected + ", but got " + found);
}

Status JsonCursor::expect(char expected, const char *where) {
  skipSpace();
  return consume(expected)
             ? Status::success()
             : failExpected("'" + std::string(1, expected) + "' " + where);
}

Status JsonCursor::readEnd() {
  skipSpace();
  return atEnd() ? Status::success() : failExpected("the end of the text");
}

size_t JsonCursor::getPosition() {
  skipSpace();
  return position;
}

/// The kind of the value that begins with a byte, if one does. A number counts
/// as an integer.
static std::optional<JsonValue::Kind> findKind(char first) {
  switch (first) {
  case '{':
    return JsonValue::Kind::Object;
  case '[':
    return JsonValue::Kind::Array;
  case '"':
    return JsonValue::Kind::String;
  case 't':
  case 'f':
    return JsonValue::Kind::Boolean;
  case 'n':
    return JsonValue::Kind::Null;
  default:
    if (first == '-' || isJsonDigit(first))
      return JsonValue::Kind::Integer;
    return std::nullopt;
  }
}

Status JsonCursor::expectKind(std::string_view what, JsonValue::Kind kind) {
  skipSpace();
  std::optional<JsonValue::Kind> found = findKind(peek());
  if (!found)
    return failExpected("a value");
  if (*found == kind)
    return Status::success();
  return fail("expected " + std::string(what) + " to be " +
              std::string(getJsonKindName(kind)) + ", but got " +
              (*found == JsonValue::Kind::Integer
                   ? "a number"
                   : std::string(getJsonKindName(*found))));
}

Status JsonCursor::readObject(
    std::string_view what,
    const std::function<Status(const std::string &)> &readMember) {
  Status status = expectKind(what, JsonValue::Kind::Object);
  if (!status.ok())
    return status;
  ++position;
  return parseMembers(readMember);
}

Status JsonCursor::readArray(std::string_view what,
                             const std::function<Status()> &readElement) {
  Status status = expectKind(what, JsonValue::Kind::Array);
  if (!status.ok())
    return status;
  ++position;
  return parseElements(readElement);
}

Status JsonCursor::readString(std::string_view what, std::string &string) {
  Status status = expectKind(what, JsonValue::Kind::String);
  return status.ok() ? parseString(string) : status;
}

Status JsonCursor::readInteger(std::string_view what, int64_t &integer) {
  Status status = expectKind(what, JsonValue::Kind::Integer);
  if (!status.ok())
    return status;
  size_t start = position;
  JsonValue value;
  status = parseNumber(value);
  if (!status.ok())
    return status;
  if (value.kind != JsonValue::Kind::Integer) {
    position = start;
    return fail("expected " + std::string(what) + " to be " +
                std::string(getJsonKindName(JsonValue::Kind::Integer)) +
                ", but got " + std::string(getJsonKindName(value.kind)));
  }
  integer = value.integer;
  return Status::success();
}

Status JsonCursor::readValue(JsonValue &value) {
  skipSpace();
  value.line = line;
  value.column = static_cast<int>(position - lineStart + 1);
  if (depth > kMaxJsonDepth)
    return fail("expected at most " + std::to_string(kMaxJsonDepth) +
                " levels of arrays and objects, but got more");
  if (consume('{')) {
    value.kind = JsonValue::Kind::Object;
    return parseMembers([&](const std::string &key) {
      JsonMember member{key, {}};
      Status status = readValue(member.value);
      value.members.push_back(std::move(member));
      return status;
    });
  }
  if (consume('[')) {
    value.kind = JsonValue::Kind::Array;
    return parseElements(
        [&] { return readValue(value.elements.emplace_back()); });
  }
  if (peek() == '"') {
    value.kind = JsonValue::Kind::String;
    return parseString(value.string);
  }
  if (consumeWord("null"))
    return Status::success();
  value.kind = JsonValue::Kind::Boolean;
  value.boolean = consumeWord("true");
  if (value.boolean || consumeWord("false"))
    return Status::success();
  if (peek() != '-' && !isJsonDigit(peek()))
    return failExpected("a value");
  return parseNumber(value);
}

/// The rest of an array, behind its bracket.
Status JsonCursor::parseElements(const std::function<Status()> &readElement) {
  skipSpace();
  if (consume(']'))
    return Status::success();
  ++depth;
  while (true) {
    Status status = readElement();
    if (!status.ok())
      return status;
    skipSpace();
    if (consume(','))
      continue;
    --depth;
    return expect(']', "or ',' in an array");
  }
}

/// The rest of an object, behind its brace.
Status JsonCursor::parseMembers(
    const std::function<Status(const std::string &)> &readMember) {
  skipSpace();
  if (consume('}'))
    return Status::success();
  ++depth;
  // An object may have as many keys as the text has room for.
  std::unordered_set<std::string> keys;
  while (true) {
    skipSpace();
    if (peek() != '"')
      return failExpected("a key");
    std::string key;
    Status status = parseString(key);
    if (!status.ok())
      return status;
    auto [place, isNew] = keys.insert(std::move(key));
    if (!isNew)
      return fail("expected different keys in an object, but got '" + *place +
                  "' twice");
    status = expect(':', "after a key");
    if (!status.ok())
      return status;
    status = readMember(*place);
    if (!status.ok())
      return status;
    skipSpace();
    if (consume(','))
      continue;
    --depth;
    return expect('}', "or ',' in an object");
  }
}

/// Whether a character of a string stands for itself.
static bool isPlain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

Status JsonCursor::parseString(std::string &string) {
  ++position; // the quote
  while (!consume('"')) {
    if (static_cast<unsigned char>(peek()) < 0x20)
      return failExpected("a character of a string");
    if (consume('\\')) {
      Status status = parseEscape(string);
      if (!status.ok())
        return status;
      continue;
    }
    size_t begin = position;
    while (!atEnd() && isPlain(text[position]))
      ++position;
    string += text.substr(begin, position - begin);
  }
  return Status::success();
}

/// Four hexadecimal digits.
Status JsonCursor::parseUnit(uint32_t &unit) {
  std::string_view digits = text.substr(position, 4);
  const char *begin = digits.data(), *end = begin + digits.size();
  auto [stop, error] = std::from_chars(begin, end, unit, 16);
  if (digits.size() != 4 || error != std::errc() || stop != end)
    return failExpected("four hexadecimal digits after \\u");
  position += 4;
  return Status::success();
}

static void appendUtf8(std::string &string, uint32_t code) {
  auto add = [&](uint32_t byte) { string += static_cast<char>(byte); };
  auto addTail = [&](int shift) { add(0x80 | ((code >> shift) & 0x3F)); };
  if (code < 0x80)
    return add(code);
  if (code < 0x800) {
    add(0xC0 | (code >> 6));
  } else if (code < 0x10000) {
    add(0xE0 | (code >> 12));
    addTail(6);
  } else {
    add(0xF0 | (code >> 18));
    addTail(12);
    addTail(6);
  }
  addTail(0);
}

Status JsonCursor::parseEscape(std::string &string) {
  constexpr std::string_view kNames = "\"\\/bfnrt";
  constexpr std::string_view kBytes = "\"\\/\b\f\n\r\t";
  size_t index = atEnd() ? std::string_view::npos : kNames.find(peek());
  if (index != std::string_view::npos) {
    ++position;
    string += kBytes[index];
    return Status::success();
  }
  if (!consume('u'))
    return failExpected("an escape of JSON after '\\'");
  uint32_t code = 0;
  Status status = parseUnit(code);
  if (!status.ok())
    return status;
  if (code >= 0xD800 && code < 0xE000) {
    uint32_t low = 0;
    if (code >= 0xDC00 || !consumeWord("\\u"))
      return fail("expected a pair of surrogates, but got one alone");
    status = parseUnit(low);
    if (!status.ok())
      return status;
    if (low < 0xDC00 || low >= 0xE000)
      return fail("expected a pair of surrogates, but got one alone");
    code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
  }
  appendUtf8(string, code);
  return Status::success();
}

Status JsonCursor::skipDigits() {
  if (!isJsonDigit(peek()))
    return failExpected("a digit");
  while (isJsonDigit(peek()))
    ++position;
  return Status::success();
}

Status JsonCursor::parseNumber(JsonValue &value) {
  size_t start = position;
  // A failure is one of the number, which began there.
  auto failAtStart = [&](const std::string &expected) {
    std::string found(text.substr(start, position - start));
    position = start;
    return fail("expected " + expected + ", but got " + found);
  };
  consume('-');
  size_t first = position;
  Status status = skipDigits();
  if (!status.ok())
    return status;
  if (text[first] == '0' && position - first > 1)
    return failAtStart("a number without leading zeros");
  value.kind = JsonValue::Kind::Integer;
  if (consume('.')) {
    value.kind = JsonValue::Kind::Number;
    status = skipDigits();
  }
  if (status.ok() && (consume('e') || consume('E'))) {
    value.kind = JsonValue::Kind::Number;
    if (!consume('+'))
      consume('-');
    status = skipDigits();
  }
  if (!status.ok())
    return status;
  const char *begin = text.data() + start, *end = text.data() + position;
  if (value.kind == JsonValue::Kind::Integer)
    return std::from_chars(begin, end, value.integer).ec == std::errc()
               ? Status::success()
               : failAtStart("an integer of 64 bits");
  return std::from_chars(begin, end, value.number).ec == std::errc()
             ? Status::success()
             : failAtStart("a number in the range of f64");
}

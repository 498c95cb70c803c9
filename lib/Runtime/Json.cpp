//===- Json.cpp - JSON text -----------------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Json.h"

#include <charconv>
#include <set>

using namespace blockscale::runtime;

const JsonValue *JsonValue::find(std::string_view key) const {
  for (const JsonMember &member : members)
    if (member.key == key)
      return &member.value;
  return nullptr;
}

std::string_view blockscale::runtime::getJsonKindName(JsonValue::Kind kind) {
  switch (kind) {
  case JsonValue::Kind::Null:
    return "null";
  case JsonValue::Kind::Boolean:
    return "a boolean";
  case JsonValue::Kind::Integer:
    return "an integer";
  case JsonValue::Kind::Number:
    return "a number with a fraction or an exponent";
  case JsonValue::Kind::String:
    return "a string";
  case JsonValue::Kind::Array:
    return "an array";
  case JsonValue::Kind::Object:
    return "an object";
  }
  return "";
}

namespace {

class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  Result<JsonValue> parseDocument();

private:
  Status parseValue(JsonValue &value, int depth);
  Status parseElements(JsonValue &array, int depth);
  Status parseMembers(JsonValue &object, int depth);
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
};

} // namespace

static bool isDigit(char c) { return c >= '0' && c <= '9'; }

void Parser::skipSpace() {
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

bool Parser::consume(char expected) {
  if (peek() != expected || atEnd())
    return false;
  ++position;
  return true;
}

bool Parser::consumeWord(std::string_view word) {
  if (text.substr(position, word.size()) != word)
    return false;
  position += word.size();
  return true;
}

Status Parser::fail(const std::string &message) const {
  return Status::failure(std::to_string(line) + ":" +
                         std::to_string(position - lineStart + 1) + ": " +
                         message);
}

Status Parser::failExpected(const std::string &expected) const {
  std::string found = "the end of the text";
  unsigned char c = peek();
  if (!atEnd())
    found = c >= 0x20 && c < 0x7F ? "'" + std::string(1, peek()) + "'"
                                  : "byte " + std::to_string(c);
  return fail("expected " + expected + ", but got " + found);
}

Status Parser::expect(char expected, const char *where) {
  skipSpace();
  return consume(expected)
             ? Status::success()
             : failExpected("'" + std::string(1, expected) + "' " + where);
}

Result<JsonValue> Parser::parseDocument() {
  JsonValue value;
  Status status = parseValue(value, 0);
  if (!status.ok())
    return status;
  skipSpace();
  if (!atEnd())
    return failExpected("the end of the text");
  return value;
}

Status Parser::parseValue(JsonValue &value, int depth) {
  skipSpace();
  value.line = line;
  value.column = static_cast<int>(position - lineStart + 1);
  if (depth > kMaxJsonDepth)
    return fail("expected at most " + std::to_string(kMaxJsonDepth) +
                " levels of arrays and objects, but got more");
  if (consume('{')) {
    value.kind = JsonValue::Kind::Object;
    return parseMembers(value, depth);
  }
  if (consume('[')) {
    value.kind = JsonValue::Kind::Array;
    return parseElements(value, depth);
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
  if (peek() != '-' && !isDigit(peek()))
    return failExpected("a value");
  return parseNumber(value);
}

Status Parser::parseElements(JsonValue &array, int depth) {
  skipSpace();
  if (consume(']'))
    return Status::success();
  while (true) {
    Status status = parseValue(array.elements.emplace_back(), depth + 1);
    if (!status.ok())
      return status;
    skipSpace();
    if (!consume(','))
      return expect(']', "or ',' in an array");
  }
}

Status Parser::parseMembers(JsonValue &object, int depth) {
  skipSpace();
  if (consume('}'))
    return Status::success();
  // An object may have as many keys as the text has room for.
  std::set<std::string> keys;
  while (true) {
    skipSpace();
    if (peek() != '"')
      return failExpected("a key");
    JsonMember member;
    Status status = parseString(member.key);
    if (!status.ok())
      return status;
    if (!keys.insert(member.key).second)
      return fail("expected different keys in an object, but got '" +
                  member.key + "' twice");
    status = expect(':', "after a key");
    if (!status.ok())
      return status;
    status = parseValue(member.value, depth + 1);
    if (!status.ok())
      return status;
    object.members.push_back(std::move(member));
    skipSpace();
    if (!consume(','))
      return expect('}', "or ',' in an object");
  }
}

Status Parser::parseString(std::string &string) {
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
    string += text[position++];
  }
  return Status::success();
}

/// Four hexadecimal digits.
Status Parser::parseUnit(uint32_t &unit) {
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

Status Parser::parseEscape(std::string &string) {
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

Status Parser::skipDigits() {
  if (!isDigit(peek()))
    return failExpected("a digit");
  while (isDigit(peek()))
    ++position;
  return Status::success();
}

Status Parser::parseNumber(JsonValue &value) {
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

Result<JsonValue> blockscale::runtime::parseJson(std::string_view text) {
  return Parser(text).parseDocument();
}

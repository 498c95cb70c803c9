//===- JsonTest.cpp - JSON text -------------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Json.h"

#include "gtest/gtest.h"

using namespace blockscale::runtime;
using Kind = JsonValue::Kind;

namespace {

/// The message of a failure.
std::string reject(const std::string &text) {
  Result<JsonValue> value = parseJson(text);
  return value.ok() ? "accepted" : value.message();
}

TEST(Json, Values) {
  Result<JsonValue> value = parseJson(
      " {\"a\": [1, -9223372036854775808, 9223372036854775807],\n"
      "  \"b\": {\"c\": true, \"d\": false, \"e\": null}, \"f\": []}\r\n\t");
  ASSERT_TRUE(value.ok()) << value.message();
  ASSERT_EQ(value->members.size(), 3u);
  const JsonValue &a = *value->find("a");
  ASSERT_EQ(a.elements.size(), 3u);
  EXPECT_EQ(a.elements[0].integer, 1);
  EXPECT_EQ(a.elements[1].integer, INT64_MIN);
  EXPECT_EQ(a.elements[2].integer, INT64_MAX);
  const JsonValue &b = *value->find("b");
  EXPECT_TRUE(b.find("c")->boolean);
  EXPECT_FALSE(b.find("d")->boolean);
  EXPECT_EQ(b.find("d")->kind, Kind::Boolean);
  EXPECT_EQ(b.find("e")->kind, Kind::Null);
  EXPECT_EQ(b.find("x"), nullptr);
  EXPECT_EQ(b.line, 2);
  EXPECT_EQ(b.column, 8);
  EXPECT_EQ(value->find("f")->kind, Kind::Array);
}

TEST(Json, Strings) {
  Result<JsonValue> value =
      parseJson(R"("\"\\\/\b\f\n\r\t A\u0041\u00e9\u20AC\ud83d\ude00 é")");
  ASSERT_TRUE(value.ok()) << value.message();
  EXPECT_EQ(value->string, "\"\\/\b\f\n\r\t AA\xC3\xA9\xE2\x82\xAC"
                           "\xF0\x9F\x98\x80 \xC3\xA9");
}

TEST(Json, Errors) {
  EXPECT_EQ(reject(""), "1:1: expected a value, but got the end of the text");
  EXPECT_EQ(reject("[1,\n 2,]"), "2:4: expected a value, but got ']'");
  EXPECT_EQ(reject("[1 2]"),
            "1:4: expected ']' or ',' in an array, but got '2'");
  EXPECT_EQ(reject("{\"a\" 1}"), "1:6: expected ':' after a key, but got '1'");
  EXPECT_EQ(reject("{a: 1}"), "1:2: expected a key, but got 'a'");
  EXPECT_EQ(reject("{\"a\": 1, \"a\": 2}"),
            "1:13: expected different keys in an object, but got 'a' twice");
  EXPECT_EQ(reject("1 2"), "1:3: expected the end of the text, but got '2'");
  EXPECT_EQ(reject("nul"), "1:1: expected a value, but got 'n'");
  EXPECT_EQ(reject("\x01"), "1:1: expected a value, but got byte 1");
  EXPECT_EQ(reject(std::string("\0", 1)),
            "1:1: expected a value, but got byte 0");
}

TEST(Json, Numbers) {
  Result<JsonValue> value =
      parseJson("[0.5, -1.25e2, 1E+3, 2e-1, 1.0, 0, -0, 123.456e0]");
  ASSERT_TRUE(value.ok()) << value.message();
  std::vector<double> numbers;
  for (const JsonValue &element : value->elements)
    if (element.kind == Kind::Number)
      numbers.push_back(element.number);
  // What has no fraction and no exponent is an integer.
  EXPECT_EQ(numbers, (std::vector<double>{0.5, -125, 1000, 0.2, 1, 123.456}));
  EXPECT_EQ(value->elements[5].kind, Kind::Integer);
  EXPECT_EQ(value->elements[6].kind, Kind::Integer);
}

TEST(Json, BadNumbers) {
  EXPECT_EQ(reject("9223372036854775808"),
            "1:1: expected an integer of 64 bits, but got 9223372036854775808");
  EXPECT_EQ(reject("01"),
            "1:1: expected a number without leading zeros, but got 01");
  EXPECT_EQ(reject("-00.5"),
            "1:1: expected a number without leading zeros, but got -00");
  EXPECT_EQ(reject("1."), "1:3: expected a digit, but got the end of the text");
  EXPECT_EQ(reject("[1.e5]"), "1:4: expected a digit, but got 'e'");
  EXPECT_EQ(reject("[1e]"), "1:4: expected a digit, but got ']'");
  EXPECT_EQ(reject("[1e+-1]"), "1:5: expected a digit, but got '-'");
  EXPECT_EQ(reject("1e999"),
            "1:1: expected a number in the range of f64, but got 1e999");
  EXPECT_EQ(reject("-"), "1:2: expected a digit, but got the end of the text");
  EXPECT_EQ(reject(".5"), "1:1: expected a value, but got '.'");
  EXPECT_EQ(reject("+1"), "1:1: expected a value, but got '+'");
}

TEST(Json, BadStrings) {
  EXPECT_EQ(
      reject("\"a"),
      "1:3: expected a character of a string, but got the end of the text");
  EXPECT_EQ(reject("\"a\nb\""),
            "1:3: expected a character of a string, but got byte 10");
  EXPECT_EQ(reject(R"("\x")"),
            "1:3: expected an escape of JSON after '\\', but got 'x'");
  EXPECT_EQ(reject(R"("\u12g4")"),
            "1:4: expected four hexadecimal digits after \\u, but got '1'");
  EXPECT_EQ(reject(R"("\ud83d")"),
            "1:8: expected a pair of surrogates, but got one alone");
  EXPECT_EQ(reject(R"("\ud83d\u0041")"),
            "1:14: expected a pair of surrogates, but got one alone");
}

/// The time that a text takes grows with its length, not with its square: with
/// each key compared with all before it, this takes minutes.
TEST(Json, ManyKeys) {
  std::string text = "{";
  for (int i = 0; i < 300000; ++i)
    text += "\"" + std::to_string(i) + "\":0,";
  EXPECT_EQ(reject(text + "\"x\":0}"), "accepted");
  EXPECT_NE(reject(text + "\"299999\":0}").find("but got '299999' twice"),
            std::string::npos);
}

TEST(Json, Depth) {
  auto nested = [](int depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_EQ(reject(nested(kMaxJsonDepth + 1)), "accepted");
  EXPECT_EQ(reject(nested(kMaxJsonDepth + 2)),
            "1:34: expected at most 32 levels of arrays and objects, but got "
            "more");
  EXPECT_NE(reject(std::string(1000000, '[')), "accepted");
}

} // namespace

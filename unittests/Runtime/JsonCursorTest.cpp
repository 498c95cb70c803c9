//===- JsonCursorTest.cpp - JSON text, value by value ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/JsonCursor.h"

#include "gtest/gtest.h"

using namespace blockscale::runtime;

namespace {

TEST(JsonCursor, ValuesInOrder) {
  JsonCursor cursor(" {\"a\": [1, -2], \"b\": \"x\", \"c\": {\"d\": [true]}} ");
  std::vector<int64_t> numbers;
  std::string string;
  JsonValue rest;
  std::vector<size_t> positions;
  Status status = cursor.readObject("the text", [&](const std::string &key) {
    positions.push_back(cursor.getPosition());
    if (key == "a")
      return cursor.readArray("a", [&] {
        return cursor.readInteger("a number", numbers.emplace_back());
      });
    return key == "b" ? cursor.readString("b", string) : cursor.readValue(rest);
  });
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(cursor.readEnd().ok());
  EXPECT_EQ(numbers, (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(string, "x");
  ASSERT_NE(rest.find("d"), nullptr);
  EXPECT_TRUE(rest.find("d")->elements.at(0).boolean);
  EXPECT_EQ(positions, (std::vector<size_t>{7, 21, 31}));
}

TEST(JsonCursor, Kinds) {
  auto readObject = [](const char *text) {
    return JsonCursor(text)
        .readObject("it", [](const std::string &) { return Status::success(); })
        .message();
  };
  EXPECT_EQ(readObject("[]"), "1:1: expected it to be an object, but got an "
                              "array");
  EXPECT_EQ(readObject(" null"), "1:2: expected it to be an object, but got "
                                 "null");
  EXPECT_EQ(readObject("?"), "1:1: expected a value, but got '?'");
  EXPECT_EQ(readObject(""), "1:1: expected a value, but got the end of the "
                            "text");
  std::string string;
  EXPECT_EQ(JsonCursor("true").readString("it", string).message(),
            "1:1: expected it to be a string, but got a boolean");
  EXPECT_EQ(JsonCursor("-1").readString("it", string).message(),
            "1:1: expected it to be a string, but got a number");
  int64_t integer = 0;
  EXPECT_EQ(JsonCursor("\"1\"").readInteger("it", integer).message(),
            "1:1: expected it to be an integer, but got a string");
  EXPECT_EQ(JsonCursor("1e2").readInteger("it", integer).message(),
            "1:1: expected it to be an integer, but got a number with a "
            "fraction or an exponent");
  EXPECT_EQ(JsonCursor("1 2").readEnd().message(),
            "1:1: expected the end of the text, but got '1'");
}

// A reader's own failure ends the reading.
TEST(JsonCursor, FailuresOfReaders) {
  JsonCursor cursor("[1, 2, 3]");
  int count = 0;
  Status status = cursor.readArray("it", [&] {
    int64_t number = 0;
    Status read = cursor.readInteger("a number", number);
    ++count;
    return number == 2 ? Status::failure("expected no 2") : read;
  });
  EXPECT_EQ(status.message(), "expected no 2");
  EXPECT_EQ(count, 2);
}

} // namespace

//===- BytecodeAnswerTest.cpp - What the reader of bytecode says ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/BytecodeAnswer.h"

#include "gtest/gtest.h"

using namespace blockscale;
using Kind = BytecodeAnswer::Kind;

namespace {

constexpr uint64_t kLongest = 1000;

// Each kind is read as it was written, and no beginning of it is taken for all.
TEST(BytecodeAnswerTest, IsWhatWasWrittenOnceItIsWhole) {
  for (const BytecodeAnswer &answer :
       {BytecodeAnswer{Kind::Module, "module {\n}\n"},
        BytecodeAnswer{Kind::Error, std::string("a\0b", 3)},
        BytecodeAnswer{Kind::Damaged, ""}}) {
    std::string bytes = formatAnswer(answer);
    for (size_t i = 0; i < bytes.size(); ++i)
      EXPECT_FALSE(parseAnswer(bytes.substr(0, i), kLongest)) << i;
    auto parsed = parseAnswer(bytes, kLongest);
    ASSERT_TRUE(parsed && parsed->ok());
    EXPECT_EQ((*parsed)->kind, answer.kind);
    EXPECT_EQ((*parsed)->text, answer.text);
  }
}

// Everything else is refused as soon as its first line is there, or too long.
TEST(BytecodeAnswerTest, RefusesWhatIsNone) {
  std::string good = formatAnswer({Kind::Module, "x"});
  std::string greeting = good.substr(0, good.find(" module"));
  for (const std::string &bytes :
       {std::string("\n"), std::string("hello\n"), std::string(200, 'x'),
        greeting + "\n", greeting + " modules 1\n", greeting + " module -1\n",
        greeting + " module 1 2\n", greeting + " module 1001\n",
        greeting + " module 99999999999999999999\n",
        std::string(kBytecodeReaderName) + " 0.0.0 module 1\nx"}) {
    auto parsed = parseAnswer(bytes, kLongest);
    ASSERT_TRUE(parsed) << bytes;
    ASSERT_FALSE(parsed->ok()) << bytes;
    EXPECT_EQ(parsed->message().find("expected an answer of " + greeting), 0u);
  }
  auto parsed = parseAnswer("a\x01"
                            "b\n",
                            kLongest);
  ASSERT_TRUE(parsed && !parsed->ok());
  EXPECT_NE(parsed->message().find("but got 'a\\01b'"), std::string::npos);
}

} // namespace

//===- TextNestingTest.cpp - How deep text of MLIR may nest ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TextNesting.h"

#include <gtest/gtest.h>

using namespace blockscale;

namespace {

std::string repeat(const std::string &text, unsigned count) {
  std::string result;
  for (unsigned i = 0; i < count; ++i)
    result += text;
  return result;
}

/// The level that is refused, or 0.
unsigned getLevel(const std::string &text) {
  auto fault = findTextNestingFault(text);
  if (!fault)
    return 0;
  const std::string said = "expected text of MLIR to nest at most 256 levels "
                           "deep, but got level ";
  EXPECT_EQ(fault->message.substr(0, said.size()), said);
  return std::stoi("0" + fault->message.substr(said.size()));
}

/// Text that nests in what a pair of texts is around, at most and too deep.
struct Nested {
  const char *before, *open, *close, *after;
  /// Levels around all, and of one pair.
  unsigned around, each;
};

// Each bracket and operator for which the parser calls itself is a level.
TEST(TextNestingTest, CountsWhatTheParserCallsItselfFor) {
  const Nested cases[] = {
      {"", "\"a.b\"() ({", "}) : () -> ()\n", "", 0, 2},
      {"", "module {\n", "}\n", "", 0, 1},
      {"module attributes {a = ", "[", "]", "} {}", 1, 1},
      {"module attributes {a = ", "{b = ", "}", "} {}", 1, 1},
      {"module attributes {a = ", "#foo.bar<", ">", "} {}", 1, 1},
      {"func.func private @f(", "tuple<", ">", ")", 1, 1},
      {"func.func private @f(", "() -> (", ")", ")", 1, 1},
      {"module {} loc(", "callsite(\"a\" at ", ")", ")", 1, 1},
      {"#m = affine_map<(d0) -> (", "(", ")", ")>", 2, 1},
      {"#m = affine_map<(d0) -> (", "-", "", "d0)>", 2, 1},
      {"#m = affine_map<(d0) -> (", "d0 + ", "", "d0)>", 2, 1},
      {"#m = affine_map<(d0) -> (d0", " mod 7 floordiv 3", "", ")>", 2, 2},
      {"#m = affine_map<(d0) -> (", "(", ") + 1", ")>", 2, 2},
      {"affine.load %m[", "symbol(%i) + ", "", "%j]", 2, 1},
      {"affine.load %m[", "%i#1 * 2 + ", "", "%j]", 1, 2}};
  for (const Nested &c : cases) {
    unsigned most = (kMostTextNesting - c.around) / c.each;
    auto make = [&](unsigned count) {
      return c.before + repeat(c.open, count) + repeat(c.close, count) +
             c.after;
    };
    EXPECT_EQ(getLevel(make(most)), 0u) << c.open;
    EXPECT_NE(getLevel(make(most + 1)), 0u) << c.open;
    EXPECT_NE(getLevel(make(100000)), 0u) << c.open;
  }
}

// An alias is as deep as what it stands for, whatever stands between.
TEST(TextNestingTest, CountsThroughAliases) {
  for (const std::array<const char *, 4> &words :
       {std::array<const char *, 4>{"#a", "1 : i32", "[", "]"},
        {"!a", "i32", "tuple<", ">"},
        {"#a", "loc(\"x\")", "loc(\"y\"(", "))"}}) {
    const char *prefix = words[0], *first = words[1], *open = words[2],
               *close = words[3];
    unsigned each = std::string(close).size();
    auto make = [&](unsigned count) {
      std::string text = prefix + std::string("0 = ") + first + "\n";
      for (unsigned i = 0; i < count; ++i)
        text += prefix + std::to_string(i + 1) + " = \n" + open + prefix +
                std::to_string(i) + close + "\n";
      return text;
    };
    unsigned before = each == 2 ? 1 : 0;
    EXPECT_EQ(getLevel(make((kMostTextNesting - before) / each)), 0u) << open;
    EXPECT_NE(getLevel(make(kMostTextNesting / each + 1)), 0u) << open;
  }
  // What follows a definition is none of it.
  EXPECT_EQ(
      getLevel("#a = 1\nmodule {" + repeat("module {", 200) + repeat("}", 200) +
               "}\n#b = [#a]\nmodule attributes {b = " + repeat("[", 200) +
               "#a, #b" + repeat("]", 200) + "} {}"),
      0u);
}

// Brackets in strings and comments, arrows and comparisons are none.
TEST(TextNestingTest, CountsNothingElse) {
  EXPECT_EQ(getLevel(repeat("\"([{<\\\"([{<\"\n", 1000)), 0u);
  EXPECT_EQ(getLevel(repeat("// ([{<\"\n", 1000)), 0u);
  EXPECT_EQ(getLevel(repeat("@\"<<<\" : () -> ()\n", 1000)), 0u);
  EXPECT_EQ(getLevel("#s = affine_set<(d0) : (" +
                     repeat("d0 - 1 >= 0, d0 <= 5, d0 == 1, ", 1000) +
                     "d0 >= 0)>"),
            0u);
  // Numbers below zero, wherever they stand.
  EXPECT_EQ(getLevel("dense<[" + repeat("-1.5e-3, -2, ", 1000) + "0]>"), 0u);
  EXPECT_EQ(getLevel("{" + repeat("foo.bar -1\n", 1000) + "}"), 0u);
  EXPECT_EQ(getLevel(repeat("tensor<*xf32>, memref<?x-1x4xf32>, ", 1000)), 0u);
  // Brackets beside each other.
  EXPECT_EQ(getLevel(repeat("%0 = \"a.b\"(%x) ({}) : (i1) -> (i1)\n", 1000)),
            0u);
  EXPECT_EQ(getLevel("{-# dialect_resources: {builtin: {a: \"0x" +
                     repeat("00", 1 << 20) + "\"}} #-}" +
                     repeat("{-#{}#-}", 300)),
            0u);
}

// Text that is no MLIR is the parser's to refuse.
TEST(TextNestingTest, RefusesNothingElse) {
  for (const char *text :
       {"",    "\"",    "\"\\",    "\"a\nb", "//",   "/",       "#",  "!",
        "%",   ")]}>",  "( ] } >", "0x",     "1.",   "1.e",     "{-", "#-}",
        "#a<", "#a<\"", "#a = ",   "-",      "\0\0", "\x80\xff"})
    EXPECT_FALSE(findTextNestingFault(text)) << text;
}

// MLIR looks for the end of such an attribute without regard to comments, and
// goes on there: behind another end, what is a comment here would be read.
TEST(TextNestingTest, RefusesCommentsThatMoveAnEnd) {
  EXPECT_FALSE(findTextNestingFault("#foo.bar< // (see <b>), \"c\"\n 1>"));
  for (const char *text : {"#foo.bar< // > , [[[[\n 1>", "!foo.bar< // (\n 1>",
                           "#foo.bar< // \"\n 1>", "#foo.bar<#b->\n>"}) {
    auto fault = findTextNestingFault(text);
    ASSERT_TRUE(fault) << text;
    EXPECT_EQ(fault->offset, 8u);
    EXPECT_EQ(fault->message,
              "expected brackets in the comments of an attribute or type to "
              "leave its end where it is, but got others");
  }
}

// The place is that of the bracket.
TEST(TextNestingTest, TellsThePlace) {
  auto fault = findTextNestingFault("module {\n" + repeat("[", 300));
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->offset, 9u + 255);
}

} // namespace

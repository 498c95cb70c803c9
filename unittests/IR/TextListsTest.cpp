//===- TextListsTest.cpp - Lists in text of MLIR --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TextLists.h"

#include "llvm/ADT/StringRef.h"
#include <gtest/gtest.h>

#include <string>

using namespace blockscale;

namespace {

const char *const kOps[] = {
    "linalg.transpose ins(%x : t) outs(%y : t) permutation",
    "linalg.broadcast ins(%x : t) outs(%y : t) dimensions",
    "linalg.reduce { arith.addf } ins(%x : t) outs(%y : t) dimensions"};

// Behind each op's word, what parsers take, with blanks and comments.
TEST(TextListsTest, TakesLists) {
  for (const std::string op : kOps)
    for (const char *list :
         {" = [1, 0]", "=[]", " = [ -1 , 0x1f,true, false ] {a}",
          " = // [x\n [ // ]\n 9223372036854775807, // y\n -1]"}) {
      auto fault = findTextListFault(op + list);
      EXPECT_FALSE(fault) << op << list << ": " << fault->message;
    }
}

// Where there is none, the fault is the first token that does not fit.
TEST(TextListsTest, FindsWhatIsNone) {
  struct {
    std::string text;
    size_t place;
    std::string expected;
  } cases[] = {{" = x", 3, "'['"},
               {" = ", 3, "'['"},
               {" = [1, 0floor", 7, "an integer of 64 bits"},
               {" = [1.0]", 5, "',' or ']'"},
               {" = [1 : i64]", 6, "',' or ']'"},
               {" = [1,]", 6, "an integer of 64 bits"},
               {" = [,]", 4, "an integer of 64 bits"},
               {" = [1 0]", 6, "',' or ']'"},
               {" = [9223372036854775808]", 4, "an integer of 64 bits"},
               {" = [-]", 4, "an integer of 64 bits"},
               {" = [-true]", 4, "an integer of 64 bits"},
               {" = [\"1\"]", 4, "an integer of 64 bits"},
               {" = [1", 5, "',' or ']'"}};
  for (const std::string op : kOps)
    for (const auto &each : cases) {
      auto fault = findTextListFault("f { " + op + each.text);
      ASSERT_TRUE(fault) << each.text;
      EXPECT_EQ(fault->offset, 4 + op.size() + each.place) << each.text;
      EXPECT_EQ(fault->message.find("expected " + each.expected), 0u)
          << fault->message;
    }
  auto fault = findTextListFault(std::string(kOps[0]) + " = [a]\n return");
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->message, "expected an integer of 64 bits in a list of "
                            "integers, as [1, 0], but got '[a]'");
}

// What other ops write, names, strings, comments and generic forms are no such
// lists, and neither is what parsers refuse by themselves.
TEST(TextListsTest, FindsNothingElse) {
  for (const char *text :
       {"stablehlo.broadcast %x, dimensions = [a]",
        R"("linalg.transpose"(%x) <{permutation = array<i64: x>}>)",
        "%linalg.transpose permutation = x", "@linalg.reduce dimensions = x",
        "// linalg.reduce dimensions = x", "linalg.reduce dimensions [x]",
        "linalg.transpose dimensions = x", "linalg.transpose %permutation = x",
        "linalg.transposed permutation = x", "my.linalg.reduce dimensions = x",
        "\"linalg.reduce dimensions = x", ""})
    EXPECT_FALSE(findTextListFault(text)) << text;
  // Each op has its own.
  std::string both = std::string(kOps[0]) + " = [1, 0]\n" + kOps[1] + " = [z]";
  auto fault = findTextListFault(both);
  ASSERT_TRUE(fault);
  EXPECT_EQ(fault->offset, both.size() - 2);
}

} // namespace

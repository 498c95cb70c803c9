//===- ExpressionTest.cpp - Integer expressions of a plan -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/Expression.h"

#include "gtest/gtest.h"

#include <limits>

using namespace blockscale::runtime;

namespace {

const NameNumbers kDims = {{"m", 0}, {"n_2", 1}};

/// The value where m is 7 and n_2 is -3, or the message of a failure.
std::string evaluate(const std::string &text) {
  Result<Expression> expression = Expression::parse(text, kDims);
  if (!expression.ok())
    return expression.message();
  Result<int64_t> value = expression->evaluate({7, -3});
  return value.ok() ? std::to_string(*value) : value.message();
}

TEST(Expression, Values) {
  EXPECT_EQ(evaluate("42"), "42");
  EXPECT_EQ(evaluate("m"), "7");
  EXPECT_EQ(evaluate(" m+n_2 "), "4");
  EXPECT_EQ(evaluate("10 - m - 2"), "1");
  EXPECT_EQ(evaluate("10 - (m - 2)"), "5");
  EXPECT_EQ(evaluate("1 + m * 2 * 3"), "43");
  EXPECT_EQ(evaluate("(1 + m) * 2"), "16");
  EXPECT_EQ(evaluate("min(m, 5)"), "5");
  EXPECT_EQ(evaluate("max(n_2, 0 - 4)"), "-3");
  EXPECT_EQ(evaluate("ceildiv(ceildiv(m, 2) * 128, 3)"), "171");
}

TEST(Expression, DivisionRoundsAsNamed) {
  EXPECT_EQ(evaluate("ceildiv(m, 2)"), "4");
  EXPECT_EQ(evaluate("ceildiv(6, 2)"), "3");
  EXPECT_EQ(evaluate("ceildiv(n_2, 2)"), "-1");
  EXPECT_EQ(evaluate("floordiv(m, 2)"), "3");
  EXPECT_EQ(evaluate("floordiv(n_2, 2)"), "-2");
  EXPECT_EQ(evaluate("floordiv(n_2, 3)"), "-1");
  EXPECT_EQ(evaluate("mod(m, 4)"), "3");
  EXPECT_EQ(evaluate("mod(n_2, 2)"), "1");
  EXPECT_EQ(evaluate("mod(n_2, 3)"), "0");
  EXPECT_EQ(evaluate("ceildiv(m, n_2)"),
            "expected divisors of 'ceildiv(m, n_2)' to be positive, but got "
            "-3");
  EXPECT_EQ(evaluate("mod(m, 0)"),
            "expected divisors of 'mod(m, 0)' to be positive, but got 0");
}

TEST(Expression, ValuesFitInto64Bits) {
  EXPECT_EQ(evaluate("9223372036854775807"), "9223372036854775807");
  EXPECT_EQ(evaluate("9223372036854775807 + 1"),
            "expected the value of '9223372036854775807 + 1' to fit into 64 "
            "bits");
  EXPECT_EQ(evaluate("0 - 9223372036854775807 - 2"),
            "expected the value of '0 - 9223372036854775807 - 2' to fit into "
            "64 bits");
  EXPECT_EQ(evaluate("4611686018427387904 * 2 - 1"),
            "expected the value of '4611686018427387904 * 2 - 1' to fit into "
            "64 bits");
  EXPECT_EQ(evaluate("9223372036854775808"),
            "expected an integer of 64 bits in the expression "
            "'9223372036854775808', but got '9223372036854775808'");
}

TEST(Expression, Errors) {
  EXPECT_EQ(evaluate(""),
            "expected an integer, a dim, a function or '(' in the expression "
            "'', but got the end of it");
  EXPECT_EQ(evaluate("m +"),
            "expected an integer, a dim, a function or '(' in the expression "
            "'m +', but got the end of it");
  EXPECT_EQ(evaluate("m 1"),
            "expected an operator in the expression 'm 1', but got '1'");
  EXPECT_EQ(evaluate("k"), "expected one of the dims (m, n_2) in the "
                           "expression 'k', but got 'k'");
  EXPECT_EQ(evaluate("(m"),
            "expected ')' in the expression '(m', but got the end of it");
  EXPECT_EQ(evaluate("min(m)"),
            "expected ',' in the expression 'min(m)', but got ')'");
  EXPECT_EQ(evaluate("min m"),
            "expected '(' in the expression 'min m', but got 'm'");
  EXPECT_EQ(evaluate("-1"),
            "expected an integer, a dim, a function or '(' in the expression "
            "'-1', but got '-1'");
  EXPECT_NE(evaluate(std::string("m\0", 2)), "7");
  EXPECT_EQ(evaluate(std::string(64, '(') + "m" + std::string(64, ')')), "7");
  EXPECT_NE(evaluate(std::string(100000, '(')).find("at most 64 levels"),
            std::string::npos);
}

/// An expression that was made, its text, and its value where m is 7 and n_2 is
/// -3.
struct Made {
  Expression expression;
  std::string text;
  int64_t value;
};

// What is made has the text that the grammar reads back, with parentheses only
// where they are needed, and the value of its parts.
TEST(Expression, IsMadeOfParts) {
  using Op = Expression::Op;
  auto make = Expression::make;
  Expression m = Expression::dim(0, "m"), n = Expression::dim(1, "n_2");
  Expression sum = make(Op::Add, m, n), product = make(Op::Mul, m, 3);
  const Made cases[] = {
      {m, "m", 7},
      {sum, "m + n_2", 4},
      {make(Op::Sub, m, sum), "m - (m + n_2)", 3},
      {make(Op::Sub, sum, m), "m + n_2 - m", -3},
      {make(Op::Mul, sum, sum), "(m + n_2) * (m + n_2)", 16},
      {make(Op::Mul, product, 5), "m * 3 * 5", 105},
      {make(Op::Mul, 5, product), "5 * (m * 3)", 105},
      {make(Op::Add, product, product), "m * 3 + m * 3", 42},
      {make(Op::CeilDiv, sum, 3), "ceildiv(m + n_2, 3)", 2},
      {make(Op::FloorDiv, n, 2), "floordiv(n_2, 2)", -2},
      {make(Op::Mod, n, 2), "mod(n_2, 2)", 1},
      {make(Op::Min, m, product), "min(m, m * 3)", 7},
      {make(Op::Mul, make(Op::Max, m, n), n), "max(m, n_2) * n_2", -21},
      {make(Op::Add, m, -4), "m + (0 - 4)", 3},
  };
  for (const Made &made : cases) {
    EXPECT_EQ(made.expression.getText(), made.text);
    Result<int64_t> value = made.expression.evaluate({7, -3});
    ASSERT_TRUE(value.ok()) << made.text;
    EXPECT_EQ(*value, made.value) << made.text;
    EXPECT_EQ(evaluate(made.text), std::to_string(made.value));
  }
}

// Constants are folded as they would be evaluated, and neutral ones vanish.
TEST(Expression, MakingFolds) {
  using Op = Expression::Op;
  auto make = Expression::make;
  Expression m = Expression::dim(0, "m");
  const std::pair<Op, int64_t> values[] = {
      {Op::Add, -5}, {Op::Sub, -9}, {Op::Mul, -14}, {Op::CeilDiv, -3},
      {Op::Mod, 1},  {Op::Min, -7}, {Op::Max, 2},   {Op::FloorDiv, -4}};
  for (auto [op, value] : values)
    EXPECT_EQ(make(op, -7, 2).getConstant(), value);
  for (Op op : {Op::Add, Op::Sub})
    EXPECT_EQ(make(op, m, 0).getText(), "m");
  for (Op op : {Op::Mul, Op::CeilDiv, Op::FloorDiv})
    EXPECT_EQ(make(op, m, 1).getText(), "m");
  EXPECT_EQ(make(Op::Add, 0, m).getText(), "m");
  EXPECT_EQ(make(Op::Mul, 1, m).getText(), "m");
  EXPECT_EQ(make(Op::Sub, 0, m).getText(), "0 - m");
  EXPECT_EQ(make(Op::CeilDiv, 1, m).getText(), "ceildiv(1, m)");
  // What has no value stays, and is an error when it is evaluated.
  constexpr int64_t most = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(make(Op::Add, most, 1).getConstant(), std::nullopt);
  EXPECT_FALSE(make(Op::Add, most, 1).evaluate({}).ok());
  EXPECT_EQ(make(Op::Mod, 7, 0).getText(), "mod(7, 0)");
  EXPECT_EQ(multiply({4, m, 2, Expression::dim(1, "n_2")}).getText(),
            "m * n_2 * 8");
  EXPECT_EQ(multiply({}).getConstant(), 1);
}

TEST(Expression, DimAlone) {
  EXPECT_EQ(Expression::parse("n_2", kDims)->getDim(), 1u);
  EXPECT_EQ(Expression::parse("(m)", kDims)->getDim(), 0u);
  EXPECT_EQ(Expression::parse("m + 0", kDims)->getDim(), std::nullopt);
  EXPECT_EQ(Expression(5).getDim(), std::nullopt);
  EXPECT_EQ(Expression(5).getText(), "5");
}

TEST(Expression, NotNegative) {
  // m is a size, and n_2 any integer.
  auto isNotNegative = [](const std::string &text) {
    Result<Expression> expression = Expression::parse(text, kDims);
    EXPECT_TRUE(expression.ok()) << expression.message();
    return expression->isNotNegative([](size_t number) { return number == 0; });
  };
  for (const char *text :
       {"0", "m", "m * 3 + 1", "ceildiv(m, n_2)", "floordiv(m + 5, 2)",
        "mod(n_2, 4)", "max(n_2, 0)", "max(m, n_2)", "min(m, max(n_2, 1))"})
    EXPECT_TRUE(isNotNegative(text)) << text;
  for (const char *text :
       {"n_2", "m - 1", "m + n_2", "m * n_2", "ceildiv(n_2, m)",
        "floordiv(n_2, 2)", "min(m, n_2)", "max(n_2, n_2)", "0 - m"})
    EXPECT_FALSE(isNotNegative(text)) << text;
}

TEST(Expression, DimNames) {
  for (const char *name : {"m", "_", "arg0_dim1", "Max"})
    EXPECT_TRUE(isDimName(name)) << name;
  for (const char *name : {"", "0m", "a-b", "a b", "max", "ceildiv", "\xC3"})
    EXPECT_FALSE(isDimName(name)) << name;
}

} // namespace

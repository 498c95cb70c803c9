//===- FormulaTest.cpp - Formulas of sizes --------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Formula.h"

#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale;

static constexpr LinearShape kShape = {300, 1000, 77};

// Each product stands for its own sizes.
TEST(Formula, Products) {
  auto evaluate = [](Product product) {
    return Formula{{{1, product, {}}}}.evaluate(kShape);
  };
  EXPECT_EQ(evaluate(0), 1);
  EXPECT_EQ(evaluate(kM), 300);
  EXPECT_EQ(evaluate(kK), 1000);
  EXPECT_EQ(evaluate(kN), 77);
  EXPECT_EQ(evaluate(kM | kK | kN), 300.0 * 1000 * 77);
}

// A quotient is rounded after the sum: 377000 / 16 is 23562.5, and 1000 / 16
// is 62.5; an integer stays in both directions.
TEST(Formula, Quotients) {
  Formula formula{{{2, kM, {floorOf({kK}, 16)}}}};
  EXPECT_EQ(formula.evaluate(kShape), 2.0 * 300 * 62);
  formula = {{{1, 0, {floorOf({kM | kK, kK | kN}, 16)}}}};
  EXPECT_EQ(formula.evaluate(kShape), 23562);
  formula = {{{512, 0, {ceilOf({kM}, 128), ceilOf({kK}, 64)}}}};
  EXPECT_EQ(formula.evaluate(kShape), 512.0 * 3 * 16);
  EXPECT_EQ(formula.evaluate({256, 128, 1}), 512.0 * 2 * 2);
}

// Digits as sympy prints them: 15, without zeros at the end but one.
TEST(Formula, Coefficients) {
  EXPECT_EQ(printCoefficient(2e-6), "2.0e-6");
  EXPECT_EQ(printCoefficient(1.0 / 3), "3.33333333333333e-1");
  EXPECT_EQ(printCoefficient(512), "5.12e2");
  EXPECT_EQ(printCoefficient(1), "1.0e0");
}

// Terms in their order, coefficients, products by letter, quotients last.
TEST(Formula, Text) {
  Formula formula{{{0.5, kM | kK | kN, {}},
                   {2, kM, {floorOf({kK}, 16)}},
                   {512, 0, {ceilOf({kM}, 128), ceilOf({kK}, 64)}},
                   {4, 0, {}}}};
  EXPECT_EQ(formula.toString(), "5.0e-1*K*M*N + 2.0e0*M*floor(K/16) + "
                                "5.12e2*ceiling(M/128)*ceiling(K/64) + 4.0e0");
  EXPECT_EQ(formula.scaled({2, 4}).toString(),
            "4.0e0*K*M*N + 1.6e1*M*floor(K/16) + "
            "4.096e3*ceiling(M/128)*ceiling(K/64) + 3.2e1");
}

// The longest of launch, FLOP and bytes.
TEST(Formula, Seconds) {
  target::Gpu gpu{"test", {1e9, 2e9, 0, 0}, 1e9, 0.5, 0.25, 1};
  KernelFormula kernel{{{{1, kM, {}}}}, {{{1, kK, {}}}}};
  EXPECT_EQ(getSeconds(kernel, gpu, {1, 1, 1}), 2e-6);
  EXPECT_DOUBLE_EQ(getSeconds(kernel, gpu, {1, 1000000, 1}), 2e-3);
  EXPECT_DOUBLE_EQ(getSeconds(kernel, gpu, {1000000, 1000000, 1}), 4e-3);
  EXPECT_EQ(printSeconds(kernel, gpu), "Max(2.0e-6, 2.0e-9*K, 4.0e-9*M)");
  kernel.unit = target::Unit::Bf16;
  EXPECT_DOUBLE_EQ(getSeconds(kernel, gpu, {1, 1000000, 1}), 1e-3);
  kernel.unit = target::Unit::Fp4;
  EXPECT_TRUE(std::isnan(getSeconds(kernel, gpu, {1, 1, 1})));
  EXPECT_EQ(printSeconds(kernel, gpu), "nan");
}

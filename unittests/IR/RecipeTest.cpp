//===- RecipeTest.cpp - Recipes of the dialect and of Numerics ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/TypeRules.h"

#include "gtest/gtest.h"

using namespace blockscale;

namespace {

// Each recipe of the dialect is the one of Numerics that has its name.
TEST(Recipe, SameNames) {
  for (unsigned i = 0; i <= getMaxEnumValForRecipe(); ++i) {
    std::optional<Recipe> recipe = symbolizeRecipe(i);
    ASSERT_TRUE(recipe) << i;
    EXPECT_EQ(std::string_view(stringifyRecipe(*recipe)),
              numerics::getName(getNumerics(*recipe)));
  }
}

} // namespace

//===- RecipeTest.cpp - Names and traits of recipes -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/BlockFormat.h"
#include "gtest/gtest.h"

#include <iterator>
#include <set>

using namespace blockscale::numerics;

namespace {

static_assert(std::size(kRecipes) <= std::size(kRecipeTable));
static_assert(parseRecipe("rceil_sat") == Recipe::RceilSat);
static_assert(!parseRecipe("RCEIL"));
static_assert(!parseRecipe(""));

TEST(Recipe, NamesRoundTrip) {
  for (Recipe recipe : kRecipes)
    EXPECT_EQ(parseRecipe(getName(recipe)), recipe);
}

// A recipe's name leads to each row of the table by the types of that row, and
// by no others.
TEST(Recipe, VariantsAreTheRows) {
  constexpr ScaleFormat kScales[] = {ScaleFormat::E4M3, ScaleFormat::E8M0};
  constexpr InputFormat kInputs[] = {InputFormat::F32, InputFormat::BF16,
                                     InputFormat::F16};
  std::set<Recipe> found;
  for (Recipe recipe : kRecipes)
    for (ScaleFormat scale : kScales)
      for (ElementFormat element : kElementFormats)
        for (InputFormat input : kInputs) {
          auto variant = findVariant(recipe, scale, element, input);
          EXPECT_EQ(variant.has_value(), isDefinedFor(recipe, scale, element));
          if (!variant)
            continue;
          found.insert(*variant);
          const RecipeInfo &info = getRecipeInfo(*variant);
          EXPECT_EQ(info.name, getName(recipe));
          EXPECT_EQ(info.scale, scale);
          EXPECT_TRUE(info.elements.contains(element));
          EXPECT_EQ(info.input.value_or(input), input);
          EXPECT_NE(findBlockFormat(element, scale), nullptr);
        }
  EXPECT_EQ(found.size(), std::size(kRecipeTable));
}

TEST(Recipe, ValuesAreTheDialects) {
  const char *names[] = {"torchao",
                         "mslk",
                         "te",
                         "modelopt",
                         "floor",
                         "rceil",
                         "rceil_sat",
                         "ceil",
                         "even",
                         "te_4over6_mae",
                         "te_4over6_mse",
                         "tosa",
                         "compressed_tensors",
                         "torchao_training"};
  for (unsigned i = 0; i < std::size(names); ++i)
    EXPECT_EQ(getName(static_cast<Recipe>(i)), names[i]);
}

TEST(Recipe, Traits) {
  for (Recipe recipe : kRecipes) {
    bool isChoice =
        recipe == Recipe::Te4over6Mae || recipe == Recipe::Te4over6Mse;
    bool isRounding = recipe == Recipe::CompressedTensors;
    bool isTraining = recipe == Recipe::TorchaoTraining;
    bool isNv =
        recipe <= Recipe::Modelopt || isChoice || isRounding || isTraining;
    bool isPadding =
        recipe == Recipe::Te || recipe == Recipe::Modelopt || isChoice;
    EXPECT_EQ(isFourOverSix(recipe), isChoice);
    EXPECT_EQ(isNvfp4(recipe), isNv);
    EXPECT_EQ(acceptsTails(recipe), isPadding);
    EXPECT_EQ(keepsNegativeZero(recipe), !isPadding && !isRounding);
    EXPECT_EQ(roundsToInput(recipe), isRounding);
    EXPECT_EQ(computesFromAmax(recipe), isChoice || isTraining ||
                                            recipe == Recipe::Te ||
                                            recipe == Recipe::Mslk);
    EXPECT_EQ(getScaleFormat(recipe),
              isNv ? ScaleFormat::E4M3 : ScaleFormat::E8M0);
  }
}

} // namespace

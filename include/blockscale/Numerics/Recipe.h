//===- Recipe.h - Named rounding recipes ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// "NVFP4" and "MXFP8" are several roundings. A recipe fixes one of them to the
// last bit: where the scale is divided or multiplied, its floor, and the rules
// for zero, infinity and NaN.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_RECIPE_H
#define BLOCKSCALE_NUMERICS_RECIPE_H

#include "blockscale/Numerics/Format.h"

#include <optional>

namespace blockscale::numerics {

/// The values are those of the dialect's recipe attribute.
enum class Recipe : uint8_t {
  // NVFP4
  Torchao,  ///< torchao 0.18 nvfp4_quantize
  Mslk,     ///< MSLK Triton kernels (formula only: no oracle runs on a CPU)
  Te,       ///< TransformerEngine 2.20 NVFP4QuantizerRef
  Modelopt, ///< ModelOpt 0.47 NVFP4QTensor
  // MX, after the rule for the E8M0 scale; edge rules of torchao main of
  // 2026-08-21 (byte 255 and NaN data for a block with infinity or NaN)
  Floor,    ///< OCP: exponent of amax minus that of the format
  Rceil,    ///< round amax / largest value up to a power of two
  RceilSat, ///< the same, but infinity gives 2^127 (as TransformerEngine's
            ///< MXFP8; formula only, but for E4M3 amaxes that are not NaN,
            ///< which ModelOpt 0.47 MXFP8QTensor agrees with)
  Ceil,     ///< floor, plus one where amax is not a power of two
  Even,     ///< floor of amax rounded to the element's mantissa
  // NVFP4 with a choice between two scales for each block, by the error that
  // they leave; TransformerEngine 2.20 NVFP4QuantizerRef with "4over6"
  Te4over6Mae, ///< sum of absolute errors
  Te4over6Mse, ///< sum of squared errors
  Tosa, ///< MX: the least power of two under which amax is rounded to no more
        ///< than the largest value (TOSA 1.1, CAST_TO_BLOCK_SCALED)
};

struct RecipeInfo {
  std::string_view name;
  /// The type of the scales that it computes.
  ScaleFormat scale;
  /// Whether the last block of a row may be shorter than the block size.
  bool acceptsTails;
  /// Whether an element scaled to -0 gives the code of -0 and not that of +0.
  bool keepsNegativeZero;
  /// Whether a block has a choice between two scales, by the errors that they
  /// leave.
  bool choosesScale;
  /// Whether elements are divided by their factor, and multiplied by the global
  /// scale after that of the block, one product at a time.
  bool dividesElements;
  /// Whether scales are those of amax * (1 / largest value), rounded up to a
  /// power of two.
  bool roundsScaleUp;
};

inline constexpr RecipeInfo kRecipeTable[] = {
    // name, scale, tails, -0, chooses, divides, rounds up
    {"torchao", ScaleFormat::E4M3, false, true, false, false, false},
    {"mslk", ScaleFormat::E4M3, false, true, false, false, false},
    {"te", ScaleFormat::E4M3, true, false, false, false, false},
    {"modelopt", ScaleFormat::E4M3, true, false, false, true, false},
    {"floor", ScaleFormat::E8M0, false, true, false, false, false},
    {"rceil", ScaleFormat::E8M0, false, true, false, false, true},
    {"rceil_sat", ScaleFormat::E8M0, false, true, false, false, true},
    {"ceil", ScaleFormat::E8M0, false, true, false, false, false},
    {"even", ScaleFormat::E8M0, false, true, false, false, false},
    {"te_4over6_mae", ScaleFormat::E4M3, true, false, true, false, false},
    {"te_4over6_mse", ScaleFormat::E4M3, true, false, true, false, false},
    {"tosa", ScaleFormat::E8M0, false, true, false, false, false},
};

inline constexpr Recipe kRecipes[] = {
    Recipe::Torchao, Recipe::Mslk,        Recipe::Te,          Recipe::Modelopt,
    Recipe::Floor,   Recipe::Rceil,       Recipe::RceilSat,    Recipe::Ceil,
    Recipe::Even,    Recipe::Te4over6Mae, Recipe::Te4over6Mse, Recipe::Tosa};

constexpr const RecipeInfo &getRecipeInfo(Recipe recipe) {
  return kRecipeTable[static_cast<unsigned>(recipe)];
}

constexpr std::string_view getName(Recipe recipe) {
  return getRecipeInfo(recipe).name;
}

/// The recipe called `name`, or nothing.
constexpr std::optional<Recipe> parseRecipe(std::string_view name) {
  for (Recipe recipe : kRecipes)
    if (getName(recipe) == name)
      return recipe;
  return std::nullopt;
}

constexpr ScaleFormat getScaleFormat(Recipe recipe) {
  return getRecipeInfo(recipe).scale;
}

constexpr bool isNvfp4(Recipe recipe) {
  return getScaleFormat(recipe) == ScaleFormat::E4M3;
}

constexpr bool acceptsTails(Recipe recipe) {
  return getRecipeInfo(recipe).acceptsTails;
}

constexpr bool keepsNegativeZero(Recipe recipe) {
  return getRecipeInfo(recipe).keepsNegativeZero;
}

/// Whether a block's scale is one of two candidates, chosen by their errors.
constexpr bool isFourOverSix(Recipe recipe) {
  return getRecipeInfo(recipe).choosesScale;
}

constexpr bool dividesElements(Recipe recipe) {
  return getRecipeInfo(recipe).dividesElements;
}

constexpr bool roundsScaleUp(Recipe recipe) {
  return getRecipeInfo(recipe).roundsScaleUp;
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_RECIPE_H

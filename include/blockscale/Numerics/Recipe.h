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

#include <iterator>
#include <optional>

namespace blockscale::numerics {

/// The arithmetic of a recipe. The values of those in kRecipes are those of the
/// dialect's recipe attribute. A recipe whose arithmetic depends on the types
/// of elements, scales or x has further values after these, one for each: they
/// share its name, and `findVariant` tells them apart.
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
  // compressed-tensors 0.20: NVFP4 of f32 x; variants below for bf16 and f16 x,
  // in which it computes (f16: formula only), then for MX with elements of E2M1
  // and with others
  CompressedTensors,
  TorchaoTraining, ///< NVFP4: the Triton kernels with which torchao 0.18
                   ///< trains, with divisions rounded to nearest
  CompressedTensorsBF16,
  CompressedTensorsF16,
  CompressedTensorsMxfp4,
  CompressedTensorsMx,
};

/// A set of types of elements.
struct ElementSet {
  template <typename... Formats>
  static constexpr ElementSet of(Formats... formats) {
    return {((1u << static_cast<unsigned>(formats)) | ...)};
  }
  constexpr bool contains(ElementFormat format) const {
    return (bits >> static_cast<unsigned>(format) & 1u) != 0;
  }

  unsigned bits;
};

inline constexpr ElementSet kE2M1Only = ElementSet::of(ElementFormat::E2M1);
inline constexpr ElementSet kMxElements = {(1u << std::size(kElementFormats)) -
                                           1};

/// What is true of a recipe, each a bit.
enum RecipeTrait : unsigned {
  /// The last block of a row may be shorter than the block size.
  kAcceptsTails = 1,
  /// An element scaled to -0 gives the code of -0 and not that of +0.
  kKeepsNegativeZero = 2,
  /// A block has a choice between two scales, by the errors that they leave.
  kChoosesScale = 4,
  /// Elements are divided by their factor, not multiplied.
  kDividesElements = 8,
  /// Codes are multiplied by the scale of the block and then by the global
  /// scale, one product at a time.
  kDecodesInSteps = 16,
  /// Scales are those of amax * (1 / largest value), rounded up to a power of
  /// two.
  kRoundsScaleUp = 32,
  /// Bytes follow from the amax of the tensor, and to the last bit not from its
  /// decode scale, of which the encode scale that the recipe computes with is
  /// no exact inverse.
  kComputesFromAmax = 64,
  /// The scale of a block is divided by the decode scale, not multiplied by the
  /// encode scale.
  kDividesScales = 128,
  /// The scale of a block is at least `getScaleFloor` (BlockScale.h), whatever
  /// its amax, and is the divisor of an encode scale: under a usual global
  /// scale, the fast divisions of Division.h give the same bytes.
  kHasShortDivisions = 256,
};

struct RecipeInfo {
  std::string_view name;
  /// The type of the scales that it computes.
  ScaleFormat scale;
  /// The types of elements that it is defined for.
  ElementSet elements;
  /// Bits of RecipeTrait.
  unsigned traits;
  /// The type of x that it is defined for, to which it rounds some numbers;
  /// nothing where it takes every type and computes in f32.
  std::optional<InputFormat> input = std::nullopt;
};

inline constexpr RecipeInfo kRecipeTable[] = {
    {"torchao", ScaleFormat::E4M3, kE2M1Only,
     kKeepsNegativeZero | kDividesScales | kHasShortDivisions},
    {"mslk", ScaleFormat::E4M3, kE2M1Only,
     kKeepsNegativeZero | kComputesFromAmax | kHasShortDivisions},
    {"te", ScaleFormat::E4M3, kE2M1Only, kAcceptsTails | kComputesFromAmax},
    {"modelopt", ScaleFormat::E4M3, kE2M1Only,
     kAcceptsTails | kDividesElements | kDecodesInSteps | kDividesScales},
    {"floor", ScaleFormat::E8M0, kMxElements, kKeepsNegativeZero},
    {"rceil", ScaleFormat::E8M0, kMxElements,
     kKeepsNegativeZero | kRoundsScaleUp},
    {"rceil_sat", ScaleFormat::E8M0, kMxElements,
     kKeepsNegativeZero | kRoundsScaleUp},
    {"ceil", ScaleFormat::E8M0, kMxElements, kKeepsNegativeZero},
    {"even", ScaleFormat::E8M0, kMxElements, kKeepsNegativeZero},
    {"te_4over6_mae", ScaleFormat::E4M3, kE2M1Only,
     kAcceptsTails | kChoosesScale | kComputesFromAmax},
    {"te_4over6_mse", ScaleFormat::E4M3, kE2M1Only,
     kAcceptsTails | kChoosesScale | kComputesFromAmax},
    {"tosa", ScaleFormat::E8M0, kMxElements, kKeepsNegativeZero},
    {"compressed_tensors", ScaleFormat::E4M3, kE2M1Only, kDividesElements,
     InputFormat::F32},
    {"torchao_training", ScaleFormat::E4M3, kE2M1Only,
     kKeepsNegativeZero | kComputesFromAmax},
    {"compressed_tensors", ScaleFormat::E4M3, kE2M1Only, kDividesElements,
     InputFormat::BF16},
    {"compressed_tensors", ScaleFormat::E4M3, kE2M1Only, kDividesElements,
     InputFormat::F16},
    {"compressed_tensors", ScaleFormat::E8M0, kE2M1Only, 0},
    {"compressed_tensors", ScaleFormat::E8M0,
     ElementSet::of(ElementFormat::E2M3, ElementFormat::E4M3),
     kKeepsNegativeZero},
};

/// The recipes by name, each once.
inline constexpr Recipe kRecipes[] = {
    Recipe::Torchao,           Recipe::Mslk,           Recipe::Te,
    Recipe::Modelopt,          Recipe::Floor,          Recipe::Rceil,
    Recipe::RceilSat,          Recipe::Ceil,           Recipe::Even,
    Recipe::Te4over6Mae,       Recipe::Te4over6Mse,    Recipe::Tosa,
    Recipe::CompressedTensors, Recipe::TorchaoTraining};

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

/// The arithmetic of `recipe` for these types of scales, elements and x, or
/// nothing where the recipe is not defined for them.
constexpr std::optional<Recipe> findVariant(Recipe recipe, ScaleFormat scale,
                                            ElementFormat element,
                                            InputFormat input) {
  for (unsigned i = 0; i < std::size(kRecipeTable); ++i) {
    const RecipeInfo &info = kRecipeTable[i];
    if (info.name == getName(recipe) && info.scale == scale &&
        info.elements.contains(element) && info.input.value_or(input) == input)
      return static_cast<Recipe>(i);
  }
  return std::nullopt;
}

/// Whether the recipe is defined for these types of scales and elements.
constexpr bool isDefinedFor(Recipe recipe, ScaleFormat scale,
                            ElementFormat element) {
  return findVariant(recipe, scale, element, InputFormat::F32).has_value();
}

/// Whether the recipe is defined for a format with these scales.
constexpr bool isDefinedFor(Recipe recipe, ScaleFormat scale) {
  for (ElementFormat element : kElementFormats)
    if (isDefinedFor(recipe, scale, element))
      return true;
  return false;
}

constexpr ScaleFormat getScaleFormat(Recipe recipe) {
  return getRecipeInfo(recipe).scale;
}

/// Whether this arithmetic is one of NVFP4, rather than of MX.
constexpr bool isNvfp4(Recipe recipe) {
  return getScaleFormat(recipe) == ScaleFormat::E4M3;
}

constexpr bool hasTrait(Recipe recipe, RecipeTrait trait) {
  return (getRecipeInfo(recipe).traits & trait) != 0;
}

constexpr bool acceptsTails(Recipe recipe) {
  return hasTrait(recipe, kAcceptsTails);
}

constexpr bool keepsNegativeZero(Recipe recipe) {
  return hasTrait(recipe, kKeepsNegativeZero);
}

constexpr bool isFourOverSix(Recipe recipe) {
  return hasTrait(recipe, kChoosesScale);
}

constexpr bool dividesElements(Recipe recipe) {
  return hasTrait(recipe, kDividesElements);
}

constexpr bool decodesInSteps(Recipe recipe) {
  return hasTrait(recipe, kDecodesInSteps);
}

constexpr bool roundsScaleUp(Recipe recipe) {
  return hasTrait(recipe, kRoundsScaleUp);
}

constexpr bool computesFromAmax(Recipe recipe) {
  return hasTrait(recipe, kComputesFromAmax);
}

constexpr bool dividesScales(Recipe recipe) {
  return hasTrait(recipe, kDividesScales);
}

constexpr bool hasShortDivisions(Recipe recipe) {
  return hasTrait(recipe, kHasShortDivisions);
}

/// Whether numbers are rounded to the type of x.
constexpr bool roundsToInput(Recipe recipe) {
  return getRecipeInfo(recipe).input.has_value();
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_RECIPE_H

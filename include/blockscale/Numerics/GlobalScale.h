//===- GlobalScale.h - The second scale level of NVFP4 ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A decode scale g maps codes to values, x ~ code * block scale * g; an encode
// scale S is its inverse. torchao and ModelOpt compute with g, MSLK and
// TransformerEngine with S, and 1/(1/S) is not S to the last bit. Therefore a
// quantizer is told which of the two facts its caller has: g or the amax.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_GLOBALSCALE_H
#define BLOCKSCALE_NUMERICS_GLOBALSCALE_H

#include "blockscale/Numerics/Bits.h"
#include "blockscale/Numerics/Recipe.h"

namespace blockscale::numerics {

/// Largest block scale times largest code.
inline constexpr float kGlobalRange = 2688.0f; // 448 * 6

/// The 4over6 recipes leave room above the largest block scale that they aim
/// at, so that 1.5 times it is an E4M3 value too.
inline constexpr float kFourOverSixRange = 1536.0f; // 256 * 6

/// What the amax of a tensor is mapped to: largest block scale times largest
/// code.
constexpr float getGlobalRange(Recipe recipe) {
  return isFourOverSix(recipe) ? kFourOverSixRange : kGlobalRange;
}

/// MSLK takes no tensor amax below this.
inline constexpr float kMslkAmaxFloor = 1e-8f;

/// amax / 2688. Zero gives 0, hence NaN scales (torchao
/// per_tensor_amax_to_scale; ModelOpt weights_scaling_factor_2).
constexpr float getQuotientDecodeScale(float amax) {
  return amax / kGlobalRange;
}

/// S = 2688 / max(amax, 1e-8) (MSLK). NaN stays NaN.
constexpr float getMslkEncodeScale(float amax) {
  return kGlobalRange / maxKeepNan(amax, kMslkAmaxFloor);
}

/// S = min(range / amax, FLT_MAX), 1 where amax or S is 0
/// (TransformerEngine NVFP4QuantizerRef).
constexpr float getTeEncodeScale(float amax, float range = kGlobalRange) {
  if (amax == 0.0f)
    return 1.0f;
  float encode = minKeepNan(range / amax, kFloatMax);
  return encode == 0.0f ? 1.0f : encode;
}

/// The `te` encode scale where only the decode scale is known:
/// S = min(1 / g, FLT_MAX), 1 for g = 0.
constexpr float getTeEncodeScaleFromDecode(float decode) {
  return decode == 0.0f ? 1.0f : minKeepNan(1.0f / decode, kFloatMax);
}

/// The decode scale of a tensor from its amax (op `global_scale`): amax / 2688
/// for torchao and modelopt, 1 / S for mslk, te and 4over6. MX recipes have no
/// global scale and give 1.
constexpr float getDecodeScale(Recipe recipe, float amax) {
  switch (recipe) {
  case Recipe::Torchao:
  case Recipe::Modelopt:
    return getQuotientDecodeScale(amax);
  case Recipe::Mslk:
    return 1.0f / getMslkEncodeScale(amax);
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    return 1.0f / getTeEncodeScale(amax, getGlobalRange(recipe));
  default:
    return 1.0f;
  }
}

/// What a caller knows of the global scale. Absent means 1.0 in every recipe.
class GlobalScale {
public:
  enum class Kind : uint8_t { Absent, DecodeScale, Amax };

  constexpr GlobalScale() = default;
  static constexpr GlobalScale fromDecodeScale(float decode) {
    return GlobalScale(Kind::DecodeScale, decode);
  }
  static constexpr GlobalScale fromAmax(float amax) {
    return GlobalScale(Kind::Amax, amax);
  }

  constexpr Kind getKind() const { return kind; }
  /// The decode scale or amax; 1 where absent.
  constexpr float getValue() const { return value; }

private:
  constexpr GlobalScale(Kind knownKind, float knownValue)
      : kind(knownKind), value(knownValue) {}

  Kind kind = Kind::Absent;
  float value = 1.0f;
};

/// The constants a recipe derives once per tensor.
struct GlobalFactors {
  /// S. What mslk, te and 4over6 compute scales and elements with; 1 / g in
  /// torchao, which uses it for elements only; unused in modelopt.
  float encode = 1.0f;
  /// g. What torchao and modelopt compute scales with, and what every recipe
  /// dequantizes with.
  float decode = 1.0f;
  /// The tensor's amax, range * g where only g is known. What 4over6 measures
  /// errors with, and modelopt a given block amax.
  float amax = kGlobalRange;
};

constexpr GlobalFactors getGlobalFactors(Recipe recipe, GlobalScale global) {
  if (!isNvfp4(recipe))
    return {};
  if (global.getKind() == GlobalScale::Kind::Absent)
    return {1.0f, 1.0f, getGlobalRange(recipe)};
  float value = global.getValue();
  bool fromAmax = global.getKind() == GlobalScale::Kind::Amax;
  float decode = fromAmax ? getDecodeScale(recipe, value) : value;
  float range = getGlobalRange(recipe);
  float amax = fromAmax ? value : range * value;
  switch (recipe) {
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    return {fromAmax ? getTeEncodeScale(value, range)
                     : getTeEncodeScaleFromDecode(value),
            decode, amax};
  case Recipe::Mslk:
    return {fromAmax ? getMslkEncodeScale(value) : 1.0f / value, decode, amax};
  default:
    return {1.0f / decode, decode, amax};
  }
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_GLOBALSCALE_H

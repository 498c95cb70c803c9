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
#include "blockscale/Numerics/InputRounding.h"

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

/// S = 2688 / max(amax, 1e-8) (MSLK). NaN stays NaN.
template <typename Number>
constexpr Number getMslkEncodeScale(Number amax) {
  return like(amax, kGlobalRange) / maxKeepNan(amax, kMslkAmaxFloor);
}

/// S = min(range / amax, FLT_MAX), 1 where amax or S is 0
/// (TransformerEngine NVFP4QuantizerRef, torchao's kernels of training).
template <typename Number>
constexpr Number getTeEncodeScale(Number amax, float range = kGlobalRange) {
  Number encode = minKeepNan(like(amax, range) / amax, kFloatMax);
  return oneWhere(isEqual(amax, like(amax, 0.0f)), oneWhereZero(encode));
}

/// The `te` encode scale where only the decode scale is known:
/// S = min(1 / g, FLT_MAX), 1 for g = 0.
template <typename Number>
constexpr Number getTeEncodeScaleFromDecode(Number decode) {
  return oneWhere(isEqual(decode, like(decode, 0.0f)),
                  minKeepNan(getReciprocal(decode), kFloatMax));
}

/// S = T(T(1 / amax) * 2688) with T a rounding to the type of x, 1 where that
/// is no finite number (compressed-tensors generate_gparam).
template <typename Number>
constexpr Number getCompressedTensorsEncodeScale(Recipe recipe, Number amax) {
  Number inverse = roundToInput(recipe, getReciprocal(amax));
  Number encode = roundToInput(recipe, Number(inverse * kGlobalRange));
  Number infinity = fromBits(like(toBits(encode), kFloatInfinityBits));
  return select(isLess(encode, infinity), encode, like(encode, 1.0f));
}

/// The decode scale of a tensor from its amax (op `global_scale`): amax / 2688
/// for torchao, torchao_training and modelopt (torchao
/// per_tensor_amax_to_scale; ModelOpt weights_scaling_factor_2), where zero
/// gives 0, hence NaN scales of torchao and modelopt; 1 / S for mslk, te,
/// 4over6 and compressed_tensors. MX recipes have no global scale and give 1.
template <typename Number>
constexpr Number getDecodeScale(Recipe recipe, Number amax) {
  switch (recipe) {
  case Recipe::Torchao:
  case Recipe::TorchaoTraining:
  case Recipe::Modelopt:
    return amax / kGlobalRange;
  case Recipe::Mslk:
    return getReciprocal(getMslkEncodeScale(amax));
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    return getReciprocal(getTeEncodeScale(amax, getGlobalRange(recipe)));
  case Recipe::CompressedTensors:
  case Recipe::CompressedTensorsBF16:
  case Recipe::CompressedTensorsF16:
    return getReciprocal(getCompressedTensorsEncodeScale(recipe, amax));
  default:
    return like(amax, 1.0f);
  }
}

/// The amax that a global scale is computed from wherever this project, and no
/// caller, chooses the global scale. It is the amax of the tensor, unless that
/// is 0, or so small that its decode scale would be 0: every number of such a
/// tensor is 0 to the format, but under a decode scale of 0 `torchao` and
/// `modelopt` make its block scales NaN. It is the range then, whose decode
/// scale is 1. NaN stays NaN.
template <typename Number>
constexpr Number getNonzeroAmax(Number amax) {
  auto isZero = isEqual(Number(amax / kGlobalRange), like(amax, 0.0f));
  return select(isZero, like(amax, kGlobalRange), amax);
}

/// What a caller knows of the global scale. Absent means 1.0 in every recipe.
/// A `NonzeroAmax` is an amax of which `getNonzeroAmax` is taken first.
class GlobalScale {
public:
  enum class Kind : uint8_t { Absent, DecodeScale, Amax, NonzeroAmax };

  constexpr GlobalScale() = default;
  static constexpr GlobalScale fromDecodeScale(float decode) {
    return GlobalScale(Kind::DecodeScale, decode);
  }
  static constexpr GlobalScale fromAmax(float amax) {
    return GlobalScale(Kind::Amax, amax);
  }
  static constexpr GlobalScale fromNonzeroAmax(float amax) {
    return GlobalScale(Kind::NonzeroAmax, amax);
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

/// Whether the global value is an amax and not a decode scale.
constexpr bool isAmax(GlobalScale::Kind kind) {
  return kind == GlobalScale::Kind::Amax ||
         kind == GlobalScale::Kind::NonzeroAmax;
}

/// The global value of a kind as a recipe takes it.
template <typename Number>
constexpr Number readGlobal(GlobalScale::Kind kind, Number value) {
  return kind == GlobalScale::Kind::NonzeroAmax ? getNonzeroAmax(value) : value;
}

/// The constants a recipe derives once per tensor.
template <typename Number>
struct GlobalFactorsOf {
  constexpr GlobalFactorsOf(Number encode, Number decode, Number amax,
                            Number inverse)
      : encode(encode), decode(decode), amax(amax), inverse(inverse) {}

  /// S. What mslk, te, 4over6, compressed_tensors and torchao_training compute
  /// scales and elements with; 1 / g in torchao, which uses it for elements
  /// only; unused in modelopt.
  Number encode;
  /// g. What torchao and modelopt compute scales with, and what every recipe
  /// dequantizes with.
  Number decode;
  /// The tensor's amax, range * g where only g is known. What 4over6 measures
  /// errors with, and modelopt a given block amax.
  Number amax;
  /// 1 / S. What te, 4over6 and torchao_training compute the factors of
  /// elements with.
  Number inverse;
};
using GlobalFactors = GlobalFactorsOf<float>;

/// The constants of a tensor whose global scale is absent.
inline constexpr GlobalFactors kOneLevel = {1.0f, 1.0f, kGlobalRange, 1.0f};

/// S of a decode scale, which is `decode`, or of an amax.
template <typename Number>
constexpr Number getEncodeScale(Recipe recipe, GlobalScale::Kind kind,
                                Number value, Number decode) {
  bool fromAmax = isAmax(kind);
  switch (recipe) {
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
  case Recipe::TorchaoTraining:
    return fromAmax ? getTeEncodeScale(value, getGlobalRange(recipe))
                    : getTeEncodeScaleFromDecode(value);
  case Recipe::Mslk:
    return fromAmax ? getMslkEncodeScale(value) : getReciprocal(value);
  case Recipe::CompressedTensors:
  case Recipe::CompressedTensorsBF16:
  case Recipe::CompressedTensorsF16:
    return fromAmax ? getCompressedTensorsEncodeScale(recipe, value)
                    : getReciprocal(value);
  default:
    return getReciprocal(decode);
  }
}

/// The factors of a decode scale or amax. Where there is neither, `given` says
/// no more than its type.
template <typename Number>
constexpr GlobalFactorsOf<Number>
getGlobalFactors(Recipe recipe, GlobalScale::Kind kind, Number given) {
  Number value = readGlobal(kind, given);
  float range = getGlobalRange(recipe);
  Number one = like(value, 1.0f);
  if (!isNvfp4(recipe) || kind == GlobalScale::Kind::Absent)
    return {one, one, like(value, range), one};
  bool fromAmax = isAmax(kind);
  Number decode = fromAmax ? getDecodeScale(recipe, value) : value;
  Number encode = getEncodeScale(recipe, kind, value, decode);
  return {encode, decode, fromAmax ? value : value * range,
          getReciprocal(encode)};
}

constexpr GlobalFactors getGlobalFactors(Recipe recipe, GlobalScale global) {
  return getGlobalFactors(recipe, global.getKind(), global.getValue());
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_GLOBALSCALE_H

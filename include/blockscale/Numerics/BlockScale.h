//===- BlockScale.h - The scale of one block --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The formulas that lead from the amax of a block to its scale byte, and from
// that byte to the factor that its elements are scaled by. Each operation is
// rounded once to f32, in the order written: that order is the recipe.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_BLOCKSCALE_H
#define BLOCKSCALE_NUMERICS_BLOCKSCALE_H

#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/GlobalScale.h"

namespace blockscale::numerics {

/// The smallest scale of a block in an NVFP4 recipe, 0 where there is none: the
/// scale of a zero block is 0 then.
constexpr float getScaleFloor(Recipe recipe) {
  switch (recipe) {
  case Recipe::Torchao:
  case Recipe::TorchaoTraining:
    return kE4M3MinNormal;
  case Recipe::Mslk:
  case Recipe::Modelopt:
    return kE4M3MinSubnormal;
  default:
    return 0.0f;
  }
}

/// What compressed_tensors has in place of a block scale that E4M3 rounds to 0,
/// and the least one that E4M3 does not: the tie 2^-10 goes to 0.
inline constexpr float kCompressedTensorsScaleOfZero = 0.125f;
inline constexpr float kE4M3LeastNotZero = 0x1.000002p-10f;

//===----------------------------------------------------------------------===//
// Scale bytes
//===----------------------------------------------------------------------===//

/// The scale of a block in an NVFP4 recipe, before its cast to E4M3. The cast
/// saturates, so the bounds of 448 in
///
///   torchao   e4m3(clamp((amax / 6) / g, 2^-6, 448))
///   mslk      e4m3(clamp((amax / 6) * S, 2^-9, 448))
///   torchao_training  the same from 2^-6 on
///   te        e4m3(min(amax * (S * (1/6)), 448))
///   modelopt  e4m3(clamp(amax / (6 * g), 2^-9, 448)), 1.0 for a zero quotient
///   4over6    e4m3(min((amax / 6) * S, 448)), the first of two candidates
///   compressed_tensors  e4m3(min(S * T(amax / 6), 448)), 0.125 for a zero
///   byte,
///                       with T a rounding to the type of x
///
/// are left to it.
template <typename Number>
constexpr Number getBlockScale(Recipe recipe, Number amax,
                               const GlobalFactorsOf<Number> &global) {
  switch (recipe) {
  case Recipe::Mslk:
  case Recipe::TorchaoTraining:
    return maxKeepNan((amax / kE2M1Max) * global.encode, getScaleFloor(recipe));
  case Recipe::Te:
    return amax * (global.encode * kInverseE2M1Max);
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    return (amax / kE2M1Max) * global.encode;
  case Recipe::Modelopt: {
    Number scale = amax / (global.decode * kE2M1Max);
    return oneWhere(isEqual(scale, like(scale, 0.0f)),
                    maxKeepNan(scale, getScaleFloor(recipe)));
  }
  case Recipe::CompressedTensors:
  case Recipe::CompressedTensorsBF16:
  case Recipe::CompressedTensorsF16: {
    Number scale =
        global.encode * roundToInput(recipe, Number(amax / kE2M1Max));
    return select(isLess(scale, like(scale, kE4M3LeastNotZero)),
                  like(scale, kCompressedTensorsScaleOfZero), scale);
  }
  default:
    return maxKeepNan((amax / kE2M1Max) / global.decode, getScaleFloor(recipe));
  }
}

/// The scale of a block, before it is rounded, whose amax was not computed but
/// given, as scale_sweep gives it. It is getBlockScale's but for modelopt,
/// which exports such blocks by the formula
///
///   e4m3(clamp((t * 448) / (G / 6), 2^-9, 448)),  t = amax / 6, 1.0 for t = 0
///
/// with G the tensor's amax (ModelOpt
/// get_weights_scaling_factor_from_quantizer).
template <typename Number>
constexpr Number
getBlockScaleOfGivenAmax(Recipe recipe, Number amax,
                         const GlobalFactorsOf<Number> &global) {
  if (recipe != Recipe::Modelopt)
    return getBlockScale(recipe, amax, global);
  Number scale = oneWhereZero(Number(amax / kE2M1Max));
  return maxKeepNan((scale * kE4M3Max) / (global.amax / kE2M1Max),
                    getScaleFloor(recipe));
}

/// E4M3 byte of a block scale. NaN gives 0x7F.
template <typename Number>
constexpr Bits<Number> encodeBlockScale(Number scale) {
  return encodeBits(ElementFormat::E4M3, scale) & 0xFFu;
}

/// What becomes of a scale of infinity in the recipes that round scales up.
constexpr Overflow getScaleOverflow(Recipe recipe) {
  return recipe == Recipe::RceilSat ? Overflow::Saturate : Overflow::Propagate;
}

/// Whether no scaled element is above the largest value: scales are rounded up,
/// and that of an infinite amax is NaN.
constexpr bool leavesNoOverflow(Recipe recipe) {
  return roundsScaleUp(recipe) &&
         getScaleOverflow(recipe) == Overflow::Propagate;
}

/// A number that carries into the exponent field of an amax whose mantissa,
/// under the power of two of E - emax, is rounded beyond the largest value of
/// the format. That begins half a step above this value, where a tie goes up
/// unless the last bit of its mantissa is 0.
constexpr uint32_t getOverflowCarry(ElementFormat format) {
  const FormatInfo &info = getFormatInfo(format);
  uint32_t largest = toBits(info.maxFinite);
  float halfStep = powerOfTwo(info.maxExponent - info.mantissaBits - 1);
  uint32_t bound = toBits(info.maxFinite + halfStep) & kFloatMantissaMask;
  bool tiesGoUp =
      (largest >> (kFloatMantissaBits - info.mantissaBits) & 1u) != 0;
  return kFloatMantissaMask + (tiesGoUp ? 1u : 0u) - bound;
}

/// The carries for amaxes with the bits `bits`. Only where emax is 0 the ends
/// of E8M0's range matter: a subnormal amax is under the power of two of byte
/// 0, with a mantissa half as high, and one under 2^127 has no larger power.
template <typename Word>
constexpr Word getOverflowCarries(ElementFormat format, Word bits) {
  Word carry = like(bits, getOverflowCarry(format));
  if (getFormatInfo(format).maxExponent != 0)
    return carry;
  carry = select(isBelow(bits, kFloatMantissaMask + 1), carry >> 1, carry);
  return select(isBelow(bits, toBits(0x1p127f)), carry, like(bits, 0u));
}

/// The bits of mantissa to which an amax is rounded first; 0 for a recipe that
/// does not do so.
constexpr int getKeptMantissaBits(Recipe recipe, ElementFormat format) {
  int bits = getFormatInfo(format).mantissaBits;
  switch (recipe) {
  case Recipe::Even:
  case Recipe::CompressedTensorsMxfp4:
    return bits;
  case Recipe::CompressedTensorsMx:
    return format == ElementFormat::E4M3 ? 1 : bits;
  default:
    return 0;
  }
}

/// E8M0 byte of a block in an MX recipe. With E and m the exponent field and
/// mantissa of amax:
///
///   floor      E - emax
///   ceil       E - emax, plus 1 where m is not 0
///   even       floor of amax after its mantissa was rounded, half up, to that
///              of the element; rounding up to infinity counts as infinity
///   compressed_tensors  the same, but one bit of mantissa for E4M3
///   tosa       E - emax, plus 1 where amax would be rounded beyond the
///              largest value
///   rceil      amax * (1 / largest value), rounded up to a power of two
///   rceil_sat  the same, 254 for infinity
///
/// clamped to 0 .. 254; infinity and NaN give 255 (torchao to_mx). `floor` is
/// not a truncation of amax * 2^-emax: where that is subnormal it rounds.
///
/// The sum of `ceil` carries into the exponent where m is not 0. An amax is not
/// negative.
template <typename Number>
constexpr Bits<Number> getE8M0ScaleBits(Recipe recipe, ElementFormat format,
                                        Number amax) {
  const FormatInfo &info = getFormatInfo(format);
  if (roundsScaleUp(recipe))
    return encodeE8M0RoundUp(amax * getInverseMaxFinite(format),
                             getScaleOverflow(recipe));
  Bits<Number> bits = toBits(amax), rounded = bits;
  if (recipe == Recipe::Ceil)
    rounded = bits + kFloatMantissaMask;
  if (recipe == Recipe::Tosa)
    rounded = bits + getOverflowCarries(format, bits);
  if (int kept = getKeptMantissaBits(recipe, format))
    rounded = bits = bits + (1u << (kFloatMantissaBits - kept - 1));
  Bits<Number> byte =
      (rounded >> kFloatMantissaBits) - static_cast<uint32_t>(info.maxExponent);
  return select(isBelow(bits, kFloatInfinityBits),
                maxSigned(byte, like(byte, 0u)),
                like(byte, uint32_t{kE8M0Nan}));
}

/// The scale byte of a block. `format` is E2M1 in NVFP4 recipes; `global` is
/// unused in MX recipes.
template <typename Number>
constexpr Bits<Number> getScaleBits(Recipe recipe, ElementFormat format,
                                    Number amax,
                                    const GlobalFactorsOf<Number> &global) {
  return isNvfp4(recipe) ? encodeBlockScale(getBlockScale(recipe, amax, global))
                         : getE8M0ScaleBits(recipe, format, amax);
}
constexpr uint8_t getScaleByte(Recipe recipe, ElementFormat format, float amax,
                               const GlobalFactors &global = kOneLevel) {
  return static_cast<uint8_t>(getScaleBits(recipe, format, amax, global));
}
constexpr uint8_t getE4M3ScaleByte(Recipe recipe, float amax,
                                   const GlobalFactors &global) {
  return getScaleByte(recipe, ElementFormat::E2M1, amax, global);
}
constexpr uint8_t getE8M0ScaleByte(Recipe recipe, ElementFormat format,
                                   float amax) {
  return getScaleByte(recipe, format, amax);
}
constexpr uint8_t getE4M3ScaleByteOfGivenAmax(Recipe recipe, float amax,
                                              const GlobalFactors &global) {
  return static_cast<uint8_t>(
      encodeBlockScale(getBlockScaleOfGivenAmax(recipe, amax, global)));
}

//===----------------------------------------------------------------------===//
// Element scaling
//===----------------------------------------------------------------------===//

/// What the elements of a block in an NVFP4 recipe are multiplied by, or
/// divided by where the recipe divides, under the block scale s:
///
///   torchao   x * ((1 / g) / s)
///   mslk      x * (S / s)
///   te        x * min(1 / (s * (1 / S)), FLT_MAX); 4over6 and
///             torchao_training too
///   modelopt  x / (s * g)
///   compressed_tensors  x / (s / S)
template <typename Number>
constexpr Number getFactorOfScale(Recipe recipe, Number scale,
                                  const GlobalFactorsOf<Number> &global) {
  switch (recipe) {
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
  case Recipe::TorchaoTraining:
    return minKeepNan(getReciprocal(Number(scale * global.inverse)), kFloatMax);
  case Recipe::Modelopt:
    return scale * global.decode;
  case Recipe::CompressedTensors:
  case Recipe::CompressedTensorsBF16:
  case Recipe::CompressedTensorsF16:
    return scale / global.encode;
  default:
    return global.encode / scale;
  }
}

/// The factor of the elements of a block from its scale byte, in every recipe.
/// MX multiplies by 2^(127 - byte), NaN for byte 255.
template <typename Word>
constexpr Number<Word>
getFactorOfByte(Recipe recipe, Word scaleByte,
                const GlobalFactorsOf<Number<Word>> &global) {
  if (!isNvfp4(recipe))
    return decodeE8M0ReciprocalBits(scaleByte);
  return getFactorOfScale(recipe, decodeBits(ElementFormat::E4M3, scaleByte),
                          global);
}

/// Whether the block scale is divided by the encode scale, the reciprocal of
/// the global one.
constexpr bool decodesByReciprocal(Recipe recipe) {
  switch (recipe) {
  case Recipe::CompressedTensors:
  case Recipe::CompressedTensorsBF16:
  case Recipe::CompressedTensorsF16:
    return true;
  default:
    return false;
  }
}

/// What codes under the block scale are multiplied by:
///
///   torchao*, mslk, te  code * (g * s)    torchao NVFP4Tensor.dequantize
///   modelopt           (code * s) * g     ModelOpt's kernel, left to right
///   compressed_tensors code * (s / (1 / g))
///   MX                 code * 2^(byte - 127)
///
/// with one rounding to f32 a product. A NaN scale gives NaN. `decodeGlobal` is
/// GlobalFactors::decode, 1 where the global scale is absent.
template <typename Number>
constexpr Number getBlockFactor(Recipe recipe, Number scale,
                                Number decodeGlobal) {
  if (decodesByReciprocal(recipe))
    return scale / getReciprocal(decodeGlobal);
  return decodesInSteps(recipe) ? scale : decodeGlobal * scale;
}

/// An element under its factor, without the rule for -0.
template <typename Number>
constexpr Number applyFactor(Recipe recipe, Number x, Number factor) {
  return dividesElements(recipe) ? x / factor : x * factor;
}

constexpr float getElementFactor(Recipe recipe, uint8_t scaleByte,
                                 const GlobalFactors &global = kOneLevel) {
  return getFactorOfByte(recipe, uint32_t{scaleByte}, global);
}

/// The element `scaled`, but +0 for a -0 that the recipe does not keep: -0 + 0
/// is +0, and every other sum with 0 is exact.
template <typename Number>
constexpr Number addPositiveZero(Recipe recipe, Number scaled) {
  return keepsNegativeZero(recipe) ? scaled : scaled + 0.0f;
}

constexpr NegativeZero getNegativeZero(Recipe recipe) {
  return keepsNegativeZero(recipe) ? NegativeZero::Keep : NegativeZero::Drop;
}

/// The element that is rounded to a code.
constexpr float scaleElement(Recipe recipe, float x, float factor) {
  float scaled = applyFactor(recipe, x, factor);
  if (isNegativeZero(scaled) && !keepsNegativeZero(recipe))
    return 0.0f;
  return scaled;
}

/// The code of one element: scaled, then saturated to the format. A scaled
/// value of NaN gives the format's NaN code.
constexpr uint8_t quantizeElement(Recipe recipe, ElementFormat format, float x,
                                  float factor) {
  return encode(format, scaleElement(recipe, x, factor));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_BLOCKSCALE_H

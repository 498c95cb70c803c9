//===- BlockScale.h - The scale of one block --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// From the amax of a block to its scale byte, and from that byte to the factor
// its elements are scaled by. Each operation is rounded once to f32, in the
// order written: that order is the recipe.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_NUMERICS_BLOCKSCALE_H
#define BLOCKSCALE_NUMERICS_BLOCKSCALE_H

#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/GlobalScale.h"

namespace blockscale::numerics {

/// Smallest block scales. `te` has none: its scale of a zero block is 0.
inline constexpr float kTorchaoScaleFloor = kE4M3MinNormal;
inline constexpr float kMslkScaleFloor = kE4M3MinSubnormal;
inline constexpr float kModeloptScaleFloor = kE4M3MinSubnormal;

/// ModelOpt's block scale where the quotient is 0.
inline constexpr float kModeloptZeroBlockScale = 1.0f;

//===----------------------------------------------------------------------===//
// Scale bytes
//===----------------------------------------------------------------------===//

/// E4M3 byte of a block in an NVFP4 recipe. NaN gives 0x7F.
///
///   torchao   e4m3(clamp((amax / 6) / g, 2^-6, 448))
///   mslk      e4m3(clamp((amax / 6) * S, 2^-9, 448))
///   te        e4m3(min(amax * (S * (1/6)), 448))
///   modelopt  e4m3(clamp(amax / (6 * g), 2^-9, 448)), 1.0 for a zero quotient
///   4over6    the first of the two candidates of FourOverSix.h
constexpr uint8_t getE4M3ScaleByte(Recipe recipe, float amax,
                                   const GlobalFactors &global) {
  float scale = 0.0f;
  switch (recipe) {
  case Recipe::Mslk:
    scale = clampKeepNan((amax / kE2M1Max) * global.encode, kMslkScaleFloor,
                         kE4M3Max);
    break;
  case Recipe::Te:
    scale = minKeepNan(amax * (global.encode * kInverseE2M1Max), kE4M3Max);
    break;
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    scale = minKeepNan((amax / kE2M1Max) * global.encode, kE4M3Max);
    break;
  case Recipe::Modelopt:
    scale = amax / (kE2M1Max * global.decode);
    scale = scale == 0.0f ? kModeloptZeroBlockScale
                          : clampKeepNan(scale, kModeloptScaleFloor, kE4M3Max);
    break;
  default:
    scale = clampKeepNan((amax / kE2M1Max) / global.decode, kTorchaoScaleFloor,
                         kE4M3Max);
    break;
  }
  return encode(ElementFormat::E4M3, scale);
}

/// E4M3 byte of a block whose amax was not computed but given, as scale_sweep
/// gives it. Only modelopt differs, which exports such blocks by the formula
///
///   e4m3(clamp((t * 448) / (G / 6), 2^-9, 448)),  t = amax / 6, 1.0 for t = 0
///
/// with G the tensor's amax (ModelOpt
/// get_weights_scaling_factor_from_quantizer).
constexpr uint8_t getE4M3ScaleByteOfGivenAmax(Recipe recipe, float amax,
                                              const GlobalFactors &global) {
  if (recipe != Recipe::Modelopt)
    return getE4M3ScaleByte(recipe, amax, global);
  float scale = amax / kE2M1Max;
  if (scale == 0.0f)
    scale = kModeloptZeroBlockScale;
  scale = (scale * kE4M3Max) / (global.amax / kE2M1Max);
  return encode(ElementFormat::E4M3,
                clampKeepNan(scale, kModeloptScaleFloor, kE4M3Max));
}

/// E8M0 byte of a block in an MX recipe. With E and m the exponent field and
/// mantissa of amax:
///
///   floor      E - emax
///   ceil       E - emax, plus 1 where m is not 0
///   even       floor of amax after its mantissa was rounded, half up, to that
///              of the element; rounding up to infinity counts as infinity
///   rceil      amax * (1 / largest value), rounded up to a power of two
///   rceil_sat  the same, 254 for infinity
///
/// clamped to 0 .. 254; infinity and NaN give 255 (torchao to_mx). `floor` is
/// not a truncation of amax * 2^-emax: where that is subnormal it rounds.
constexpr uint8_t getE8M0ScaleByte(Recipe recipe, ElementFormat format,
                                   float amax) {
  const FormatInfo &info = getFormatInfo(format);
  if (recipe == Recipe::Rceil || recipe == Recipe::RceilSat)
    return encodeE8M0RoundUp(amax * getInverseMaxFinite(format),
                             recipe == Recipe::RceilSat ? Overflow::Saturate
                                                        : Overflow::Propagate);
  uint32_t bits = magnitudeBits(amax);
  if (recipe == Recipe::Even && bits < kFloatInfinityBits)
    bits += 1u << (kFloatMantissaBits - info.mantissaBits - 1);
  if (bits >= kFloatInfinityBits)
    return kE8M0Nan;
  int byte = static_cast<int>(bits >> kFloatMantissaBits) - info.maxExponent;
  if (recipe == Recipe::Ceil && (bits & kFloatMantissaMask) != 0)
    ++byte;
  return static_cast<uint8_t>(byte < 0 ? 0 : byte);
}

/// The scale byte of a block. `format` is E2M1 in NVFP4 recipes; `global` is
/// unused in MX recipes.
constexpr uint8_t getScaleByte(Recipe recipe, ElementFormat format, float amax,
                               const GlobalFactors &global = {}) {
  return isNvfp4(recipe) ? getE4M3ScaleByte(recipe, amax, global)
                         : getE8M0ScaleByte(recipe, format, amax);
}

//===----------------------------------------------------------------------===//
// Element scaling
//===----------------------------------------------------------------------===//

/// How elements are scaled before the cast: x * factor, or x / factor.
struct ElementScaling {
  float factor = 1.0f;
  bool divide = false;
};

/// Element scaling under the scale byte s of the block.
///
///   torchao   x * ((1 / g) / s)
///   mslk      x * (S / s)
///   te        x * min(1 / (s * (1 / S)), FLT_MAX); 4over6 too
///   modelopt  x / (s * g)
///   MX        x * 2^(127 - byte), NaN for byte 255
constexpr ElementScaling getElementScaling(Recipe recipe, uint8_t scaleByte,
                                           const GlobalFactors &global = {}) {
  if (!isNvfp4(recipe))
    return {decodeE8M0Reciprocal(scaleByte), false};
  float scale = decode(ElementFormat::E4M3, scaleByte);
  switch (recipe) {
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    return {minKeepNan(1.0f / (scale * (1.0f / global.encode)), kFloatMax),
            false};
  case Recipe::Modelopt:
    return {scale * global.decode, true};
  default:
    return {global.encode / scale, false};
  }
}

/// The element that is rounded to a code.
constexpr float scaleElement(Recipe recipe, float x,
                             const ElementScaling &scaling) {
  float scaled = scaling.divide ? x / scaling.factor : x * scaling.factor;
  if (isNegativeZero(scaled) && !keepsNegativeZero(recipe))
    return 0.0f;
  return scaled;
}

/// The code of one element: scaled, then saturated to the format. A scaled
/// value of NaN gives the format's NaN code.
constexpr uint8_t quantizeElement(Recipe recipe, ElementFormat format, float x,
                                  const ElementScaling &scaling) {
  return encode(format, scaleElement(recipe, x, scaling));
}

} // namespace blockscale::numerics

#endif // BLOCKSCALE_NUMERICS_BLOCKSCALE_H

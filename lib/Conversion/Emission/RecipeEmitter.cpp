//===- RecipeEmitter.cpp - Code that scales blocks ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RecipeEmitter.h"
#include "CodecEmitter.h"
#include "blockscale/Numerics/BlockScale.h"

using namespace mlir;
using namespace blockscale::numerics;
using arith::CmpFPredicate;
using arith::CmpIPredicate;

namespace blockscale::emit {

using numerics::Recipe;

//===----------------------------------------------------------------------===//
// Limits that keep NaN
//===----------------------------------------------------------------------===//

static Lanes minKeepNan(Lanes x, float upper) {
  return select(compare(CmpFPredicate::OGT, x, upper), x.like(upper), x);
}

static Lanes maxKeepNan(Lanes x, float lower) {
  return select(compare(CmpFPredicate::OLT, x, lower), x.like(lower), x);
}

static Lanes clampKeepNan(Lanes x, float lower, float upper) {
  return minKeepNan(maxKeepNan(x, lower), upper);
}

//===----------------------------------------------------------------------===//
// Global scale
//===----------------------------------------------------------------------===//

static Lanes getReciprocal(Lanes x) { return x.like(1.0f) / x; }

static Lanes emitMslkEncodeScale(Lanes amax) {
  return amax.like(kGlobalRange) / maxKeepNan(amax, kMslkAmaxFloor);
}

/// `encode`, or 1 where `isOne` holds.
static Lanes oneWhere(Lanes isOne, Lanes encode) {
  return select(isOne, encode.like(1.0f), encode);
}

static Lanes emitTeEncodeScale(Recipe recipe, Lanes amax) {
  Lanes encode =
      minKeepNan(amax.like(getGlobalRange(recipe)) / amax, kFloatMax);
  encode = oneWhere(compare(CmpFPredicate::OEQ, encode, 0.0f), encode);
  return oneWhere(compare(CmpFPredicate::OEQ, amax, 0.0f), encode);
}

static Lanes emitTeEncodeScaleFromDecode(Lanes decode) {
  return oneWhere(compare(CmpFPredicate::OEQ, decode, 0.0f),
                  minKeepNan(getReciprocal(decode), kFloatMax));
}

Lanes emitDecodeScaleOfAmax(Recipe recipe, Lanes amax) {
  switch (recipe) {
  case Recipe::Mslk:
    return getReciprocal(emitMslkEncodeScale(amax));
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    return getReciprocal(emitTeEncodeScale(recipe, amax));
  default:
    return amax / kGlobalRange;
  }
}

GlobalFactors emitGlobalFactors(ImplicitLocOpBuilder &b, Recipe recipe,
                                GlobalScale::Kind kind, Value value) {
  if (!isNvfp4(recipe) || kind == GlobalScale::Kind::Absent) {
    Lanes one(b, arith::ConstantOp::create(b, b.getF32FloatAttr(1.0f)));
    return {one, one, one.like(getGlobalRange(recipe))};
  }
  Lanes known(b, value);
  bool fromAmax = kind == GlobalScale::Kind::Amax;
  Lanes decode = fromAmax ? emitDecodeScaleOfAmax(recipe, known) : known;
  Lanes amax = fromAmax ? known : known * getGlobalRange(recipe);
  switch (recipe) {
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    return {fromAmax ? emitTeEncodeScale(recipe, known)
                     : emitTeEncodeScaleFromDecode(known),
            decode, amax};
  case Recipe::Mslk:
    return {fromAmax ? emitMslkEncodeScale(known) : getReciprocal(known),
            decode, amax};
  default:
    return {getReciprocal(decode), decode, amax};
  }
}

//===----------------------------------------------------------------------===//
// Scale bytes
//===----------------------------------------------------------------------===//

static Lanes encodeScale(Lanes scale) {
  return emitEncode(ElementFormat::E4M3, scale) & 0xFF;
}

/// `scale`, 1 where it is 0.
static Lanes emitModeloptNonZero(Lanes scale) {
  Lanes isZero = compare(CmpFPredicate::OEQ, scale, 0.0f);
  return select(isZero, scale.like(kModeloptZeroBlockScale), scale);
}

static Lanes emitE4M3ScaleByte(Recipe recipe, Lanes amax,
                               const GlobalFactors &global) {
  Lanes encode = global.encode, decode = global.decode;
  Lanes scale = amax;
  switch (recipe) {
  case Recipe::Mslk:
    scale = clampKeepNan((amax / kE2M1Max) * broadcast(encode, amax),
                         kMslkScaleFloor, kE4M3Max);
    break;
  case Recipe::Te:
    scale =
        minKeepNan(amax * broadcast(encode * kInverseE2M1Max, amax), kE4M3Max);
    break;
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse:
    scale = minKeepNan((amax / kE2M1Max) * broadcast(encode, amax), kE4M3Max);
    break;
  case Recipe::Modelopt:
    scale = clampKeepNan(
        emitModeloptNonZero(amax / broadcast(decode * kE2M1Max, amax)),
        kModeloptScaleFloor, kE4M3Max);
    break;
  default:
    scale = clampKeepNan((amax / kE2M1Max) / broadcast(decode, amax),
                         kTorchaoScaleFloor, kE4M3Max);
    break;
  }
  return encodeScale(scale);
}

Lanes emitScaleByteOfGivenAmax(Recipe recipe, Lanes amax,
                               const GlobalFactors &global) {
  if (recipe != Recipe::Modelopt)
    return emitE4M3ScaleByte(recipe, amax, global);
  Lanes scale = emitModeloptNonZero(amax / kE2M1Max) * kE4M3Max;
  Lanes whole = global.amax / kE2M1Max;
  return encodeScale(clampKeepNan(scale / broadcast(whole, scale),
                                  kModeloptScaleFloor, kE4M3Max));
}

/// numerics::encodeE8M0RoundUp of a non-negative x.
static Lanes emitE8M0RoundUp(Lanes x, bool saturate) {
  Lanes bits = toBits(x);
  Lanes exponent = bits >> kFloatMantissaBits;
  Lanes mantissa = bits & kFloatMantissaMask;
  Lanes lower =
      select(compare(CmpIPredicate::eq, exponent, 0),
             bits.like(numerics::toBits(decodeE8M0(0))), bits.like(0));
  Lanes roundsUp = compare(CmpIPredicate::ugt, mantissa, lower);
  Lanes byte = exponent + select(roundsUp, bits.like(1), bits.like(0));
  byte = minUnsigned(byte, byte.like(saturate ? kE8M0MaxFinite : kE8M0Nan));
  return select(isNan(x), bits.like(kE8M0Nan), byte);
}

static Lanes emitE8M0ScaleByte(Recipe recipe, ElementFormat format,
                               Lanes amax) {
  const FormatInfo &info = getFormatInfo(format);
  if (recipe == Recipe::Rceil || recipe == Recipe::RceilSat)
    return emitE8M0RoundUp(amax * getInverseMaxFinite(format),
                           recipe == Recipe::RceilSat);
  Lanes bits = toBits(amax);
  // From infinity on, adding cannot bring the bits back below it.
  if (recipe == Recipe::Even)
    bits = bits + (1u << (kFloatMantissaBits - info.mantissaBits - 1));
  Lanes isSpecial = compare(CmpIPredicate::uge, bits, kFloatInfinityBits);
  Lanes byte = (bits >> kFloatMantissaBits) - info.maxExponent;
  if (recipe == Recipe::Ceil) {
    Lanes isPower = compare(CmpIPredicate::eq, bits & kFloatMantissaMask, 0);
    byte = byte + select(isPower, bits.like(0), bits.like(1));
  }
  byte = maxSigned(byte, byte.like(0));
  return select(isSpecial, byte.like(kE8M0Nan), byte);
}

Lanes emitScaleByte(Recipe recipe, ElementFormat format, Lanes amax,
                    const GlobalFactors &global) {
  return isNvfp4(recipe) ? emitE4M3ScaleByte(recipe, amax, global)
                         : emitE8M0ScaleByte(recipe, format, amax);
}

//===----------------------------------------------------------------------===//
// Element scaling
//===----------------------------------------------------------------------===//

Lanes emitElementFactor(Recipe recipe, Lanes scaleByte,
                        const GlobalFactors &global) {
  if (!isNvfp4(recipe))
    return emitDecodeE8M0Reciprocal(scaleByte);
  Lanes scale = emitDecode(ElementFormat::E4M3, scaleByte);
  switch (recipe) {
  case Recipe::Te:
  case Recipe::Te4over6Mae:
  case Recipe::Te4over6Mse: {
    Lanes inverse = broadcast(getReciprocal(global.encode), scale);
    return minKeepNan(getReciprocal(scale * inverse), kFloatMax);
  }
  case Recipe::Modelopt:
    return scale * broadcast(global.decode, scale);
  default:
    return broadcast(global.encode, scale) / scale;
  }
}

Lanes emitScaleElements(Recipe recipe, Lanes x, Lanes factor) {
  return recipe == Recipe::Modelopt ? x / factor : x * factor;
}

} // namespace blockscale::emit

//===- ConvertPacked.cpp - Conversions of packed elements -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/ConvertPacked.h"

#include "Emulator/Arithmetic/BitOps.h"
#include "Emulator/Arithmetic/NarrowFormats.h"

#include <cmath>

namespace blockscale::emulator {

//===----------------------------------------------------------------------===//
// Elements: how wide one lies in its register, its value, its code
//===----------------------------------------------------------------------===//

template <typename F>
struct HalfElement {
  static constexpr unsigned kBits = 16;
  static double decode(uint64_t code) { return F::decode(code & 0xFFFF); }
  static uint64_t encode(double value, const ConvertModifiers &modifiers,
                         RandomBits random) {
    uint64_t code = roundToFormat(F::kFormat, value, modifiers.rounding,
                                  modifiers.satfinite, random);
    return modifiers.relu ? clampNegative<F>(code) : code;
  }
};

template <const FloatFormat &format>
struct NarrowElement {
  static constexpr unsigned kBits = format.bits() <= 4 ? 4 : 8;
  static double decode(uint64_t code) { return decodeNarrow(format, code); }
  static uint64_t encode(double value, const ConvertModifiers &modifiers,
                         RandomBits random) {
    if (modifiers.relu && std::signbit(value) && value == value)
      value = 0;
    return encodeNarrow(format, value, modifiers.rounding, random);
  }
};

struct ScaleElement {
  static constexpr unsigned kBits = 8;
  static double decode(uint64_t code) {
    return decodeUE8M0(static_cast<uint8_t>(code));
  }
  static uint64_t encode(double value, const ConvertModifiers &modifiers,
                         RandomBits) {
    return encodeUE8M0(value, modifiers.rounding, modifiers.satfinite);
  }
};

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// cvt.TOx2.f32 d, a, b
template <typename To>
static uint64_t fromTwo(const uint64_t *sources,
                        const ConvertModifiers &modifiers) {
  return To::encode(asFloat(sources[0]), modifiers, {}) << To::kBits |
         To::encode(asFloat(sources[1]), modifiers, {});
}

/// cvt.TOx2.FROMx2 d, a
template <typename To, typename From>
static uint64_t fromPacked(const uint64_t *sources,
                           const ConvertModifiers &modifiers) {
  double high = From::decode(sources[0] >> From::kBits);
  double low = From::decode(sources[0]);
  return To::encode(high, modifiers, {}) << To::kBits |
         To::encode(low, modifiers, {});
}

/// cvt.rs.TOx2.f32 d, a, b, rbits: `width` low bits of a half each.
template <typename To, unsigned width>
static uint64_t fromTwoStochastic(const uint64_t *sources,
                                  const ConvertModifiers &modifiers) {
  constexpr uint32_t kMask = (1u << width) - 1;
  auto random = static_cast<uint32_t>(sources[2]);
  return To::encode(asFloat(sources[0]), modifiers,
                    {random >> 16 & kMask, width})
             << To::kBits |
         To::encode(asFloat(sources[1]), modifiers, {random & kMask, width});
}

/// The random bits of the pairs (a, b) and (e, f).
struct PairBits {
  uint32_t upper, lower;
};

static PairBits getPairBits(uint32_t random, bool isE2M1) {
  if (!isE2M1)
    return {random >> 16, random & 0xFFFF};
  return {(random >> 16 & 0xFF00) | (random >> 8 & 0xFF),
          (random >> 8 & 0xFF00) | (random & 0xFF)};
}

/// The bits of the first or of the second element of a pair.
static RandomBits getElementBits(uint32_t pair, bool isFirst,
                                 RandomLayout layout) {
  if (layout == RandomLayout::Split)
    return {isFirst ? pair >> 8 : pair & 0xFF, 8};
  return {isFirst ? static_cast<uint32_t>(reverseBits<uint16_t>(pair)) : pair,
          16};
}

/// cvt.rs.TOx4.f32 d, {a, b, e, f}, rbits
template <typename To>
static uint64_t fromFourStochastic(const uint64_t *sources,
                                   const ConvertModifiers &modifiers) {
  PairBits pairs =
      getPairBits(static_cast<uint32_t>(sources[4]), To::kBits == 4);
  uint64_t result = 0;
  for (unsigned i = 0; i < 4; ++i) {
    RandomBits random = getElementBits(i < 2 ? pairs.upper : pairs.lower,
                                       i % 2 == 0, modifiers.randomLayout);
    result = result << To::kBits |
             To::encode(asFloat(sources[i]), modifiers, random);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

template <typename To>
static ConvertFunction findFromHalves(Type from) {
  if (from == Type::F16x2)
    return fromPacked<To, HalfElement<F16>>;
  if (from == Type::BF16x2)
    return fromPacked<To, HalfElement<BF16>>;
  return nullptr;
}

template <typename To>
static ConvertFunction findFromNarrow(Type from) {
  switch (from) {
  case Type::E4M3x2:
    return fromPacked<To, NarrowElement<kE4M3>>;
  case Type::E5M2x2:
    return fromPacked<To, NarrowElement<kE5M2>>;
  case Type::E2M3x2:
    return fromPacked<To, NarrowElement<kE2M3>>;
  case Type::E3M2x2:
    return fromPacked<To, NarrowElement<kE3M2>>;
  case Type::E2M1x2:
    return fromPacked<To, NarrowElement<kE2M1>>;
  default:
    return nullptr;
  }
}

/// To a narrow type: from two f32 or from one pair of halves.
template <typename To>
static ConvertFunction findToNarrow(Type from, unsigned sources) {
  if (sources == 2)
    return from == Type::F32 ? fromTwo<To> : nullptr;
  return sources == 1 ? findFromHalves<To>(from) : nullptr;
}

template <typename To>
static ConvertFunction findToQuad(Type from, unsigned sources) {
  return sources == 5 && from == Type::F32 ? fromFourStochastic<To> : nullptr;
}

/// To f16x2 or bf16x2, of which `width` random bits serve an element.
template <typename To, unsigned width>
static ConvertFunction findToHalves(Type from, unsigned sources) {
  if (sources == 2)
    return from == Type::F32 ? fromTwo<To> : nullptr;
  if (sources == 3)
    return from == Type::F32 ? fromTwoStochastic<To, width> : nullptr;
  return sources == 1 ? findFromNarrow<To>(from) : nullptr;
}

ConvertFunction findPackedConvert(Type to, Type from, unsigned sources) {
  switch (to) {
  case Type::F16x2:
    return findToHalves<HalfElement<F16>, 13>(from, sources);
  case Type::BF16x2:
    if (from == Type::UE8M0x2 && sources == 1)
      return fromPacked<HalfElement<BF16>, ScaleElement>;
    return findToHalves<HalfElement<BF16>, 16>(from, sources);
  case Type::E4M3x2:
    return findToNarrow<NarrowElement<kE4M3>>(from, sources);
  case Type::E5M2x2:
    return findToNarrow<NarrowElement<kE5M2>>(from, sources);
  case Type::E2M3x2:
    return findToNarrow<NarrowElement<kE2M3>>(from, sources);
  case Type::E3M2x2:
    return findToNarrow<NarrowElement<kE3M2>>(from, sources);
  case Type::E2M1x2:
    return findToNarrow<NarrowElement<kE2M1>>(from, sources);
  case Type::UE8M0x2:
    if (from == Type::BF16x2 && sources == 1)
      return fromPacked<ScaleElement, HalfElement<BF16>>;
    return from == Type::F32 && sources == 2 ? fromTwo<ScaleElement> : nullptr;
  case Type::E4M3x4:
    return findToQuad<NarrowElement<kE4M3>>(from, sources);
  case Type::E5M2x4:
    return findToQuad<NarrowElement<kE5M2>>(from, sources);
  case Type::E2M3x4:
    return findToQuad<NarrowElement<kE2M3>>(from, sources);
  case Type::E3M2x4:
    return findToQuad<NarrowElement<kE3M2>>(from, sources);
  case Type::E2M1x4:
    return findToQuad<NarrowElement<kE2M1>>(from, sources);
  default:
    return nullptr;
  }
}

} // namespace blockscale::emulator

//===- ConvertTest.cpp - cvt of packed elements ---------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

//
// What no sm_90 device executes: the formats of sm_100 and stochastic rounding.
// The rest of `cvt` is in PtxVectorsTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/Convert.h"

#include "Emulator/Arithmetic/FloatFormats.h"

#include <gtest/gtest.h>
#include <limits>

using namespace blockscale::emulator;

static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// `cvt` of f32 sources, and of random bits after them if `random` is given.
static uint64_t convert(Type to, std::initializer_list<float> values,
                        const ConvertModifiers &modifiers,
                        const uint32_t *random = nullptr) {
  uint64_t sources[5] = {};
  unsigned count = 0;
  for (float value : values)
    sources[count++] = asBits(value);
  if (random)
    sources[count++] = *random;
  ConvertFunction function = findConvert(to, Type::F32, count);
  EXPECT_NE(function, nullptr);
  return function ? function(sources, modifiers) : 0;
}

static uint64_t convert(Type to, Type from, uint64_t source,
                        const ConvertModifiers &modifiers = {}) {
  ConvertFunction function = findConvert(to, from, 1);
  EXPECT_NE(function, nullptr);
  return function ? function(&source, modifiers) : 0;
}

// The first source is the upper element; six-bit codes are padded to a byte.
TEST(Convert, OrderOfPackedElements) {
  ConvertModifiers m;
  m.satfinite = true;
  EXPECT_EQ(convert(Type::E2M1x2, {1.0f, -6.0f}, m), 0x2Fu);
  EXPECT_EQ(convert(Type::E2M3x2, {1.0f, -7.5f}, m), 0x083Fu);
  EXPECT_EQ(convert(Type::E3M2x2, {1.0f, -28.0f}, m), 0x0C3Fu);
  EXPECT_EQ(convert(Type::E4M3x2, {1.0f, -448.0f}, m), 0x38FEu);
  m.rounding = Rounding::Up;
  EXPECT_EQ(convert(Type::UE8M0x2, {1.0f, 3.0f}, m), 0x7F81u);
}

// Conversions from pairs of halves, upper to upper.
TEST(Convert, FromHalves) {
  ConvertModifiers m;
  m.satfinite = true;
  EXPECT_EQ(convert(Type::E2M1x2, Type::F16x2, 0x3C00'C600, m), 0x2Fu);
  EXPECT_EQ(convert(Type::E2M1x2, Type::BF16x2, 0x3F80'C0C0, m), 0x2Fu);
  EXPECT_EQ(convert(Type::E2M3x2, Type::F16x2, 0x3C00'C780, m), 0x083Fu);
  EXPECT_EQ(convert(Type::E3M2x2, Type::BF16x2, 0x3F80'C1E0, m), 0x0C3Fu);
  m.rounding = Rounding::Zero;
  EXPECT_EQ(convert(Type::UE8M0x2, Type::BF16x2, 0x3F80'4040, m), 0x7F80u);
}

// Conversions to pairs of halves, which are exact; NaN is 0x7FFF whatever its
// sign.
TEST(Convert, ToHalves) {
  EXPECT_EQ(convert(Type::F16x2, Type::E2M1x2, 0x2F), 0x3C00C600u);
  EXPECT_EQ(convert(Type::F16x2, Type::E2M3x2, 0x083F), 0x3C00C780u);
  EXPECT_EQ(convert(Type::F16x2, Type::E3M2x2, 0x0121), 0x2C00AC00u);
  EXPECT_EQ(convert(Type::F16x2, Type::E4M3x2, 0xFF01), 0x7FFF1800u);
  EXPECT_EQ(convert(Type::F16x2, Type::E5M2x2, 0xFC7D), 0xFC007FFFu);
  EXPECT_EQ(convert(Type::BF16x2, Type::UE8M0x2, 0x7F00), 0x3F800040u);
  EXPECT_EQ(convert(Type::BF16x2, Type::UE8M0x2, 0xFFFE), 0x7FFF7F00u);
  ConvertModifiers relu;
  relu.relu = true;
  EXPECT_EQ(convert(Type::F16x2, Type::E2M1x2, 0x8F, relu), 0u);
  EXPECT_EQ(convert(Type::F16x2, Type::E4M3x2, 0xFFB8, relu), 0x7FFF0000u);
}

// NaN becomes the positive greatest value of a format without NaN, with .relu
// too; infinity and what is too great saturate.
TEST(Convert, SpecialValues) {
  ConvertModifiers m, relu;
  m.satfinite = relu.satfinite = relu.relu = true;
  float nan = asFloat(0xFFC00000);
  EXPECT_EQ(convert(Type::E2M1x2, {nan, -kInfinity}, m), 0x7Fu);
  EXPECT_EQ(convert(Type::E2M1x2, {nan, -kInfinity}, relu), 0x70u);
  EXPECT_EQ(convert(Type::E2M3x2, {nan, -kInfinity}, m), 0x1F3Fu);
  EXPECT_EQ(convert(Type::E3M2x2, {nan, 1e30f}, m), 0x1F1Fu);
  EXPECT_EQ(convert(Type::E2M1x2, {-0.0f, -0.2f}, m), 0x88u);
  EXPECT_EQ(convert(Type::E2M1x2, {-0.0f, -0.2f}, relu), 0x00u);
  m.rounding = Rounding::Up;
  EXPECT_EQ(convert(Type::UE8M0x2, {nan, kInfinity}, m), 0xFFFEu);
}

//===----------------------------------------------------------------------===//
// Stochastic rounding
//===----------------------------------------------------------------------===//

static ConvertModifiers getStochastic(RandomLayout layout) {
  ConvertModifiers m;
  m.rounding = Rounding::Stochastic;
  m.satfinite = true;
  m.randomLayout = layout;
  return m;
}

// 1.25 lies halfway between 1 and 1.5 of e2m1: the most significant random bit
// of an element alone decides, so each bit of `rbits` shows whose that is.
TEST(Convert, SplitBitsOfE2M1) {
  ConvertModifiers m = getStochastic(RandomLayout::Split);
  const struct {
    unsigned bit;
    uint64_t result;
  } owners[] = {{31, 0x3222}, {15, 0x2322}, {23, 0x2232}, {7, 0x2223}};
  uint32_t others = 0xFFFFFFFF;
  for (auto [bit, result] : owners) {
    uint32_t random = 1u << bit;
    others &= ~random;
    EXPECT_EQ(convert(Type::E2M1x4, {1.25f, 1.25f, 1.25f, 1.25f}, m, &random),
              result)
        << bit;
  }
  EXPECT_EQ(convert(Type::E2M1x4, {1.25f, 1.25f, 1.25f, 1.25f}, m, &others),
            0x2222u);
}

// Each value of e4m3 takes its random bits from a place of its own, as those of
// e2m1 do. 1.0625 is halfway between two codes.
TEST(Convert, SplitBitsOfE4M3) {
  ConvertModifiers m = getStochastic(RandomLayout::Split);
  const struct {
    unsigned bit;
    uint64_t result;
  } owners[] = {
      {31, 0x39383838}, {23, 0x38393838}, {15, 0x38383938}, {7, 0x38383839}};
  const float x = 1.0625f;
  for (auto [bit, result] : owners) {
    uint32_t random = 1u << bit;
    EXPECT_EQ(convert(Type::E4M3x4, {x, x, x, x}, m, &random), result) << bit;
  }
}

// A pair shares its bits, reversed for its first element.
TEST(Convert, SharedBits) {
  ConvertModifiers m = getStochastic(RandomLayout::Shared);
  const struct {
    unsigned bit;
    uint64_t result;
  } owners[] = {{31, 0x2322}, {8, 0x3222}, {23, 0x2223}, {0, 0x2232}};
  for (auto [bit, result] : owners) {
    uint32_t random = 1u << bit;
    EXPECT_EQ(convert(Type::E2M1x4, {1.25f, 1.25f, 1.25f, 1.25f}, m, &random),
              result)
        << bit;
  }
}

// .f16x2 takes 13 bits of each half, .bf16x2 all 16; without .satfinite a carry
// beyond the greatest value is infinity.
TEST(Convert, StochasticHalves) {
  ConvertModifiers m;
  m.rounding = Rounding::Stochastic;
  uint32_t random = 0x1000'EFFF;
  // 2^-11 above 1 is half a unit of f16, 2^-8 half a unit of bf16.
  EXPECT_EQ(convert(Type::F16x2, {1 + 0x1p-11f, 1 + 0x1p-11f}, m, &random),
            0x3C013C00u);
  random = 0x8000'7FFF;
  EXPECT_EQ(convert(Type::BF16x2, {1 + 0x1p-8f, 1 + 0x1p-8f}, m, &random),
            0x3F813F80u);
  random = 0xFFFFFFFF;
  float greatest = std::numeric_limits<float>::max();
  EXPECT_EQ(convert(Type::BF16x2, {greatest, -greatest}, m, &random),
            0x7F80FF80u);
  m.satfinite = true;
  EXPECT_EQ(convert(Type::BF16x2, {greatest, -greatest}, m, &random),
            0x7F7FFF7Fu);
}

// The mean over all random bits is the value.
TEST(Convert, StochasticMean) {
  ConvertModifiers m = getStochastic(RandomLayout::Split);
  unsigned sum = 0;
  for (uint32_t bits = 0; bits < 256; ++bits) {
    uint32_t random = bits << 24;
    sum += convert(Type::E2M1x4, {4.375f, 0, 0, 0}, m, &random) >> 12;
  }
  // 3/16 of the way from code 6 (4.0) to code 7 (6.0).
  EXPECT_EQ(sum, 256u * 6 + 256 * 3 / 16);
}

//===----------------------------------------------------------------------===//
// Lookup
//===----------------------------------------------------------------------===//

// Pairs that PTX does not have.
TEST(Convert, UnknownPairs) {
  EXPECT_EQ(findConvert(Type::E2M1x2, Type::E4M3x2, 1), nullptr);
  EXPECT_EQ(findConvert(Type::E2M1x2, Type::F32, 1), nullptr);
  EXPECT_EQ(findConvert(Type::E2M1x2, Type::F64, 2), nullptr);
  EXPECT_EQ(findConvert(Type::E2M1x4, Type::F32, 4), nullptr);
  EXPECT_EQ(findConvert(Type::F16x2, Type::UE8M0x2, 1), nullptr);
  EXPECT_EQ(findConvert(Type::UE8M0x2, Type::F16x2, 1), nullptr);
  EXPECT_EQ(findConvert(Type::F32, Type::F16x2, 1), nullptr);
  EXPECT_EQ(findConvert(Type::TF32, Type::F16, 1), nullptr);
  EXPECT_EQ(findConvert(Type::B32, Type::F32, 1), nullptr);
  EXPECT_EQ(findConvert(Type::F32, Type::Pred, 1), nullptr);
  EXPECT_EQ(findConvert(Type::F32, Type::S32, 2), nullptr);
}

// Results fill 64 bits: signed integers with their sign, others with zeros.
TEST(Convert, ResultsAreExtended) {
  EXPECT_EQ(convert(Type::S8, Type::S32, 0x80), ~uint64_t{0x7F});
  EXPECT_EQ(convert(Type::U8, Type::S32, 0xFFFFFFFF), 0xFFu);
  EXPECT_EQ(convert(Type::S16, Type::F32, asBits(-2.0f)), ~uint64_t{1});
  EXPECT_EQ(convert(Type::F16, Type::F32, asBits(-2.0f)), 0xC000u);
}

//===- CodecTest.cpp - Element codecs, exhaustively -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expected.h"

#include "blockscale/Numerics/Codec.h"

#include <cmath>
#include <limits>

using namespace blockscale::numerics;

namespace {

constexpr ElementFormat kE2M1 = ElementFormat::E2M1;
constexpr ElementFormat kE4M3 = ElementFormat::E4M3;
constexpr ElementFormat kE5M2 = ElementFormat::E5M2;

//===----------------------------------------------------------------------===//
// Ties
//===----------------------------------------------------------------------===//

static_assert(encode(kE2M1, 0.25f) == 0);
static_assert(encode(kE2M1, 0.75f) == 2);
static_assert(encode(kE2M1, 1.25f) == 2);
static_assert(encode(kE2M1, 1.75f) == 4);
static_assert(encode(kE2M1, 2.5f) == 4);
static_assert(encode(kE2M1, 3.5f) == 6);
static_assert(encode(kE2M1, 5.0f) == 6);
static_assert(encode(kE2M1, 6.0f) == 7);
static_assert(encode(kE2M1, kFloatMax) == 7);
// One ulp off the tie.
static_assert(encode(kE2M1, 0x1.000002p-2f) == 1);
static_assert(encode(kE2M1, 0x1.7ffffep-1f) == 1);
static_assert(encode(kE2M1, 0x1.3ffffep+2f) == 6);
static_assert(encode(kE2M1, 0x1.400002p+2f) == 7);
// Signs.
static_assert(encode(kE2M1, -0.0f) == 8);
static_assert(encode(kE2M1, -0x1p-149f) == 8);
static_assert(encode(kE2M1, -5.0f) == 14);

static_assert(encode(kE4M3, 0x1p-10f) == 0);
static_assert(encode(kE4M3, 0x1.8p-9f) == 2);
static_assert(encode(kE4M3, kE4M3MinSubnormal) == 0x01);
static_assert(encode(kE4M3, kE4M3MinNormal) == 0x08);
static_assert(encode(kE4M3, 464.0f, Overflow::Propagate) == 0x7E);
static_assert(encode(kE4M3, 464.00003f, Overflow::Propagate) == 0x7F);
static_assert(encode(kE4M3, 464.00003f) == 0x7E);
static_assert(encode(kE5M2, 61439.0f, Overflow::Propagate) == 0x7B);
static_assert(encode(kE5M2, 61440.0f, Overflow::Propagate) == 0x7C);
static_assert(encode(kE5M2, -61440.0f) == 0xFB);

//===----------------------------------------------------------------------===//
// Against casts of other software
//===----------------------------------------------------------------------===//

struct Input {
  std::string archive;
  std::vector<float> values;
};

/// Every bf16 pattern, and f32 values around every rounding boundary.
std::vector<Input> getInputs() {
  std::vector<Input> inputs = {{"edge__casts_all_bf16", {}},
                               {"edge__casts_f32", {}}};
  for (int i = 0; i < 65536; ++i)
    inputs[0].values.push_back(decodeBF16(static_cast<uint16_t>(i)));
  for (uint32_t bits : readExpectedAs<uint32_t>(inputs[1].archive, "in_x"))
    inputs[1].values.push_back(fromBits(bits));
  return inputs;
}

/// Compares codes; `array` need not agree on NaN inputs, ours are checked to be
/// the format's NaN code.
void expectCasts(ElementFormat format, const std::string &array,
                 Overflow overflow, bool dropsNegativeZero = false) {
  for (const Input &input : getInputs()) {
    auto want = readExpectedAs<uint8_t>(input.archive, array);
    ASSERT_EQ(want.size(), input.values.size());
    for (size_t i = 0; i < want.size(); ++i) {
      float x = input.values[i];
      uint8_t code = encode(format, x, overflow);
      if (isNan(x)) {
        ASSERT_EQ(code, getFormatInfo(format).nanCode);
        continue;
      }
      if (dropsNegativeZero && isNegativeZero(x))
        code = encode(format, 0.0f, overflow);
      ASSERT_EQ(code, want[i]) << input.archive << "." << array << " " << i;
    }
  }
}

TEST(Codec, E2M1) {
  expectCasts(kE2M1, "out_mld_e2m1", Overflow::Saturate);
  expectCasts(kE2M1, "out_mld_e2m1", Overflow::Propagate);
  expectCasts(kE2M1, "out_ao_e2m1", Overflow::Saturate);
  expectCasts(kE2M1, "out_te_e2m1", Overflow::Saturate,
              /*dropsNegativeZero=*/true);
  expectCasts(kE2M1, "out_mo_e2m1", Overflow::Saturate,
              /*dropsNegativeZero=*/true);
}

TEST(Codec, E2M3) {
  expectCasts(ElementFormat::E2M3, "out_mld_e2m3", Overflow::Saturate);
  expectCasts(ElementFormat::E2M3, "out_ao_e2m3", Overflow::Saturate);
}

TEST(Codec, E3M2) {
  expectCasts(ElementFormat::E3M2, "out_mld_e3m2", Overflow::Saturate);
  expectCasts(ElementFormat::E3M2, "out_ao_e3m2", Overflow::Saturate);
}

TEST(Codec, E4M3Saturating) {
  expectCasts(kE4M3, "out_torch_e4m3_clamp448", Overflow::Saturate);
}

TEST(Codec, E4M3Propagating) {
  expectCasts(kE4M3, "out_mld_e4m3", Overflow::Propagate);
}

TEST(Codec, E5M2Propagating) {
  expectCasts(kE5M2, "out_mld_e5m2", Overflow::Propagate);
  expectCasts(kE5M2, "out_torch_e5m2", Overflow::Propagate);
}

// No oracle saturates E5M2: it is the propagating cast, infinity replaced.
TEST(Codec, E5M2Saturating) {
  for (const Input &input : getInputs()) {
    for (float x : input.values) {
      uint8_t code = encode(kE5M2, x, Overflow::Propagate);
      if ((code & 0x7F) == 0x7C)
        code = (code & 0x80) | 0x7B;
      ASSERT_EQ(encode(kE5M2, x), code) << x;
    }
  }
}

//===----------------------------------------------------------------------===//
// Decoding
//===----------------------------------------------------------------------===//

static_assert(decode(kE2M1, 1) == 0.5f && decode(kE2M1, 7) == 6.0f);
static_assert(decode(kE2M1, 0xF) == -6.0f);
static_assert(toBits(decode(kE2M1, 8)) == kFloatSignMask);
static_assert(decode(kE5M2, 0x01) == 0x1p-16f);

/// sign * significand * 2^exponent, from the fields of the code, in double.
double decodeByDefinition(const FormatInfo &info, int code) {
  if (info.exponentBits == 0)
    return static_cast<double>(static_cast<int8_t>(code)) / 64;
  int mantissa = code & ((1 << info.mantissaBits) - 1);
  int exponent = (code >> info.mantissaBits) & ((1 << info.exponentBits) - 1);
  double scale = 1.0;
  for (int e = exponent == 0 ? 1 : exponent; e < info.bias; ++e)
    scale /= 2;
  for (int e = info.bias; e < exponent; ++e)
    scale *= 2;
  double fraction = static_cast<double>(mantissa) / (1 << info.mantissaBits);
  double value = (exponent == 0 ? fraction : 1 + fraction) * scale;
  return code >> (info.bits - 1) ? -value : value;
}

TEST(Codec, DecodesEveryCode) {
  for (ElementFormat format : kElementFormats) {
    const FormatInfo &info = getFormatInfo(format);
    int magnitudeMask = getCodeCount(format) / 2 - 1;
    for (int code = 0; code < getCodeCount(format); ++code) {
      float value = decode(format, static_cast<uint8_t>(code));
      if ((code & magnitudeMask) <= info.maxFiniteCode)
        EXPECT_EQ(value, decodeByDefinition(info, code));
      else if (info.hasInfinity && (code & 0x7F) == 0x7C)
        EXPECT_TRUE(isInfinity(value));
      else
        EXPECT_TRUE(isNan(value));
    }
  }
}

TEST(Codec, EveryCodeRoundTrips) {
  for (ElementFormat format : kElementFormats) {
    for (int i = 0; i < getCodeCount(format); ++i) {
      auto code = static_cast<uint8_t>(i);
      float value = decode(format, code);
      uint8_t want = isNan(value) ? getFormatInfo(format).nanCode : code;
      EXPECT_EQ(encode(format, value, Overflow::Propagate), want)
          << getFormatInfo(format).name << " " << i;
    }
  }
}

// The codes of fixed point are numbers of 64ths: around the middle of each two,
// at both ends, of NaN and of zeros.
TEST(Codec, FixedPoint) {
  constexpr ElementFormat kFormat = ElementFormat::INT8;
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  auto getCode = [](float x) {
    return static_cast<int>(static_cast<int8_t>(encode(kFormat, x)));
  };
  for (int code = -128; code < 127; ++code) {
    float middle = (static_cast<float>(code) + 0.5f) / 64;
    EXPECT_EQ(getCode(middle), code % 2 == 0 ? code : code + 1);
    EXPECT_EQ(getCode(std::nextafter(middle, -kInfinity)), code);
    EXPECT_EQ(getCode(std::nextafter(middle, kInfinity)), code + 1);
  }
  for (float x : {2.0f, 127.5f / 64, FLT_MAX, kInfinity, std::nanf("")})
    EXPECT_EQ(getCode(x), 127) << x;
  for (float x : {-2.0f, -2.1f, -128.5f / 64, -FLT_MAX, -kInfinity})
    EXPECT_EQ(getCode(x), -128) << x;
  for (float x : {0.0f, -0.0f, 0x1p-149f, -0x1p-60f})
    EXPECT_EQ(getCode(x), 0) << x;
}

//===----------------------------------------------------------------------===//
// bf16
//===----------------------------------------------------------------------===//

static_assert(encodeBF16(0x1.01p0f) == 0x3F80);
static_assert(encodeBF16(0x1.010002p0f) == 0x3F81);
static_assert(encodeBF16(0x1.03p0f) == 0x3F82);
static_assert(encodeBF16(kFloatMax) == 0x7F80);

TEST(Codec, EveryBF16RoundTrips) {
  for (int i = 0; i < 65536; ++i) {
    auto code = static_cast<uint16_t>(i);
    float value = decodeBF16(code);
    EXPECT_EQ(encodeBF16(value), isNan(value) ? 0x7FC0 : code);
  }
}

//===----------------------------------------------------------------------===//
// f16
//===----------------------------------------------------------------------===//

// One, the largest, the smallest normal and subnormal numbers, -0.
static_assert(decodeF16(0x3C00) == 1.0f);
static_assert(decodeF16(0x7BFF) == 65504.0f);
static_assert(decodeF16(0x0400) == 0x1p-14f);
static_assert(decodeF16(0x8001) == -0x1p-24f);
static_assert(toBits(decodeF16(0x8000)) == 0x80000000u);

// Fields by the definition of binary16: 5 bits of exponent, 10 of mantissa.
TEST(Codec, EveryF16IsItsFields) {
  for (int i = 0; i < 65536; ++i) {
    int exponent = i >> 10 & 31, mantissa = i & 0x3FF;
    float value = decodeF16(static_cast<uint16_t>(i));
    EXPECT_EQ(toBits(value) >> 31, static_cast<uint32_t>(i) >> 15);
    if (exponent == 31) {
      EXPECT_EQ(isNan(value), mantissa != 0);
      EXPECT_TRUE(mantissa != 0 || std::isinf(value));
      continue;
    }
    double expected = exponent == 0
                          ? std::ldexp(mantissa, -24)
                          : std::ldexp(1024 + mantissa, exponent - 25);
    EXPECT_EQ(std::fabs(value), static_cast<float>(expected));
  }
}

// Zero has a sign too; NaN's means nothing, and E8M0 has no sign.
static_assert(isNegativeScale(ScaleFormat::E4M3, 0x80));
static_assert(isNegativeScale(ScaleFormat::E4M3, 0xFE));
static_assert(!isNegativeScale(ScaleFormat::E4M3, 0xFF));
static_assert(!isNegativeScale(ScaleFormat::E4M3, 0x7F));
static_assert(!isNegativeScale(ScaleFormat::E8M0, 0x80));

//===----------------------------------------------------------------------===//
// Other ways to the same values
//===----------------------------------------------------------------------===//

bool areSame(float a, float b) {
  return toBits(a) == toBits(b) || (isNan(a) && isNan(b));
}

// Where subnormal f32 cost nothing a product decodes; every code of every
// format has the same value on both ways, but for the sign of NaN.
TEST(Codec, DecodeByProduct) {
  for (ElementFormat format : kElementFormats)
    for (uint32_t code = 0; code < uint32_t(getCodeCount(format)); ++code)
      EXPECT_TRUE(
          areSame(decodeByProduct(format, code), decodeBits(format, code)))
          << getFormatInfo(format).name << " " << code;
  for (uint32_t byte = 0; byte < 256; ++byte)
    for (ScaleFormat format : {ScaleFormat::E4M3, ScaleFormat::E8M0})
      EXPECT_TRUE(areSame(decodeScaleByProduct(format, byte),
                          decodeScaleBits(format, byte)))
          << byte;
}

// f16 codes from and to f32: all codes return, and values between two of them
// go to the nearest, ties to even.
TEST(Codec, F16) {
  auto encodeF16 = [](float x) { return encodeF16Bits(x) & 0xFFFF; };
  for (uint32_t code = 0; code <= 0x7C00; ++code) {
    float value = decodeF16Bits(code);
    EXPECT_EQ(encodeF16(value), code);
    EXPECT_EQ(encodeF16(-value), code | 0x8000);
    if (code >= 0x7BFF)
      continue;
    float next = decodeF16Bits(code + 1), middle = (value + next) / 2;
    EXPECT_EQ(encodeF16(middle), code + (code & 1)) << code;
    EXPECT_EQ(encodeF16(fromBits(toBits(middle) - 1)), code) << code;
    EXPECT_EQ(encodeF16(fromBits(toBits(middle) + 1)), code + 1) << code;
  }
  EXPECT_EQ(decodeF16Bits(0x3C00u), 1.0f);
  EXPECT_EQ(decodeF16Bits(0x0001u), 0x1p-24f);
  EXPECT_EQ(encodeF16(65520.0f), 0x7C00u);
  EXPECT_EQ(encodeF16(65519.996f), 0x7BFFu);
  EXPECT_EQ(encodeF16(-fromBits(kFloatNanBits)), 0x7E00u);
  EXPECT_TRUE(isNan(decodeF16Bits(0x7C01u)));
}

//===----------------------------------------------------------------------===//
// Other ways to decode
//===----------------------------------------------------------------------===//

/// Every code of every format, in every place of a word that codes are stored
/// at, whatever the other codes are.
TEST(CodecTest, DecodeMagnified) {
  for (size_t i = 0; i < std::size(kFormatTable); ++i) {
    auto format = static_cast<ElementFormat>(i);
    const FormatInfo &info = kFormatTable[i];
    float power = getMagnification(format);
    for (uint32_t code = 0; code < 1u << info.bits; ++code) {
      float value = decode(format, static_cast<uint8_t>(code)) * power;
      for (int first = 0; first < 32; first += info.storageBits)
        for (uint32_t others : {0u, ~0u}) {
          uint32_t mask = ((1u << info.storageBits) - 1) << first;
          uint32_t word = (others & ~mask) | (code << first);
          float found = decodeMagnified(format, word, first);
          if (isNan(value))
            EXPECT_TRUE(isNan(found)) << info.name << " " << code;
          else
            EXPECT_EQ(toBits(value), toBits(found)) << info.name << " " << code;
        }
    }
  }
}

} // namespace

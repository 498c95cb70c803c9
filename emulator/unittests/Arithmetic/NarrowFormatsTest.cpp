//===- NarrowFormatsTest.cpp - Formats of eight bits and less -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Arithmetic/NarrowFormats.h"

#include "PtxVectors.h"

#include "llvm/ADT/STLExtras.h"

#include <algorithm>
#include <cmath>
#include <gtest/gtest.h>
#include <limits>
#include <vector>

using namespace blockscale::emulator;

namespace {

/// The magnitudes of a format, in the order of their codes.
struct Magnitudes {
  const char *name;
  const FloatFormat &format;
  std::vector<double> values;
};

} // namespace

/// `steps` multiples of 2^exponent from zero, then that many for each binade.
static std::vector<double> makeMagnitudes(int steps, int exponent, int count) {
  std::vector<double> values;
  for (int i = 0; i < count; ++i) {
    int binade = std::max(i / steps, 1);
    int integer = i < steps ? i : steps + i % steps;
    values.push_back(std::ldexp(integer, exponent + binade - 1));
  }
  return values;
}

static const std::vector<Magnitudes> &getFormats() {
  static const std::vector<Magnitudes> kFormats = {
      // OCP Microscaling v1.0, tables of E2M1, E2M3 and E3M2.
      {"e2m1", kE2M1, {0, 0.5, 1, 1.5, 2, 3, 4, 6}},
      {"e2m3", kE2M3, {0, 0.125, 0.25, 0.375, 0.5, 0.625, 0.75, 0.875,
                       1, 1.125, 1.25, 1.375, 1.5, 1.625, 1.75, 1.875,
                       2, 2.25,  2.5,  2.75,  3,   3.25,  3.5,  3.75,
                       4, 4.5,   5,    5.5,   6,   6.5,   7,    7.5}},
      {"e3m2", kE3M2, {0,   0.0625, 0.125, 0.1875, 0.25, 0.3125, 0.375, 0.4375,
                       0.5, 0.625,  0.75,  0.875,  1,    1.25,   1.5,   1.75,
                       2,   2.5,    3,     3.5,    4,    5,      6,     7,
                       8,   10,     12,    14,     16,   20,     24,    28}},
      // OCP 8-bit: subnormals of 2^-9 to 448; of 2^-16 to 57344.
      {"e4m3", kE4M3, makeMagnitudes(8, -9, 127)},
      {"e5m2", kE5M2, makeMagnitudes(4, -16, 124)},
  };
  return kFormats;
}

// Every code of every format has the value that the specification lists.
TEST(NarrowFormats, DecodeEveryCode) {
  for (const Magnitudes &format : getFormats()) {
    EXPECT_EQ(format.values.size(), format.format.maxFinite + 1) << format.name;
    for (uint64_t code = 0; code < format.values.size(); ++code) {
      EXPECT_EQ(decodeNarrow(format.format, code), format.values[code]);
      double negative =
          decodeNarrow(format.format, code | format.format.sign());
      EXPECT_EQ(negative, -format.values[code]) << format.name << " " << code;
      EXPECT_TRUE(std::signbit(negative));
    }
  }
  EXPECT_EQ(decodeNarrow(kE4M3, 0x7E), 448);
  EXPECT_EQ(decodeNarrow(kE5M2, 0x7B), 57344);
  EXPECT_EQ(decodeNarrow(kE5M2, 0xFC),
            -std::numeric_limits<double>::infinity());
  for (uint64_t code : {0x7F, 0xFF}) {
    EXPECT_TRUE(std::isnan(decodeNarrow(kE4M3, code)));
    EXPECT_TRUE(isNarrowNaN(kE4M3, code));
  }
  for (uint64_t code : {0x7D, 0x7E, 0x7F, 0xFD})
    EXPECT_TRUE(std::isnan(decodeNarrow(kE5M2, code)));
  EXPECT_FALSE(isNarrowNaN(kE5M2, 0x7C));
}

//===----------------------------------------------------------------------===//
// Encoding, against a search of the magnitudes
//===----------------------------------------------------------------------===//

static uint64_t searchCode(const Magnitudes &format, double value,
                           Rounding rounding, RandomBits random) {
  if (std::isnan(value))
    return format.format.nan;
  uint64_t sign = std::signbit(value) ? format.format.sign() : 0;
  double magnitude = std::fabs(value);
  const std::vector<double> &values = format.values;
  if (magnitude >= values.back())
    return sign | (values.size() - 1);
  auto above = llvm::upper_bound(values, magnitude);
  auto code = static_cast<uint64_t>(above - values.begin()) - 1;
  // The part of the way to the next value. It is exact, as the division is by a
  // power of two.
  double part = (magnitude - values[code]) / (values[code + 1] - values[code]);
  bool up = false;
  switch (rounding) {
  case Rounding::NearestEven:
    up = part > 0.5 || (part == 0.5 && code % 2 == 1);
    break;
  case Rounding::NearestAway:
    up = part >= 0.5;
    break;
  case Rounding::Zero:
    break;
  case Rounding::Down:
    up = part > 0 && sign;
    break;
  case Rounding::Up:
    up = part > 0 && !sign;
    break;
  case Rounding::Stochastic:
    up = std::ldexp(part, static_cast<int>(random.width)) + random.bits >=
         std::ldexp(1.0, static_cast<int>(random.width));
    break;
  }
  return sign | (code + up);
}

static void checkAll(double (*decode)(uint64_t), const char *source) {
  static constexpr Rounding kRoundings[] = {
      Rounding::NearestEven, Rounding::NearestAway, Rounding::Zero,
      Rounding::Down,        Rounding::Up,          Rounding::Stochastic};
  for (const Magnitudes &format : getFormats()) {
    for (Rounding rounding : kRoundings) {
      unsigned wrong = 0;
      for (uint64_t bits = 0; bits < 65536 && wrong < 3; ++bits) {
        double value = decode(bits);
        auto draw = static_cast<uint32_t>(bits * 40503 >> 4);
        RandomBits random = bits % 2 ? RandomBits{draw & 0xFF, 8}
                                     : RandomBits{draw & 0xFFFF, 16};
        uint64_t got = encodeNarrow(format.format, value, rounding, random);
        if (got == searchCode(format, value, rounding, random))
          continue;
        ++wrong;
        ADD_FAILURE() << source << " 0x" << std::hex << bits << " to "
                      << format.name << ", rounding "
                      << static_cast<int>(rounding) << ": got 0x" << got;
      }
    }
  }
}

// Every f16 and bf16 pattern into every format, by every rounding.
TEST(NarrowFormats, EncodeEveryF16) { checkAll(F16::decode, "f16"); }
TEST(NarrowFormats, EncodeEveryBF16) { checkAll(BF16::decode, "bf16"); }

// The ends of stochastic rounding: no bits round towards zero, all ones round
// up what lies in the last 2^-width of the way.
TEST(NarrowFormats, StochasticEnds) {
  EXPECT_EQ(encodeNarrow(kE2M1, 5.99, Rounding::Stochastic, {0, 8}), 6);
  EXPECT_EQ(encodeNarrow(kE2M1, 4 + 2 / 256.0, Rounding::Stochastic, {255, 8}),
            7);
  EXPECT_EQ(
      encodeNarrow(kE2M1, 4 + 1.9 / 256.0, Rounding::Stochastic, {255, 8}), 6);
  // Beyond the greatest value and far below the least one.
  EXPECT_EQ(encodeNarrow(kE2M1, -1e30, Rounding::Stochastic, {0, 16}), 0xF);
  EXPECT_EQ(encodeNarrow(kE4M3, 0x1p-149, Rounding::Stochastic, {0xFFFF, 16}),
            0);
}

//===----------------------------------------------------------------------===//
// Encoding, against ml_dtypes and torch
//===----------------------------------------------------------------------===//

/// PTX saturates where these casts give infinity or NaN, and its NaN is one.
static uint64_t toSatfinite(const FloatFormat &format, double value,
                            uint64_t code) {
  if (std::isnan(value))
    return format.nan;
  if (std::fabs(value) > decodeNarrow(format, format.maxFinite))
    return format.maxFinite | (code & format.sign());
  return code;
}

static void checkCasts(const std::string &archive,
                       const std::vector<double> &values) {
  for (const Magnitudes &format : getFormats()) {
    NpyNumbers expected =
        readNumbers(archive, std::string("out_mld_") + format.name);
    ASSERT_EQ(expected.values.size(), values.size());
    unsigned wrong = 0;
    for (size_t i = 0; i < values.size() && wrong < 3; ++i) {
      uint64_t code = toSatfinite(format.format, values[i], expected.values[i]);
      wrong += encodeNarrow(format.format, values[i]) != code;
      EXPECT_EQ(encodeNarrow(format.format, values[i]), code)
          << archive << " " << format.name << " " << values[i];
    }
  }
}

TEST(NarrowFormats, EqualMlDtypesOnBF16) {
  std::vector<double> values(65536);
  for (uint64_t bits = 0; bits < values.size(); ++bits)
    values[bits] = BF16::decode(bits);
  checkCasts("edge__casts_all_bf16", values);
}

TEST(NarrowFormats, EqualMlDtypesOnF32) {
  std::vector<double> values;
  for (uint64_t bits : readNumbers("edge__casts_f32", "in_x").values)
    values.push_back(F32::decode(bits));
  checkCasts("edge__casts_f32", values);
}

//===----------------------------------------------------------------------===//
// ue8m0
//===----------------------------------------------------------------------===//

TEST(NarrowFormats, DecodeScales) {
  for (int code = 0; code < 255; ++code)
    EXPECT_EQ(decodeUE8M0(static_cast<uint8_t>(code)),
              std::ldexp(1.0, code - 127));
  EXPECT_TRUE(std::isnan(decodeUE8M0(0xFF)));
}

// Scales that are rounded by .rz and .rp, around powers of two and at both
// ends.
TEST(NarrowFormats, EncodeScales) {
  const double infinity = std::numeric_limits<double>::infinity();
  struct {
    double value;
    int down, up;
  } cases[] = {
      {1, 127, 127},
      {std::nextafterf(1.f, 2.f), 127, 128},
      {std::nextafterf(1.f, 0.f), 126, 127},
      {3, 128, 129},
      {-3, 128, 129}, // no sign
      {0x1p-126, 1, 1},
      {0x1p-127, 0, 0},
      {0x1.8p-127, 0, 1}, // a subnormal of f32
      {0x1p-149, 0, 0},
      {0, 0, 0},
      {-0.0, 0, 0},
      {0x1p127, 254, 254},
      {0x1.8p127, 254, 254}, // .satfinite
      {infinity, 254, 254},
      {-infinity, 254, 254},
      {std::nan(""), 255, 255},
  };
  for (const auto &c : cases) {
    EXPECT_EQ(encodeUE8M0(c.value, Rounding::Zero, true), c.down) << c.value;
    EXPECT_EQ(encodeUE8M0(c.value, Rounding::Up, true), c.up) << c.value;
  }
  EXPECT_EQ(encodeUE8M0(0x1.8p127, Rounding::Zero, false), 254);
  EXPECT_EQ(encodeUE8M0(0x1.8p127, Rounding::Up, false), 255);
  EXPECT_EQ(encodeUE8M0(infinity, Rounding::Zero, false), 255);
}

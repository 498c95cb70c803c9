//===- E8M0Test.cpp - The scale codec of MX -------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Expected.h"

#include "blockscale/Numerics/Codec.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

static_assert(toBits(decodeE8M0(0)) == 0x00400000u);
static_assert(decodeE8M0(127) == 1.0f);
static_assert(decodeE8M0(254) == 0x1p127f);
static_assert(decodeE8M0Reciprocal(0) == 0x1p127f);
static_assert(toBits(decodeE8M0Reciprocal(254)) == 0x00400000u);

TEST(E8M0, DecodesEveryByte) {
  for (int byte = 0; byte < 255; ++byte) {
    float value = decodeE8M0(static_cast<uint8_t>(byte));
    EXPECT_EQ(value, std::ldexp(1.0, byte - 127));
    EXPECT_EQ(static_cast<double>(value) *
                  decodeE8M0Reciprocal(static_cast<uint8_t>(byte)),
              1.0);
  }
  EXPECT_TRUE(isNan(decodeE8M0(255)));
  EXPECT_TRUE(isNan(decodeE8M0Reciprocal(255)));
}

struct Conversion {
  float x;
  uint8_t up, upSaturated, down, downSaturated;
};

// The table of the PTX instructions cvt.rp and cvt.rz to ue8m0x2, measured with
// their CUDA host emulation.
TEST(E8M0, RoundsAsPtx) {
  const float infinity = __builtin_huge_valf();
  const Conversion table[] = {
      {0.0f, 0x00, 0x00, 0x00, 0x00},
      {0x1p-149f, 0x00, 0x00, 0x00, 0x00},
      {0x1p-127f, 0x00, 0x00, 0x00, 0x00},
      {0x1.8p-127f, 0x01, 0x01, 0x00, 0x00},
      {1.0f, 0x7F, 0x7F, 0x7F, 0x7F},
      {0x1.000002p0f, 0x80, 0x80, 0x7F, 0x7F},
      {1.5f, 0x80, 0x80, 0x7F, 0x7F},
      {0x1p127f, 0xFE, 0xFE, 0xFE, 0xFE},
      {0x1.000002p127f, 0xFF, 0xFE, 0xFE, 0xFE},
      {kFloatMax, 0xFF, 0xFE, 0xFE, 0xFE},
      {infinity, 0xFF, 0xFE, 0xFF, 0xFE},
      {fromBits(kFloatNanBits), 0xFF, 0xFF, 0xFF, 0xFF},
  };
  for (const Conversion &row : table) {
    EXPECT_EQ(encodeE8M0RoundUp(row.x, Overflow::Propagate), row.up) << row.x;
    EXPECT_EQ(encodeE8M0RoundUp(row.x, Overflow::Saturate), row.upSaturated)
        << row.x;
    EXPECT_EQ(encodeE8M0RoundDown(row.x, Overflow::Propagate), row.down)
        << row.x;
    EXPECT_EQ(encodeE8M0RoundDown(row.x, Overflow::Saturate), row.downSaturated)
        << row.x;
  }
}

// Other software casts to E8M0 by rounding to nearest; on powers of two that
// must agree with both directions.
TEST(E8M0, PowersOfTwoAreWhatCastsGive) {
  auto cast = readExpectedAs<uint8_t>("edge__casts_all_bf16", "out_mld_e8m0");
  ASSERT_EQ(cast.size(), 65536u);
  int powers = 0;
  for (int i = 0x0080; i < 0x7F80; i += 0x80) {
    float x = decodeBF16(static_cast<uint16_t>(i));
    EXPECT_EQ(encodeE8M0RoundUp(x, Overflow::Propagate), cast[i]) << x;
    EXPECT_EQ(encodeE8M0RoundDown(x, Overflow::Propagate), cast[i]) << x;
    EXPECT_EQ(decodeE8M0(cast[i]), x);
    ++powers;
  }
  EXPECT_EQ(powers, 254);
}

// Between powers of two the two directions are neighbours, and nearest is one
// of them.
TEST(E8M0, DirectionsBracketTheValue) {
  auto cast = readExpectedAs<uint8_t>("edge__casts_all_bf16", "out_mld_e8m0");
  ASSERT_EQ(cast.size(), 65536u);
  for (int i = 0x0041; i < 0x7F00; ++i) {
    float x = decodeBF16(static_cast<uint16_t>(i));
    uint8_t down = encodeE8M0RoundDown(x, Overflow::Propagate);
    uint8_t up = encodeE8M0RoundUp(x, Overflow::Propagate);
    EXPECT_LE(decodeE8M0(down), x);
    EXPECT_GE(decodeE8M0(up), x);
    EXPECT_LE(up - down, 1);
    EXPECT_TRUE(cast[i] == up || cast[i] == down) << x;
  }
}

} // namespace

//===- BlockScaleTest.cpp - Rules at the edges of block scales ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Matrix.h"

#include "blockscale/Numerics/Dequantize.h"
#include "blockscale/Numerics/Quantize.h"
#include "gtest/gtest.h"

#include <cmath>

using namespace blockscale::numerics;

namespace {

//===----------------------------------------------------------------------===//
// Zero blocks and floors
//===----------------------------------------------------------------------===//

static_assert(getE4M3ScaleByte(Recipe::Torchao, 0.0f, kOneLevel) == 0x08);
static_assert(getE4M3ScaleByte(Recipe::Mslk, 0.0f, kOneLevel) == 0x01);
static_assert(getE4M3ScaleByte(Recipe::Te, 0.0f, kOneLevel) == 0x00);
static_assert(getE4M3ScaleByte(Recipe::Modelopt, 0.0f, kOneLevel) == 0x38);
static_assert(getE4M3ScaleByte(Recipe::TorchaoTraining, 0.0f, kOneLevel) ==
              0x08);
// Half of the smallest E4M3 scale: only `te` has it underflow.
static_assert(getE4M3ScaleByte(Recipe::Torchao, 0x1p-8f, kOneLevel) == 0x08);
static_assert(getE4M3ScaleByte(Recipe::Mslk, 0x1p-8f, kOneLevel) == 0x01);
static_assert(getE4M3ScaleByte(Recipe::Te, 0x1p-8f, kOneLevel) == 0x00);
static_assert(getE4M3ScaleByte(Recipe::Modelopt, 0x1p-8f, kOneLevel) == 0x01);

// The scale byte the block amax asks for is the one its range needs.
static_assert(getE4M3ScaleByte(Recipe::Torchao, 2688.0f, kOneLevel) == 0x7E);
static_assert(getE4M3ScaleByte(Recipe::Te, 1e30f, kOneLevel) == 0x7E);

// Dividing by 6 and then by g, or once by 6 * g: with a tensor amax of 1.75 the
// quotients for this block lie on both sides of a tie.
constexpr uint8_t scaleByteOfTensor(Recipe recipe, float tensorAmax,
                                    float amax) {
  return getE4M3ScaleByte(
      recipe, amax,
      getGlobalFactors(recipe, GlobalScale::fromAmax(tensorAmax)));
}
static_assert(scaleByteOfTensor(Recipe::Torchao, 1.75f, 1.4375f) == 123);
static_assert(scaleByteOfTensor(Recipe::Modelopt, 1.75f, 1.4375f) == 124);
// Dividing by 6 and then multiplying by S, or by a sixth of S, or dividing by
// g.
static_assert(scaleByteOfTensor(Recipe::TorchaoTraining, 6.0f, 4.5f) == 0x7A);
static_assert(scaleByteOfTensor(Recipe::Te, 6.0f, 4.5f) == 0x7B);
static_assert(scaleByteOfTensor(Recipe::TorchaoTraining, 7.0f, 5.75f) == 0x7C);
static_assert(scaleByteOfTensor(Recipe::Torchao, 7.0f, 5.75f) == 0x7B);

// A block scale of 0 multiplies by the largest finite number.
static_assert(getElementFactor(Recipe::Te, 0x01) == 512.0f);
TEST(ElementFactor, TeZeroScale) {
  EXPECT_EQ(getElementFactor(Recipe::Te, 0x00), kFloatMax);
  EXPECT_EQ(quantizeElement(Recipe::Te, ElementFormat::E2M1, -0x1p-140f,
                            getElementFactor(Recipe::Te, 0x00)),
            8);
}

//===----------------------------------------------------------------------===//
// Zero and infinite tensors, two levels
//===----------------------------------------------------------------------===//

struct Outcome {
  uint8_t scale;
  uint8_t code;
};

Outcome quantizeUniform(Recipe recipe, float value, GlobalScale global) {
  float x[16];
  for (float &element : x)
    element = value;
  uint8_t codes[16];
  uint8_t scale = quantizeBlock(recipe, ElementFormat::E2M1,
                                getGlobalFactors(recipe, global), x, 16, codes);
  for (uint8_t code : codes)
    EXPECT_EQ(code, codes[0]);
  return {scale, codes[0]};
}

TEST(ZeroTensor, TorchaoAndModelOptGiveNan) {
  for (Recipe recipe : {Recipe::Torchao, Recipe::Modelopt}) {
    Outcome outcome =
        quantizeUniform(recipe, 0.0f, GlobalScale::fromAmax(0.0f));
    EXPECT_EQ(outcome.scale, kE4M3Nan) << getName(recipe);
    EXPECT_EQ(outcome.code, 7) << getName(recipe);
  }
}

TEST(ZeroTensor, RecipesOfAmaxesGiveZero) {
  Outcome training = quantizeUniform(Recipe::TorchaoTraining, 0.0f,
                                     GlobalScale::fromAmax(0.0f));
  EXPECT_EQ(training.scale, 0x08);
  EXPECT_EQ(training.code, 0);
  Outcome te = quantizeUniform(Recipe::Te, 0.0f, GlobalScale::fromAmax(0.0f));
  EXPECT_EQ(te.scale, 0x00);
  EXPECT_EQ(te.code, 0);
  Outcome mslk =
      quantizeUniform(Recipe::Mslk, 0.0f, GlobalScale::fromAmax(0.0f));
  EXPECT_EQ(mslk.scale, 0x01);
  EXPECT_EQ(mslk.code, 0);
}

TEST(NegativeZero, KeptByTorchaoAndMslk) {
  EXPECT_EQ(quantizeUniform(Recipe::TorchaoTraining, -0.0f, {}).code, 8);
  EXPECT_EQ(quantizeUniform(Recipe::Torchao, -0.0f, {}).code, 8);
  EXPECT_EQ(quantizeUniform(Recipe::Mslk, -0.0f, {}).code, 8);
  EXPECT_EQ(quantizeUniform(Recipe::Te, -0.0f, {}).code, 0);
  EXPECT_EQ(quantizeUniform(Recipe::Modelopt, -0.0f, {}).code, 0);
}

TEST(NanTensor, EveryRecipeGivesNanScales) {
  float nan = fromBits(kFloatNanBits);
  for (Recipe recipe : {Recipe::Torchao, Recipe::Mslk, Recipe::Te,
                        Recipe::Modelopt, Recipe::TorchaoTraining}) {
    Outcome outcome = quantizeUniform(recipe, 1.0f, GlobalScale::fromAmax(nan));
    EXPECT_EQ(outcome.scale, kE4M3Nan) << getName(recipe);
    EXPECT_EQ(outcome.code, 7) << getName(recipe);
  }
}

//===----------------------------------------------------------------------===//
// E8M0
//===----------------------------------------------------------------------===//

constexpr uint8_t mxByte(Recipe recipe, float amax) {
  return getE8M0ScaleByte(recipe, ElementFormat::E4M3, amax);
}

static_assert(mxByte(Recipe::Floor, 448.0f) == 127);
static_assert(mxByte(Recipe::Floor, 511.0f) == 127);
static_assert(mxByte(Recipe::Rceil, 448.0f) == 127);
static_assert(mxByte(Recipe::Rceil, 449.0f) == 128);
static_assert(mxByte(Recipe::Ceil, 256.0f) == 127);
static_assert(mxByte(Recipe::Ceil, 257.0f) == 128);
// 31/16 * 2^8 is half way between the E4M3 significands 15/8 and 16/8: up.
static_assert(mxByte(Recipe::Even, 496.0f) == 128);
static_assert(mxByte(Recipe::Even, 495.0f) == 127);
static_assert(mxByte(Recipe::Floor, 0.0f) == 0);
static_assert(mxByte(Recipe::Rceil, 0.0f) == 0);
static_assert(mxByte(Recipe::Even, kFloatMax) == 255);
// Truncating the rounded amax * 2^-8 would give byte 1.
static_assert(mxByte(Recipe::Floor, 0x1.fffffep-119f) == 0);
static_assert(mxByte(Recipe::Floor, 0x1p-118f) == 1);

TEST(E8M0Scale, Infinity) {
  for (Recipe recipe :
       {Recipe::Floor, Recipe::Rceil, Recipe::Ceil, Recipe::Even})
    EXPECT_EQ(mxByte(recipe, kInfinity), 255) << getName(recipe);
  EXPECT_EQ(mxByte(Recipe::RceilSat, kInfinity), 254);
}

// A block of byte 255 is NaN in all its elements, in every format.
TEST(E8M0Scale, NanBlockHasNanCodes) {
  const float x[2] = {-1.0f, kInfinity};
  for (ElementFormat format : kElementFormats) {
    uint8_t codes[2];
    EXPECT_EQ(quantizeBlock(Recipe::Rceil, format, kOneLevel, x, 2, codes),
              255);
    for (uint8_t code : codes)
      EXPECT_EQ(code, getFormatInfo(format).nanCode);
  }
}

//===----------------------------------------------------------------------===//
// Amax and dequantize
//===----------------------------------------------------------------------===//

static_assert([] {
  const float x[6] = {1.0f, 9.0f, -2.0f, 9.0f, 0.5f, 9.0f};
  return computeAmax(x, 3, 2) == 2.0f && computeAmax(x, 6) == 9.0f &&
         computeAmax(x, 0) == 0.0f;
}());

TEST(Amax, NanPropagatesFromAnyLane) {
  for (int lane = 0; lane < 4; ++lane) {
    float x[4] = {1.0f, kInfinity, -3.0f, 0.0f};
    x[lane] = fromBits(0xFF800001u);
    EXPECT_TRUE(isNan(computeAmax(x, 4))) << lane;
  }
}

// One of the two products overflows in one order and not in the other.
TEST(Dequantize, OrderOfProducts) {
  auto dequantize = [](Recipe recipe) {
    return dequantizeElement(recipe, ElementFormat::E2M1, /*code=*/1,
                             /*scale 448*/ 0x7E, /*decodeGlobal=*/0x1p120f);
  };
  EXPECT_EQ(dequantize(Recipe::Torchao), kInfinity);
  EXPECT_EQ(dequantize(Recipe::Mslk), kInfinity);
  EXPECT_EQ(dequantize(Recipe::Te), kInfinity);
  EXPECT_EQ(dequantize(Recipe::Modelopt), 224.0f * 0x1p120f);
}

static_assert(dequantizeElement(Recipe::Torchao, ElementFormat::E2M1, 0xF,
                                0x38) == -6.0f);
static_assert(dequantizeElement(Recipe::Rceil, ElementFormat::E4M3, 0x7E,
                                128) == 896.0f);

// The bytes of INT8 data, whose exponents begin where E8M0's do: at zero, below
// the least normal number, around the largest value and its end half a step
// above, and under the largest power of two.
TEST(BlockScale, BytesOfFixedPoint) {
  const float end = 127.5f / 64;
  const float amaxes[] = {
      0.0f,        0x1p-149f, end * 0x1p-127f, 0x1p-126f, 1.0f,
      127.0f / 64, end,       end * 0x1p127f,  HUGE_VALF, std::nanf("")};
  const std::pair<Recipe, std::vector<int>> rows[] = {
      {Recipe::Floor, {0, 0, 0, 1, 127, 127, 127, 254, 255, 255}},
      {Recipe::Rceil, {0, 0, 1, 1, 127, 127, 128, 255, 255, 255}},
      {Recipe::Ceil, {0, 1, 1, 1, 127, 128, 128, 255, 255, 255}},
      {Recipe::Even, {0, 0, 1, 1, 127, 127, 128, 255, 255, 255}},
      {Recipe::Tosa, {0, 0, 1, 1, 127, 127, 128, 254, 255, 255}}};
  for (const auto &[recipe, bytes] : rows)
    for (size_t i = 0; i < std::size(amaxes); ++i)
      EXPECT_EQ(getE8M0ScaleByte(recipe, ElementFormat::INT8, amaxes[i]),
                bytes[i])
          << getName(recipe) << " " << amaxes[i];
  // One step below the end, the scale stays.
  EXPECT_EQ(getE8M0ScaleByte(Recipe::Tosa, ElementFormat::INT8,
                             std::nextafter(end, 0.0f)),
            127);
  EXPECT_EQ(getE8M0ScaleByte(Recipe::Tosa, ElementFormat::INT8,
                             std::nextafter(end * 0x1p-127f, 0.0f)),
            0);
}

} // namespace

//===- ScaleConversionTest.cpp - MXFP4 under other scales -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/ScaleConversion.h"

#include "Values.h"

#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/Pack.h"

#include "llvm/ADT/STLExtras.h"

using namespace blockscale::checkpoint;
using namespace blockscale::numerics;

namespace {

double getMxValue(const std::vector<uint8_t> &codes,
                  const std::vector<uint8_t> &scales, int64_t index) {
  return static_cast<double>(
             decode(ElementFormat::E2M1, unpackCode(codes.data(), index))) *
         decodeE8M0(scales[index / 32]);
}

bool isSame(double a, double b) {
  return a == b || (std::isnan(a) && std::isnan(b));
}

TEST(ScaleConversion, MaxExponent) {
  auto find = [](const std::vector<uint8_t> &scales) {
    return findMaxExponent(scales.data(), static_cast<int64_t>(scales.size()));
  };
  EXPECT_EQ(find({120, 130, 0, 129}), 3);
  EXPECT_EQ(find({0, 1, 0}), -126);
  EXPECT_EQ(find({254}), 127);
  // NaN does not count, and nothing is 0.
  EXPECT_EQ(find({255, 3}), -124);
  EXPECT_EQ(find({255, 0}), 0);
  EXPECT_EQ(find({}), 0);
  std::vector<uint8_t> many(1 << 20, 7);
  many[999999] = 9;
  EXPECT_EQ(find(many), -118);
}

struct Nvfp4 {
  std::vector<uint8_t> codes, scales;
  double global = 0;
  uint64_t changed = 0;

  double getValue(int64_t index) const {
    return static_cast<double>(
               decode(ElementFormat::E2M1, unpackCode(codes.data(), index))) *
           decode(ElementFormat::E4M3, scales[index / 16]) * global;
  }
};

Nvfp4 toNvfp4(const std::vector<uint8_t> &codes,
              const std::vector<uint8_t> &scales, int maxExponent) {
  Nvfp4 result = {std::vector<uint8_t>(codes.size()),
                  std::vector<uint8_t>(2 * scales.size()),
                  getNvfp4GlobalScale(maxExponent), 0};
  result.changed = convertMxfp4ToNvfp4(
      static_cast<int64_t>(scales.size()), codes.data(), scales.data(),
      maxExponent, result.codes.data(), result.scales.data());
  return result;
}

// All 18 exponents that E4M3 has, in more blocks than a thread takes at a time,
// and NaN.
TEST(ScaleConversion, Nvfp4IsExactInItsRange) {
  constexpr int64_t blocks = 10000;
  std::vector<uint8_t> codes = makeBytes(16 * blocks), scales(blocks);
  for (int64_t i = 0; i < blocks; ++i)
    scales[i] = static_cast<uint8_t>(i % 19 == 18 ? 255 : 120 - i % 19);
  int maxExponent = findMaxExponent(scales.data(), blocks);
  EXPECT_EQ(maxExponent, -7);
  Nvfp4 found = toNvfp4(codes, scales, maxExponent);
  EXPECT_EQ(found.changed, 0u);
  EXPECT_EQ(found.codes, codes);
  EXPECT_EQ(found.global, 0x1p-15);
  // 2^8, and 2^-9.
  EXPECT_EQ(found.scales[0], 0x78);
  EXPECT_EQ(found.scales[2 * 17 + 1], 0x01);
  for (int64_t i = 0; i < 32 * blocks; ++i)
    ASSERT_TRUE(isSame(found.getValue(i), getMxValue(codes, scales, i))) << i;
}

// One exponent further, the largest code decides whether a block can stay: the
// scale is 2^-9 or more.
TEST(ScaleConversion, Nvfp4BeyondItsRange) {
  std::vector<uint8_t> codes(64), scales = {127, 109, 109, 109};
  // 6 times 2^-18; 3, 1 and -1 times; and zeros.
  codes[16] = 0x07;
  codes[32] = 0x25;
  codes[41] = 0x0A;
  Nvfp4 found = toNvfp4(codes, scales, 0);
  EXPECT_EQ(found.changed, 0u);
  // 6 = 3 * 2, 3 = 1.5 * 2, and 1 = 0.5 * 2.
  EXPECT_EQ(found.codes[16], 0x05);
  EXPECT_EQ(found.codes[32], 0x13);
  EXPECT_EQ(found.codes[41], 0x09);
  for (int64_t i = 2; i < 6; ++i)
    EXPECT_EQ(found.scales[i], 0x01);
  for (int64_t i = 0; i < 128; ++i)
    EXPECT_EQ(found.getValue(i), getMxValue(codes, scales, i)) << i;

  // 0.5 times it is a tie, which goes to 0.
  codes[48] = 0x01;
  found = toNvfp4(codes, scales, 0);
  EXPECT_EQ(found.changed, 1u);
  EXPECT_EQ(found.codes[48], 0x00);
  // 6 * 2^-20 is 0.75 under the least scale, a tie that goes to 1.
  scales[3] = 107;
  codes[48] = 0x07;
  found = toNvfp4(codes, scales, 0);
  EXPECT_EQ(found.changed, 1u);
  EXPECT_EQ(found.codes[48], 0x02);
}

// A larger exponent than the one that was given: the scale is of the amax, and
// at most 448.
TEST(ScaleConversion, Nvfp4AboveItsRange) {
  std::vector<uint8_t> codes(16, 0x11), scales = {128};
  Nvfp4 found = toNvfp4(codes, scales, 0);
  EXPECT_EQ(found.changed, 1u);
  // 2^8 / 6 is 44 in E4M3.
  EXPECT_EQ(decode(ElementFormat::E4M3, found.scales[0]), 44.0f);
  EXPECT_EQ(found.codes[0], 0x77);
  codes[0] = 0x07;
  found = toNvfp4(codes, scales, 0);
  EXPECT_EQ(found.changed, 1u);
  EXPECT_EQ(found.scales[0], 0x7E);
}

TEST(ScaleConversion, Nvfp4Ends) {
  std::vector<uint8_t> codes = makeBytes(288), scales(18);
  for (int first : {1, 234}) {
    for (int i = 0; i < 18; ++i)
      scales[i] = static_cast<uint8_t>(first + i);
    Nvfp4 found = toNvfp4(codes, scales, findMaxExponent(scales.data(), 18));
    EXPECT_EQ(found.changed, 0u);
    for (int64_t i = 0; i < 576; ++i)
      ASSERT_EQ(found.getValue(i), getMxValue(codes, scales, i)) << i;
  }
}

//===----------------------------------------------------------------------===//
// FP8
//===----------------------------------------------------------------------===//

struct Fp8 {
  Fp8Shape shape;
  std::vector<uint8_t> data;
  std::vector<float> scales;
  uint64_t changed = 0;

  int64_t getBlock(int64_t row, int64_t col) const {
    int64_t perRow = (shape.cols + shape.blockCols - 1) / shape.blockCols;
    return row / shape.blockRows * perRow + col / shape.blockCols;
  }
  double getValue(int64_t row, int64_t col) const {
    return static_cast<double>(
               decode(ElementFormat::E4M3, data[row * shape.cols + col])) *
           scales[getBlock(row, col)];
  }
};

Fp8 toFp8(const Fp8Shape &shape, const std::vector<uint8_t> &codes,
          const std::vector<uint8_t> &scales) {
  int64_t bands = (shape.rows + shape.blockRows - 1) / shape.blockRows;
  int64_t perRow = (shape.cols + shape.blockCols - 1) / shape.blockCols;
  Fp8 result = {shape, std::vector<uint8_t>(shape.rows * shape.cols),
                std::vector<float>(bands * perRow), 0};
  result.changed = convertMxfp4ToFp8(shape, codes.data(), scales.data(),
                                     result.data.data(), result.scales.data());
  return result;
}

/// The number of f32 blocks with other values than before. The others must be
/// rounded to nearest.
uint64_t countChanged(const Fp8 &found, const std::vector<uint8_t> &codes,
                      const std::vector<uint8_t> &scales) {
  std::vector<bool> changed(found.scales.size());
  const Fp8Shape &shape = found.shape;
  for (int64_t row = 0; row < shape.rows; ++row)
    for (int64_t col = 0; col < shape.cols; ++col) {
      double value = getMxValue(codes, scales, row * shape.cols + col);
      double result = found.getValue(row, col);
      if (isSame(value, result))
        continue;
      changed[found.getBlock(row, col)] = true;
      float scale = found.scales[found.getBlock(row, col)];
      EXPECT_EQ(found.data[row * shape.cols + col],
                encode(ElementFormat::E4M3, static_cast<float>(value / scale)))
          << row << ", " << col;
    }
  return llvm::count(changed, true);
}

// Exponents that are at most 14 apart, in blocks of all forms, with blocks at
// the edges that are smaller.
TEST(ScaleConversion, Fp8IsExactInItsRange) {
  constexpr int64_t rows = 37, cols = 160;
  std::vector<uint8_t> codes = makeBytes(rows * cols / 2);
  std::vector<uint8_t> scales = makeBytes(rows * cols / 32);
  for (uint8_t &scale : scales)
    scale = static_cast<uint8_t>(110 + scale % 15);
  for (Fp8Shape shape :
       {Fp8Shape{rows, cols, 1, 128}, Fp8Shape{rows, cols, 16, 64},
        Fp8Shape{rows, cols, 128, 128}, Fp8Shape{rows, cols, 1, 32}}) {
    Fp8 found = toFp8(shape, codes, scales);
    EXPECT_EQ(found.changed, 0u);
    EXPECT_EQ(countChanged(found, codes, scales), 0u);
  }
}

// The bound is sharp: 15 apart, 6 and 0.5 do not go together, but 4 and 1 do.
TEST(ScaleConversion, Fp8Bound) {
  std::vector<uint8_t> codes(32), scales = {127, 127 - 15};
  auto convert = [&](uint8_t first, uint8_t second) {
    codes[0] = first;
    codes[16] = second;
    Fp8 found = toFp8({1, 64, 1, 64}, codes, scales);
    EXPECT_EQ(found.changed, countChanged(found, codes, scales));
    return found.changed;
  };
  EXPECT_EQ(convert(0x07, 0x01), 1u);
  EXPECT_EQ(convert(0x07, 0x03), 1u);
  EXPECT_EQ(convert(0x07, 0x02), 0u);
  EXPECT_EQ(convert(0x0E, 0xA0), 0u);
  EXPECT_EQ(convert(0x05, 0x01), 0u);
  scales[1] = 127 - 14;
  EXPECT_EQ(convert(0x07, 0x09), 0u);
  // 1 and 0.5 go together where exponents are 17 apart, and no further.
  scales[1] = 127 - 16;
  EXPECT_EQ(convert(0x02, 0x01), 0u);
  scales[1] = 127 - 17;
  EXPECT_EQ(convert(0x02, 0x01), 1u);
}

// Exponents of all of E8M0, where most blocks change, and NaN.
TEST(ScaleConversion, Fp8AnyScales) {
  constexpr int64_t rows = 64, cols = 256;
  std::vector<uint8_t> codes = makeBytes(rows * cols / 2);
  std::vector<uint8_t> scales = makeBytes(rows * cols / 32);
  for (size_t i = 0; i < scales.size(); ++i)
    scales[i] = i % 5 == 0 ? 255 : static_cast<uint8_t>(100 + scales[i] % 25);
  Fp8 found = toFp8({rows, cols, 2, 64}, codes, scales);
  EXPECT_GT(found.changed, 0u);
  EXPECT_LT(found.changed, found.scales.size());
  EXPECT_EQ(countChanged(found, codes, scales), found.changed);
  // The ends of E8M0: scales of f32 reach further.
  for (uint8_t byte : {0, 1, 253, 254}) {
    std::vector<uint8_t> ends(scales.size(), byte);
    found = toFp8({rows, cols, 2, 64}, codes, ends);
    EXPECT_EQ(found.changed, 0u);
    EXPECT_EQ(countChanged(found, codes, ends), 0u);
  }
}

TEST(ScaleConversion, Fp8Zeros) {
  // Zeros keep their signs; NaN alone has no exponent.
  std::vector<uint8_t> codes(32, 0x80), scales = {7, 255};
  Fp8 found = toFp8({1, 64, 1, 64}, codes, scales);
  EXPECT_EQ(found.changed, 0u);
  EXPECT_EQ(found.scales[0], 1.0f);
  EXPECT_EQ(found.data[0], 0x00);
  EXPECT_EQ(found.data[1], 0x80);
  EXPECT_EQ(found.data[32], 0x7F);
}

} // namespace

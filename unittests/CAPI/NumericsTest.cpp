//===- NumericsTest.cpp - Buffers quantized from C ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Modules.h"

#include "blockscale-c/Numerics.h"

#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace {

struct Quantized {
  std::vector<uint8_t> data, scales;
};

blockscale_quantize_config getConfig(const char *recipe, const char *format,
                                     int64_t rows, int64_t cols,
                                     int64_t blockRows, int64_t blockCols) {
  blockscale_quantize_config config = blockscale_quantize_config_default();
  config.recipe = recipe;
  config.format = format;
  config.rows = rows;
  config.cols = cols;
  config.block_rows = blockRows;
  config.block_cols = blockCols;
  return config;
}

Quantized quantize(const blockscale_quantize_config &config,
                   const std::vector<float> &x) {
  size_t dataBytes = 0, scaleBytes = 0;
  EXPECT_EQ(blockscale_quantize_sizes(&config, &dataBytes, &scaleBytes),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  Quantized result = {std::vector<uint8_t>(dataBytes),
                      std::vector<uint8_t>(scaleBytes)};
  EXPECT_EQ(blockscale_quantize(&config, x.data(), result.data.data(),
                                dataBytes, result.scales.data(), scaleBytes),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  return result;
}

std::vector<float> makeValues(size_t count) {
  std::vector<float> values(count);
  for (size_t i = 0; i < count; ++i)
    values[i] = static_cast<float>(int(i * 7919 % 2003) - 1001) / 97.0f;
  return values;
}

/// What the compiled op gives for the same.
Quantized runCompiled(const blockscale_quantize_config &config,
                      const std::string &element, std::vector<float> x,
                      Quantized sizes) {
  auto type = [](int64_t rows, int64_t cols, const std::string &element) {
    return "tensor<" + std::to_string(rows) + "x" + std::to_string(cols) + "x" +
           element + ">";
  };
  int64_t bands = (config.rows + config.block_rows - 1) / config.block_rows;
  int64_t blocks = (config.cols + config.block_cols - 1) / config.block_cols;
  bool isNvfp4 = config.block_rows == 16 || config.block_cols == 16;
  std::string from = type(config.rows, config.cols, "f32");
  std::string to = type(config.rows, config.cols, element) + ", " +
                   type(bands, blocks, isNvfp4 ? "f8E4M3FN" : "f8E8M0FNU");
  bool hasAmax = config.global == BLOCKSCALE_GLOBAL_AMAX;
  std::string source = "func.func @f(%x: " + from + ", %g: f32) -> (" + to +
                       ") {\n%d, %s = blockscale.quantize %x block [" +
                       std::to_string(config.block_rows) + ", " +
                       std::to_string(config.block_cols) + "] recipe " +
                       config.recipe +
                       (hasAmax ? " global_amax(%g : f32)" : "") + " : " +
                       from + " -> " + to + "\nreturn %d, %s : " + to + "\n}";
  blockscale_executable_config how = blockscale_executable_config_default();
  blockscale_executable *executable = nullptr;
  EXPECT_EQ(blockscale_executable_create(source.data(), source.size(), &how,
                                         &executable),
            BLOCKSCALE_OK)
      << blockscale_last_error();
  int64_t shape[] = {config.rows, config.cols}, scales[] = {bands, blocks};
  int64_t stored[] = {config.rows,
                      static_cast<int64_t>(sizes.data.size()) / config.rows};
  float global = config.global_value;
  blockscale_array arguments[] = {
      {x.data(), BLOCKSCALE_FLOAT32, 2, shape, nullptr},
      {&global, BLOCKSCALE_FLOAT32, 0, nullptr, nullptr}};
  blockscale_array results[] = {
      {sizes.data.data(), BLOCKSCALE_UINT8, 2, stored, nullptr},
      {sizes.scales.data(), BLOCKSCALE_UINT8, 2, scales, nullptr}};
  EXPECT_EQ(
      blockscale_executable_call(executable, arguments, 2, results, 2, nullptr),
      BLOCKSCALE_OK)
      << blockscale_last_error();
  blockscale_executable_destroy(executable);
  return sizes;
}

struct Case {
  const char *recipe, *format, *element;
  int64_t rows, cols, blockRows, blockCols;
};

/// Each recipe, format and block somewhere, tails among them.
const Case kCases[] = {
    {"torchao", "e2m1", "f4E2M1FN", 8, 64, 1, 16},
    {"mslk", "e2m1", "f4E2M1FN", 32, 64, 16, 16},
    {"te", "e2m1", "f4E2M1FN", 5, 42, 1, 16},
    {"modelopt", "e2m1", "f4E2M1FN", 8, 32, 1, 16},
    {"te_4over6_mae", "e2m1", "f4E2M1FN", 8, 32, 1, 16},
    {"te_4over6_mse", "e2m1", "f4E2M1FN", 8, 40, 1, 16},
    {"te", "e2m1", "f4E2M1FN", 20, 40, 16, 16},
    {"floor", "e4m3", "f8E4M3FN", 8, 64, 1, 32},
    {"rceil", "e5m2", "f8E5M2", 64, 32, 32, 1},
    {"rceil_sat", "e4m3", "f8E4M3FN", 64, 64, 32, 32},
    {"ceil", "e2m3", "f6E2M3FN", 8, 64, 1, 32},
    {"even", "e3m2", "f6E3M2FN", 8, 64, 1, 32},
    {"rceil", "e2m1", "f4E2M1FN", 32, 32, 32, 32},
    {"compressed_tensors", "e2m1", "f4E2M1FN", 8, 64, 1, 16},
    {"compressed_tensors", "e4m3", "f8E4M3FN", 8, 64, 1, 32},
    {"compressed_tensors", "e2m1", "f4E2M1FN", 64, 64, 32, 32}};

TEST(NumericsTest, EqualsTheCompiledOps) {
  for (const Case &c : kCases) {
    blockscale_quantize_config config =
        getConfig(c.recipe, c.format, c.rows, c.cols, c.blockRows, c.blockCols);
    if (c.blockRows == 16 || c.blockCols == 16) {
      config.global = BLOCKSCALE_GLOBAL_AMAX;
      config.global_value = 11.0f;
    }
    std::vector<float> x = makeValues(c.rows * c.cols);
    Quantized expected = quantize(config, x);
    Quantized compiled =
        runCompiled(config, c.element, x,
                    {std::vector<uint8_t>(expected.data.size()),
                     std::vector<uint8_t>(expected.scales.size())});
    EXPECT_EQ(compiled.data, expected.data) << c.recipe << " " << c.format;
    EXPECT_EQ(compiled.scales, expected.scales) << c.recipe << " " << c.format;
  }
}

TEST(NumericsTest, DequantizesWhatIsExact) {
  // Multiples of the codes' values by powers of two are kept.
  std::vector<float> x = {0, 0.5f, 1, -1.5f, 2, -3, 4, 6,
                          0, 0,    0, 0,     0, 0,  0, -6};
  blockscale_quantize_config config = getConfig(nullptr, nullptr, 1, 16, 1, 16);
  Quantized quantized = quantize(config, x);
  EXPECT_EQ(quantized.scales, std::vector<uint8_t>{0x38});
  EXPECT_EQ(quantized.data[0], 0x10);
  std::vector<float> back(16);
  ASSERT_EQ(blockscale_dequantize(&config, quantized.data.data(), 8,
                                  quantized.scales.data(), 1, back.data(), 16),
            BLOCKSCALE_OK);
  EXPECT_EQ(back, x);
}

TEST(NumericsTest, TakesBf16) {
  std::vector<float> x = makeValues(32);
  std::vector<uint16_t> codes;
  for (float &value : x) {
    uint32_t bits;
    std::memcpy(&bits, &value, 4);
    codes.push_back(bits >> 16);
    bits &= 0xFFFF0000u;
    std::memcpy(&value, &bits, 4);
  }
  blockscale_quantize_config config = getConfig("even", "e4m3", 1, 32, 1, 32);
  Quantized expected = quantize(config, x), found = expected;
  found.data.assign(32, 0);
  config.input = BLOCKSCALE_INPUT_BF16;
  ASSERT_EQ(blockscale_quantize(&config, codes.data(), found.data.data(), 32,
                                found.scales.data(), 1),
            BLOCKSCALE_OK);
  EXPECT_EQ(found.data, expected.data);
}

// Multiples of 1/16 below 2 in f16, whose codes are those of f32 cut short.
TEST(NumericsTest, TakesF16) {
  std::vector<float> x;
  std::vector<uint16_t> codes;
  for (int i = 0; i < 32; ++i) {
    x.push_back((i % 2 ? -1.0f : 1.0f) * (1.0f + static_cast<float>(i) / 32));
    uint32_t bits;
    std::memcpy(&bits, &x.back(), 4);
    // The exponent of 1.0 is 127 in f32 and 15 in f16.
    codes.push_back((bits >> 16 & 0x8000u) | 15u << 10 | (bits >> 13 & 0x3FFu));
  }
  blockscale_quantize_config config = getConfig("even", "e4m3", 1, 32, 1, 32);
  Quantized expected = quantize(config, x), found = expected;
  found.data.assign(32, 0);
  config.input = BLOCKSCALE_INPUT_F16;
  ASSERT_EQ(blockscale_quantize(&config, codes.data(), found.data.data(), 32,
                                found.scales.data(), 1),
            BLOCKSCALE_OK);
  EXPECT_EQ(found.data, expected.data);
}

void expectError(const blockscale_quantize_config &config,
                 const std::string &message) {
  size_t data = 0, scales = 0;
  EXPECT_EQ(blockscale_quantize_sizes(&config, &data, &scales),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(), message));
}

TEST(NumericsTest, ConfigurationsAreChecked) {
  expectError(getConfig("fast", nullptr, 1, 16, 1, 16), "but got 'fast'");
  expectError(getConfig(nullptr, "e1m2", 1, 16, 1, 16), "but got 'e1m2'");
  expectError(getConfig("te", nullptr, 1, 16, 1, 32), "but got 1x32");
  expectError(getConfig("floor", nullptr, 1, 16, 0, 0), "but got 0x0");
  expectError(getConfig("te_4over6_mae", nullptr, 16, 16, 16, 16),
              "expected block to be 1x16");
  expectError(getConfig("te", "e4m3", 1, 16, 1, 16), "but got e4m3");
  expectError(getConfig("compressed_tensors", "e5m2", 1, 32, 1, 32),
              "expected format e2m1 or e2m3 or e4m3 with recipe "
              "compressed_tensors, but got e5m2");
  expectError(getConfig("torchao", nullptr, 1, 24, 1, 16),
              "multiple of 16 with recipe torchao, but got 24");
  expectError(getConfig("floor", nullptr, 33, 32, 32, 32),
              "rows to be a multiple of 32");
  expectError(getConfig("te", nullptr, -1, 16, 1, 16), "but got -1");
  expectError(getConfig("te", nullptr, int64_t(1) << 40, 16, 1, 16), "2^31");
  blockscale_quantize_config config = getConfig("te", nullptr, 1, 16, 1, 16);
  config.global = BLOCKSCALE_GLOBAL_AMAX;
  config.global_value = std::numeric_limits<float>::quiet_NaN();
  expectError(config, "but got NaN");
  config.global = static_cast<blockscale_global>(7);
  expectError(config, "but got 7");
  config = getConfig("te", nullptr, 1, 16, 1, 16);
  config.input = static_cast<blockscale_input>(5);
  expectError(config, "expected input to be 0, 1 or 2, but got 5");
  float x[16] = {}, scale = 0;
  uint8_t codes[8] = {}, scales[1] = {};
  EXPECT_EQ(blockscale_dequantize(&config, codes, 8, scales, 1, x, 16),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_global_encode_scale("te", config.input, 1, &scale),
            BLOCKSCALE_INVALID_ARGUMENT);
  config = getConfig("floor", nullptr, 1, 32, 1, 32);
  config.global = BLOCKSCALE_GLOBAL_DECODE_SCALE;
  expectError(config, "no global scale");
  EXPECT_EQ(blockscale_quantize_sizes(nullptr, nullptr, nullptr),
            BLOCKSCALE_INVALID_ARGUMENT);
}

TEST(NumericsTest, BuffersAreChecked) {
  blockscale_quantize_config config = getConfig("te", nullptr, 1, 16, 1, 16);
  float x[16] = {};
  uint8_t data[8], scales[1];
  auto run = [&](const void *from, void *to, size_t bytes, void *scale) {
    return blockscale_quantize(&config, from, to, bytes, scale, 1);
  };
  EXPECT_EQ(run(x, data, 8, scales), BLOCKSCALE_OK);
  EXPECT_EQ(run(x, data, 7, scales), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(),
                       "expected data_bytes to be 8, but got 7"));
  EXPECT_EQ(run(nullptr, data, 8, scales), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(run(x, nullptr, 8, scales), BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(run(x, data, 8, nullptr), BLOCKSCALE_INVALID_ARGUMENT);
  config.rows = 0;
  EXPECT_EQ(blockscale_dequantize(&config, nullptr, 0, nullptr, 0, nullptr, 0),
            BLOCKSCALE_OK);
  EXPECT_EQ(blockscale_dequantize(&config, nullptr, 0, nullptr, 0, x, 16),
            BLOCKSCALE_INVALID_ARGUMENT);
}

// Codes would be computed of codes, and tiles brought from zeros.
TEST(NumericsTest, ResultsOverlapNothing) {
  blockscale_quantize_config config = getConfig("te", nullptr, 1, 16, 1, 16);
  float x[16 + 1] = {};
  auto *bytes = reinterpret_cast<uint8_t *>(x);
  uint8_t data[8] = {}, scales[1] = {};
  EXPECT_EQ(blockscale_quantize(&config, x, bytes + 60, 8, scales, 1),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "expected data in memory of its own, but it overlaps x");
  EXPECT_EQ(blockscale_quantize(&config, x, data, 8, data + 7, 1),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "expected scales in memory of its own, but it overlaps data");
  EXPECT_EQ(blockscale_quantize(&config, x, bytes + 64, 4, scales, 1),
            BLOCKSCALE_INVALID_ARGUMENT);
  // What is read may overlap, and neighbours do not.
  EXPECT_EQ(blockscale_quantize(&config, x, data, 8, bytes + 64, 1),
            BLOCKSCALE_OK);
  EXPECT_EQ(blockscale_dequantize(&config, bytes, 8, scales, 1, x, 16),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_dequantize(&config, data, 8, data, 1, x, 16),
            BLOCKSCALE_OK);

  std::vector<uint8_t> tiles(512, 1);
  EXPECT_EQ(blockscale_swizzle(tiles.data(), 128, 4, tiles.data(), 512),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(
      blockscale_last_error(),
      "expected swizzled in memory of its own, but it overlaps linear");
  EXPECT_EQ(blockscale_unswizzle(tiles.data(), 512, 128, 4, tiles.data()),
            BLOCKSCALE_INVALID_ARGUMENT);
  for (const char *layout : {"swizzle_128x4", "swizzle_8x4"}) {
    EXPECT_EQ(
        blockscale_to_layout(layout, tiles.data(), 128, 4, tiles.data(), 512),
        BLOCKSCALE_INVALID_ARGUMENT);
    EXPECT_EQ(
        blockscale_from_layout(layout, tiles.data(), 512, 128, 4, tiles.data()),
        BLOCKSCALE_INVALID_ARGUMENT);
  }
  EXPECT_EQ(tiles, std::vector<uint8_t>(512, 1));
}

// The list of recipes has each once, and ends.
TEST(NumericsTest, RecipesAreListed) {
  std::set<std::string> names;
  size_t count = 0;
  for (; const char *name = blockscale_recipe_name(count); ++count) {
    names.insert(name);
    float scale;
    bool isNvfp4 =
        blockscale_global_decode_scale(name, 1.0f, &scale) == BLOCKSCALE_OK;
    EXPECT_EQ(isNvfp4 || contains(blockscale_last_error(), "recipe of NVFP4"),
              true)
        << name;
  }
  EXPECT_EQ(names.size(), count);
  EXPECT_EQ(names.count("torchao") + names.count("compressed_tensors"), 2u);
  EXPECT_EQ(blockscale_recipe_name(count + 1000), nullptr);
}

// The scale of an x of bf16 is rounded to bf16 before its cast.
TEST(NumericsTest, RoundsToTheTypeOfX) {
  // 1.75 / 6 is 0.29166667, which is 0.291015625 or 0.29296875 in bf16.
  std::vector<float> x(16, 1.75f);
  std::vector<uint16_t> codes(16, 0x3FE0);
  blockscale_quantize_config config =
      getConfig("compressed_tensors", "e2m1", 1, 16, 1, 16);
  config.global = BLOCKSCALE_GLOBAL_DECODE_SCALE;
  // 0.2916667 * S lies just above the tie 17 of E4M3, 0.291015625 * S below it.
  config.global_value = 0.29166667f / 17.001f;
  Quantized single = quantize(config, x), half = single;
  config.input = BLOCKSCALE_INPUT_BF16;
  ASSERT_EQ(blockscale_quantize(&config, codes.data(), half.data.data(), 8,
                                half.scales.data(), 1),
            BLOCKSCALE_OK);
  EXPECT_EQ(single.scales[0], 0x59); // 18
  EXPECT_EQ(half.scales[0], 0x58);   // 16
}

TEST(NumericsTest, GlobalScales) {
  float scale = 0;
  EXPECT_EQ(blockscale_global_decode_scale("torchao", 2688.0f, &scale),
            BLOCKSCALE_OK);
  EXPECT_EQ(scale, 1.0f);
  EXPECT_EQ(blockscale_global_decode_scale("floor", 1.0f, &scale),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_global_decode_scale("te", std::nanf(""), &scale),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_global_decode_scale(nullptr, 1.0f, &scale),
            BLOCKSCALE_INVALID_ARGUMENT);
}

TEST(NumericsTest, NonzeroAmaxes) {
  EXPECT_EQ(blockscale_nonzero_amax(0.0f), 2688.0f);
  EXPECT_EQ(blockscale_nonzero_amax(0x1p-149f), 2688.0f);
  EXPECT_EQ(blockscale_nonzero_amax(0x1p-126f), 0x1p-126f);
  EXPECT_EQ(blockscale_nonzero_amax(7.0f), 7.0f);
  EXPECT_TRUE(std::isnan(blockscale_nonzero_amax(std::nanf(""))));
}

// The type of the tensor matters to the recipe that computes in it alone.
TEST(NumericsTest, EncodeScales) {
  float single = 0, half = 0, other = 0;
  EXPECT_EQ(blockscale_global_encode_scale("compressed_tensors",
                                           BLOCKSCALE_INPUT_F32, 3.0f, &single),
            BLOCKSCALE_OK);
  EXPECT_EQ(single, 1.0f / 3.0f * 2688.0f);
  EXPECT_EQ(blockscale_global_encode_scale("compressed_tensors",
                                           BLOCKSCALE_INPUT_BF16, 3.0f, &half),
            BLOCKSCALE_OK);
  // 1 / 3 is 0.333984375 in bf16, and 897.75 is 896 there.
  EXPECT_EQ(half, 896.0f);
  EXPECT_EQ(
      blockscale_global_encode_scale("te", BLOCKSCALE_INPUT_BF16, 3.0f, &other),
      BLOCKSCALE_OK);
  EXPECT_EQ(other, 2688.0f / 3.0f);
  EXPECT_EQ(blockscale_global_encode_scale(
                "te", static_cast<blockscale_input>(3), 3.0f, &other),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_TRUE(contains(blockscale_last_error(),
                       "expected input to be 0, 1 or 2, but got 3"));
  EXPECT_EQ(blockscale_global_encode_scale("rceil", BLOCKSCALE_INPUT_F32, 3.0f,
                                           &other),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(
      blockscale_global_encode_scale("te", BLOCKSCALE_INPUT_F32, 3.0f, nullptr),
      BLOCKSCALE_INVALID_ARGUMENT);
}

TEST(NumericsTest, Swizzles) {
  // The numbers are read off the picture of the layout in docs/Numerics.md.
  EXPECT_EQ(blockscale_swizzled_size(130, 5), 4 * 512);
  EXPECT_EQ(blockscale_swizzled_offset(130, 5, 33, 1), 21);
  EXPECT_EQ(blockscale_swizzled_offset(130, 5, 129, 4), 3 * 512 + 16);
  EXPECT_EQ(blockscale_swizzled_offset(130, 5, 130, 0), -1);
  EXPECT_EQ(blockscale_swizzled_offset(130, 5, 0, -1), -1);
  EXPECT_EQ(blockscale_swizzled_size(-1, 5), -1);

  std::vector<uint8_t> linear(130 * 5), tiles(4 * 512, 0xEE), back(130 * 5);
  for (size_t i = 0; i < linear.size(); ++i)
    linear[i] = static_cast<uint8_t>(i * 7 + 1);
  ASSERT_EQ(blockscale_swizzle(linear.data(), 130, 5, tiles.data(), 4 * 512),
            BLOCKSCALE_OK);
  EXPECT_EQ(tiles[21], linear[33 * 5 + 1]);
  EXPECT_EQ(tiles[512 + 1], 0); // column 5, padding
  ASSERT_EQ(blockscale_unswizzle(tiles.data(), 4 * 512, 130, 5, back.data()),
            BLOCKSCALE_OK);
  EXPECT_EQ(back, linear);
  EXPECT_EQ(blockscale_swizzle(linear.data(), 130, 5, tiles.data(), 512),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_swizzle(nullptr, 130, 5, tiles.data(), 4 * 512),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_swizzle(linear.data(), -130, 5, tiles.data(), 0),
            BLOCKSCALE_INVALID_ARGUMENT);
}

TEST(NumericsTest, Layouts) {
  // Tiles of eight rows and four columns, and the names of both layouts.
  EXPECT_EQ(blockscale_layout_size("swizzle_8x4", 9, 5), 4 * 32);
  EXPECT_EQ(blockscale_layout_offset("swizzle_8x4", 9, 5, 7, 3), 31);
  EXPECT_EQ(blockscale_layout_offset("swizzle_8x4", 9, 5, 8, 4), 3 * 32);
  EXPECT_EQ(blockscale_layout_offset("swizzle_8x4", 9, 5, 9, 4), -1);
  EXPECT_EQ(blockscale_layout_offset("swizzle_128x4", 130, 5, 33, 1), 21);
  EXPECT_EQ(blockscale_layout_size("tiles", 9, 5), -1);
  EXPECT_EQ(blockscale_layout_size(nullptr, 9, 5), -1);
  EXPECT_EQ(blockscale_layout_offset("tiles", 9, 5, 0, 0), -1);

  std::vector<uint8_t> linear(9 * 5), tiles(4 * 32, 0xEE), back(9 * 5);
  for (size_t i = 0; i < linear.size(); ++i)
    linear[i] = static_cast<uint8_t>(i + 1);
  ASSERT_EQ(blockscale_to_layout("swizzle_8x4", linear.data(), 9, 5,
                                 tiles.data(), tiles.size()),
            BLOCKSCALE_OK);
  EXPECT_EQ(tiles[31], linear[7 * 5 + 3]);
  EXPECT_EQ(tiles[32 + 1], 0); // column 5, padding
  ASSERT_EQ(blockscale_from_layout("swizzle_8x4", tiles.data(), tiles.size(), 9,
                                   5, back.data()),
            BLOCKSCALE_OK);
  EXPECT_EQ(back, linear);
  EXPECT_EQ(blockscale_to_layout("tiles", linear.data(), 9, 5, tiles.data(),
                                 tiles.size()),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "expected layout to be one of swizzle_128x4, swizzle_8x4, but "
               "got 'tiles'");
  EXPECT_EQ(blockscale_from_layout(nullptr, tiles.data(), tiles.size(), 9, 5,
                                   back.data()),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_EQ(blockscale_to_layout("swizzle_8x4", linear.data(), 9, 5,
                                 tiles.data(), 32),
            BLOCKSCALE_INVALID_ARGUMENT);
  EXPECT_STREQ(blockscale_last_error(),
               "expected tiles_bytes to be 128, but got 32");
}

} // namespace

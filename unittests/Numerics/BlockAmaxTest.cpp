//===- BlockAmaxTest.cpp - Blocks of every bf16 amax ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Scale byte and first four codes of a block that holds bf16 pattern i, for all
// 65536 patterns. Set "one": lanes i, 1.0, -0, 0x0001, 0 ..; set "solo": lanes
// i, i without its low three bits (0 where that is infinity or NaN), -0, 0 ...
//
//===----------------------------------------------------------------------===//

#include "Expected.h"

#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/Quantize.h"

using namespace blockscale::numerics;

namespace {

constexpr int kPatterns = 65536;
constexpr int kLanes = 4;

struct Block {
  float lanes[32] = {};
};

Block makeBlock(const std::string &set, int pattern) {
  auto bits = static_cast<uint16_t>(pattern);
  Block block;
  block.lanes[0] = decodeBF16(bits);
  block.lanes[2] = -0.0f;
  if (set == "one") {
    block.lanes[1] = 1.0f;
    block.lanes[3] = decodeBF16(0x0001);
  } else {
    float coarse = decodeBF16(bits & 0xFFF8);
    block.lanes[1] = isNan(coarse) || isInfinity(coarse) ? 0.0f : coarse;
  }
  return block;
}

/// Which patterns of an array to compare.
using Filter = bool (*)(float lane);
bool isAny(float) { return true; }
bool isNotNan(float lane) { return !isNan(lane); }

void expectBlocks(const std::string &array, Recipe recipe, GlobalScale global,
                  Filter filter = isAny) {
  constexpr const char *kArchive = "edge__block_amax_all_bf16";
  ElementFormat format =
      isNvfp4(recipe) ? ElementFormat::E2M1 : ElementFormat::E4M3;
  ScaleFormat scaleFormat = getScaleFormat(recipe);
  GlobalFactors factors = getGlobalFactors(recipe, global);
  for (const char *set : {"one", "solo"}) {
    std::string prefix = std::string("out_") + set + "_" + array;
    auto scales = readExpectedAs<uint8_t>(kArchive, prefix + "_scale");
    auto codes = readExpectedAs<uint8_t>(kArchive, prefix + "_q4");
    ASSERT_EQ(scales.size(), static_cast<size_t>(kPatterns));
    ASSERT_EQ(codes.size(), static_cast<size_t>(kPatterns * kLanes));
    for (int i = 0; i < kPatterns; ++i) {
      Block block = makeBlock(set, i);
      if (!filter(block.lanes[0]))
        continue;
      uint8_t got[32];
      uint8_t scale =
          quantizeBlock(recipe, format, factors, block.lanes,
                        getBlockFormat(getScaleFormat(recipe)).blockSize, got);
      if (isNanScale(scaleFormat, scales[i])) {
        ASSERT_TRUE(isNanScale(scaleFormat, scale)) << prefix << " " << i;
      } else {
        ASSERT_EQ(scale, scales[i]) << prefix << " " << i;
      }
      // Codes born of NaN are open, except that MX data has NaN codes.
      bool isNanBlock = isNanScale(scaleFormat, scale);
      for (int lane = 0; lane < kLanes; ++lane) {
        uint8_t want = codes[i * kLanes + lane];
        if (isNanBlock && isNvfp4(recipe)) {
          ASSERT_EQ(got[lane], 7) << prefix << " " << i;
        } else if (isNanCode(format, want)) {
          ASSERT_EQ(got[lane], 0x7F) << prefix << " " << i;
        } else {
          ASSERT_EQ(got[lane], want) << prefix << " " << i << " " << lane;
        }
      }
    }
  }
}

TEST(BlockAmax, TorchaoOneLevel) {
  expectBlocks("nv_ao_single", Recipe::Torchao, {});
}

TEST(BlockAmax, TorchaoDecodeScaleOne) {
  expectBlocks("nv_ao_pts1", Recipe::Torchao,
               GlobalScale::fromDecodeScale(1.0f));
}

TEST(BlockAmax, TorchaoDecodeScale) {
  expectBlocks("nv_ao_pts2m10", Recipe::Torchao,
               GlobalScale::fromDecodeScale(0x1p-10f));
}

TEST(BlockAmax, Te) {
  expectBlocks("nv_te_amax2688", Recipe::Te, GlobalScale::fromAmax(2688.0f));
}

TEST(BlockAmax, ModelOpt) {
  expectBlocks("nv_mo_s2one", Recipe::Modelopt,
               GlobalScale::fromDecodeScale(1.0f));
}

TEST(BlockAmax, Floor) { expectBlocks("mx_aoaug26_floor", Recipe::Floor, {}); }
TEST(BlockAmax, Rceil) { expectBlocks("mx_aoaug26_rceil", Recipe::Rceil, {}); }
TEST(BlockAmax, Ceil) { expectBlocks("mx_aoaug26_ceil", Recipe::Ceil, {}); }
TEST(BlockAmax, Even) { expectBlocks("mx_aoaug26_even", Recipe::Even, {}); }

// ModelOpt's MXFP8 saturates its scale too. It loses NaN in the scale, where
// the recipe follows TransformerEngine.
TEST(BlockAmax, RceilSatIsModelOptButForNan) {
  expectBlocks("mx_mo_rceil", Recipe::RceilSat, {}, isNotNan);
}

TEST(BlockAmax, RceilSatOfNan) {
  Block block = makeBlock("one", 0x7FC0);
  uint8_t codes[32];
  EXPECT_EQ(quantizeBlock(Recipe::RceilSat, ElementFormat::E5M2, kOneLevel,
                          block.lanes, 32, codes),
            255);
  for (uint8_t code : codes)
    EXPECT_EQ(code, 0x7F);
}

// An absent global scale, a decode scale of 1, and for `te` an amax that gives
// S = 1, are the same bytes in every recipe.
TEST(BlockAmax, AbsentGlobalScaleIsOne) {
  for (Recipe recipe : kRecipes) {
    GlobalFactors absent = getGlobalFactors(recipe, {});
    GlobalFactors one =
        getGlobalFactors(recipe, GlobalScale::fromDecodeScale(1.0f));
    for (int i = 0; i < kPatterns; ++i) {
      Block block = makeBlock("solo", i);
      uint8_t codes[32], codesOne[32];
      int size = getBlockFormat(getScaleFormat(recipe)).blockSize;
      ASSERT_EQ(quantizeBlock(recipe, ElementFormat::E2M1, absent, block.lanes,
                              size, codes),
                quantizeBlock(recipe, ElementFormat::E2M1, one, block.lanes,
                              size, codesOne));
      for (int lane = 0; lane < kLanes; ++lane)
        ASSERT_EQ(codes[lane], codesOne[lane]) << getName(recipe) << " " << i;
    }
  }
}

} // namespace

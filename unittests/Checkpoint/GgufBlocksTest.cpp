//===- GgufBlocksTest.cpp - MXFP4 and NVFP4 as GGUF stores them -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/GgufBlocks.h"

#include "Values.h"

#include "blockscale/Numerics/Ggml.h"
#include "blockscale/Numerics/Pack.h"

using namespace blockscale::checkpoint;
using namespace blockscale::numerics;

namespace {

constexpr GgufBlockFormat kFormats[] = {kGgufMxfp4, kGgufNvfp4};

/// Code `index` of packed blocks: in a group, the lower half of the elements is
/// in the low halves of bytes.
uint8_t getPackedCode(const GgufBlockFormat &format,
                      const std::vector<uint8_t> &packed, int64_t index) {
  int64_t block = index / format.blockElements;
  int64_t inBlock = index % format.blockElements;
  int64_t group = inBlock / format.groupElements;
  int64_t place = inBlock % format.groupElements;
  int64_t half = format.groupElements / 2;
  uint8_t byte = packed[block * format.getBlockBytes() +
                        format.getScaleCount() + group * half + place % half];
  return place < half ? byte & 0xF : byte >> 4;
}

uint8_t getPackedScale(const GgufBlockFormat &format,
                       const std::vector<uint8_t> &packed, int64_t index) {
  int64_t count = format.getScaleCount();
  return packed[index / count * format.getBlockBytes() + index % count];
}

// More blocks than a thread takes at a time.
constexpr int64_t kBlocks = 5000;

TEST(GgufBlocks, PlacesOfCodesAndScales) {
  for (const GgufBlockFormat &format : kFormats) {
    int64_t elements = kBlocks * format.blockElements;
    int64_t scaleCount = kBlocks * format.getScaleCount();
    std::vector<uint8_t> codes = makeBytes(elements / 2);
    std::vector<uint8_t> scales = makeBytes(scaleCount);
    // Bytes that mean the same in both.
    for (uint8_t &byte : scales)
      byte &= 0x3F;
    std::vector<uint8_t> packed(kBlocks * format.getBlockBytes());
    EXPECT_EQ(packGgufBlocks(format, kBlocks, codes.data(), scales.data(),
                             packed.data()),
              0u);
    for (int64_t i = 0; i < elements; ++i)
      ASSERT_EQ(getPackedCode(format, packed, i), unpackCode(codes.data(), i))
          << i;
    for (int64_t i = 0; i < scaleCount; ++i)
      ASSERT_EQ(getPackedScale(format, packed, i), scales[i]) << i;

    std::vector<uint8_t> outCodes(codes.size()), outScales(scales.size());
    EXPECT_EQ(unpackGgufBlocks(format, kBlocks, packed.data(), outCodes.data(),
                               outScales.data()),
              0u);
    EXPECT_EQ(outCodes, codes);
    EXPECT_EQ(outScales, scales);
  }
}

TEST(GgufBlocks, ScalesOfOtherMeaning) {
  // 4 scales a block: -0 and -1, NaN of both signs; then the largest ones.
  std::vector<uint8_t> codes = makeBytes(64);
  std::vector<uint8_t> scales = {0x80, 0xB8, 0x7F, 0xFF,
                                 0x7E, 0x00, 0x01, 0x38};
  std::vector<uint8_t> packed(72), outCodes(64), outScales(8);
  EXPECT_EQ(
      packGgufBlocks(kGgufNvfp4, 2, codes.data(), scales.data(), packed.data()),
      4u);
  EXPECT_EQ(std::vector<uint8_t>(packed.begin(), packed.begin() + 4),
            std::vector<uint8_t>(scales.begin(), scales.begin() + 4));
  EXPECT_EQ(unpackGgufBlocks(kGgufNvfp4, 2, packed.data(), outCodes.data(),
                             outScales.data()),
            4u);
  EXPECT_EQ(outScales, (std::vector<uint8_t>{0x00, 0x38, 0x00, 0x00, 0x7E, 0x00,
                                             0x01, 0x38}));
  EXPECT_EQ(outCodes, codes);

  std::vector<uint8_t> powers = {0, 254, 255};
  codes = makeBytes(48);
  packed.resize(51);
  outCodes.resize(48);
  EXPECT_EQ(
      packGgufBlocks(kGgufMxfp4, 3, codes.data(), powers.data(), packed.data()),
      1u);
  EXPECT_EQ(unpackGgufBlocks(kGgufMxfp4, 3, packed.data(), outCodes.data(),
                             outScales.data()),
            1u);
  EXPECT_EQ(outScales[2], 255);
}

/// Quantizes one group after the other, one element after the other.
void expectQuantized(const GgufBlockFormat &format,
                     const std::vector<float> &values,
                     const std::vector<uint8_t> &packed) {
  for (size_t first = 0; first < values.size(); first += format.groupElements) {
    float amax = 0;
    for (int64_t i = 0; i < format.groupElements; ++i)
      if (float magnitude = std::fabs(values[first + i]); magnitude > amax)
        amax = magnitude;
    uint8_t byte = format.scale == ScaleFormat::E8M0
                       ? getGgmlE8M0ScaleByte(amax)
                       : getGgmlE4M3ScaleByte(amax);
    ASSERT_EQ(getPackedScale(format, packed, first / format.groupElements),
              byte)
        << first;
    for (int64_t i = 0; i < format.groupElements; ++i)
      ASSERT_EQ(
          getPackedCode(format, packed, first + i),
          searchGgmlE2M1(values[first + i], decodeScale(format.scale, byte)))
          << values[first + i] << " under " << amax;
  }
}

/// Values of all sizes, some of them special, with groups of one size.
std::vector<float> makeGroups(size_t count) {
  std::vector<float> values = makeValues(count);
  const float sizes[] = {1,     0x1p-20f, 0x1p-130f, 0x1p100f, 0.013f,
                         3e30f, 0x1p-7f,  700,       0x1p-12f, 0};
  for (size_t i = 0; i < count; ++i)
    values[i] *= sizes[i / 16 % std::size(sizes)];
  const float specials[] = {0.0f, -0.0f, NAN, INFINITY, -INFINITY};
  for (size_t i = 0; i < 40 && 100 * i < count; ++i)
    values[100 * i + 7] = specials[i % std::size(specials)];
  return values;
}

TEST(GgufBlocks, QuantizesAsTheSearch) {
  for (const GgufBlockFormat &format : kFormats) {
    std::vector<float> values = makeGroups(kBlocks * format.blockElements);
    std::vector<uint8_t> packed(kBlocks * format.getBlockBytes());
    // Elements need no alignment.
    std::vector<char> memory = misalign(values);
    quantizeToGgufBlocks(format, InputFormat::F32, kBlocks, memory.data() + 1,
                         packed.data());
    expectQuantized(format, values, packed);
  }
}

TEST(GgufBlocks, QuantizesHalves) {
  for (const GgufBlockFormat &format : kFormats)
    for (InputFormat input : {InputFormat::BF16, InputFormat::F16}) {
      std::vector<float> values = makeGroups(20 * format.blockElements);
      std::vector<uint16_t> halves;
      for (float &value : values) {
        halves.push_back(input == InputFormat::BF16
                             ? encodeBF16(value)
                             : uint16_t(encodeF16Bits(value) & 0xFFFF));
        value = input == InputFormat::BF16 ? decodeBF16(halves.back())
                                           : decodeF16(halves.back());
      }
      std::vector<uint8_t> packed(20 * format.getBlockBytes());
      std::vector<char> memory = misalign(halves);
      quantizeToGgufBlocks(format, input, 20, memory.data() + 1, packed.data());
      expectQuantized(format, values, packed);
    }
}

} // namespace

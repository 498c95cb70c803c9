//===- GgufBlocks.cpp - MXFP4 and NVFP4 as GGUF stores them ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/GgufBlocks.h"

#include "Elements.h"
#include "Parallel.h"

#include "blockscale/Numerics/Ggml.h"

#include <numeric>

using namespace blockscale::checkpoint;
using namespace blockscale::numerics;

static_assert(kGgufMxfp4.getBlockBytes() ==
                  findStorageType("MXFP4")->blockBytes &&
              kGgufNvfp4.getBlockBytes() ==
                  findStorageType("NVFP4")->blockBytes);

/// Vectors of bytes, which every target has, if only as several instructions.
using Bytes16 = uint8_t __attribute__((vector_size(16)));
using Bytes8 = uint8_t __attribute__((vector_size(8)));

/// The first and the second halves of groups of 16 or of 8 bytes, and back.
template <int64_t GroupBytes>
static Bytes8 getFirstHalves(Bytes16 x) {
  if constexpr (GroupBytes == 16)
    return __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7);
  else
    return __builtin_shufflevector(x, x, 0, 1, 2, 3, 8, 9, 10, 11);
}
template <int64_t GroupBytes>
static Bytes8 getSecondHalves(Bytes16 x) {
  if constexpr (GroupBytes == 16)
    return __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
  else
    return __builtin_shufflevector(x, x, 4, 5, 6, 7, 12, 13, 14, 15);
}
template <int64_t GroupBytes>
static Bytes16 joinHalves(Bytes8 first, Bytes8 second) {
  if constexpr (GroupBytes == 16)
    return __builtin_shufflevector(first, second, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9,
                                   10, 11, 12, 13, 14, 15);
  else
    return __builtin_shufflevector(first, second, 0, 1, 2, 3, 8, 9, 10, 11, 4,
                                   5, 6, 7, 12, 13, 14, 15);
}

/// Brings 16 bytes, whose pairs of elements are neighbours, to pairs of one
/// element of each half of their group. With groups of 8 bytes:
///
///   from  10 32 54 76 98 ba dc fe  ..   (digits are elements)
///   to    80 91 a2 b3 c4 d5 e6 f7  ..
template <int64_t GroupBytes>
static void splitPairs(const uint8_t *from, uint8_t *to) {
  auto bytes = loadElement<Bytes16>(from, 0);
  Bytes8 first = getFirstHalves<GroupBytes>(bytes);
  Bytes8 second = getSecondHalves<GroupBytes>(bytes);
  Bytes8 even = (first & 0x0F) | (second << 4);
  Bytes8 odd = (first >> 4) | (second & 0xF0);
  Bytes16 pairs = __builtin_shufflevector(even, odd, 0, 8, 1, 9, 2, 10, 3, 11,
                                          4, 12, 5, 13, 6, 14, 7, 15);
  std::memcpy(to, &pairs, sizeof pairs);
}

/// The inverse.
template <int64_t GroupBytes>
static void joinPairs(const uint8_t *from, uint8_t *to) {
  auto pairs = loadElement<Bytes16>(from, 0);
  Bytes8 even =
      __builtin_shufflevector(pairs, pairs, 0, 2, 4, 6, 8, 10, 12, 14);
  Bytes8 odd = __builtin_shufflevector(pairs, pairs, 1, 3, 5, 7, 9, 11, 13, 15);
  Bytes8 first = (even & 0x0F) | (odd << 4);
  Bytes8 second = (even >> 4) | (odd & 0xF0);
  Bytes16 bytes = joinHalves<GroupBytes>(first, second);
  std::memcpy(to, &bytes, sizeof bytes);
}

namespace {
/// A byte of a scale in GGUF.
struct ScaleMeaning {
  /// Whether ggml reads it as another number than everyone else.
  bool isOther = false;
  /// The byte that means to everyone what this one means to ggml, if there is
  /// one.
  uint8_t normalized = 0;
};
using ScaleMeanings = std::array<ScaleMeaning, 256>;
} // namespace

static constexpr ScaleMeanings getMeanings(ScaleFormat format) {
  ScaleMeanings meanings = {};
  for (unsigned i = 0; i < meanings.size(); ++i) {
    auto byte = static_cast<uint8_t>(i);
    meanings[i].isOther =
        isNanScale(format, byte) || isNegativeScale(format, byte);
    meanings[i].normalized = byte;
    if (format == ScaleFormat::E4M3) {
      auto magnitude = static_cast<uint8_t>(byte & 0x7F);
      meanings[i].normalized = magnitude == kE4M3Nan ? uint8_t{0} : magnitude;
    }
  }
  return meanings;
}

static const ScaleMeanings &findMeanings(ScaleFormat format) {
  static constexpr ScaleMeanings e4m3 = getMeanings(ScaleFormat::E4M3);
  static constexpr ScaleMeanings e8m0 = getMeanings(ScaleFormat::E8M0);
  return format == ScaleFormat::E4M3 ? e4m3 : e8m0;
}

/// Sums up what body(begin, end) returns for ranges of blocks.
template <typename Body>
static uint64_t sumOverBlocks(int64_t blocks, Body body) {
  std::vector<uint64_t> counts = mapChunks<uint64_t>(blocks, kBlockGrain, body);
  return std::accumulate(counts.begin(), counts.end(), uint64_t(0));
}

/// Goes through blocks, in each first through its scales by
/// moveScale(scale, packed), then through the codes by moveCodes(codes,
/// packed), 32 at a time. Returns how often moveScale() says that a scale means
/// something else to ggml. Either side is what is read.
template <typename Byte, typename PackedByte, typename MoveScale,
          typename MoveCodes>
static uint64_t walkRange(const GgufBlockFormat &format, int64_t begin,
                          int64_t end, Byte *codes, Byte *scales,
                          PackedByte *packed, MoveScale moveScale,
                          MoveCodes moveCodes) {
  int64_t count = format.getScaleCount();
  codes += begin * format.blockElements / 2;
  scales += begin * count;
  packed += begin * format.getBlockBytes();
  uint64_t changed = 0;
  for (int64_t block = begin; block < end; ++block) {
    for (int64_t i = 0; i < count; ++i)
      changed += moveScale(*scales++, *packed++);
    for (int64_t i = 0; i < format.blockElements / 2; i += 16) {
      moveCodes(codes, packed);
      codes += 16;
      packed += 16;
    }
  }
  return changed;
}

template <int64_t GroupBytes>
static uint64_t packRange(const GgufBlockFormat &format, int64_t begin,
                          int64_t end, const uint8_t *codes,
                          const uint8_t *scales, uint8_t *packed) {
  const ScaleMeanings &meanings = findMeanings(format.scale);
  return walkRange(
      format, begin, end, codes, scales, packed,
      [&](uint8_t from, uint8_t &to) {
        to = from;
        return meanings[from].isOther;
      },
      [](const uint8_t *from, uint8_t *to) {
        splitPairs<GroupBytes>(from, to);
      });
}

template <int64_t GroupBytes>
static uint64_t unpackRange(const GgufBlockFormat &format, int64_t begin,
                            int64_t end, const uint8_t *packed, uint8_t *codes,
                            uint8_t *scales) {
  const ScaleMeanings &meanings = findMeanings(format.scale);
  return walkRange(
      format, begin, end, codes, scales, packed,
      [&](uint8_t &to, uint8_t from) {
        to = meanings[from].normalized;
        return meanings[from].isOther;
      },
      [](uint8_t *to, const uint8_t *from) {
        joinPairs<GroupBytes>(from, to);
      });
}

uint64_t blockscale::checkpoint::packGgufBlocks(const GgufBlockFormat &format,
                                                int64_t blocks,
                                                const uint8_t *codes,
                                                const uint8_t *scales,
                                                uint8_t *packed) {
  return sumOverBlocks(blocks, [&](int64_t begin, int64_t end) {
    return format.scale == ScaleFormat::E8M0
               ? packRange<16>(format, begin, end, codes, scales, packed)
               : packRange<8>(format, begin, end, codes, scales, packed);
  });
}

uint64_t blockscale::checkpoint::unpackGgufBlocks(const GgufBlockFormat &format,
                                                  int64_t blocks,
                                                  const uint8_t *packed,
                                                  uint8_t *codes,
                                                  uint8_t *scales) {
  return sumOverBlocks(blocks, [&](int64_t begin, int64_t end) {
    return format.scale == ScaleFormat::E8M0
               ? unpackRange<16>(format, begin, end, packed, codes, scales)
               : unpackRange<8>(format, begin, end, packed, codes, scales);
  });
}

//===----------------------------------------------------------------------===//
// Quantization
//===----------------------------------------------------------------------===//

/// The largest magnitude of a group, NaN not counted.
template <int64_t Count>
static float findGroupAmax(const float *x) {
  // As integers, and several side by side, for vectors.
  constexpr int64_t lanes = 8;
  int32_t largest[lanes] = {};
  for (int64_t i = 0; i < Count; i += lanes)
    for (int64_t lane = 0; lane < lanes; ++lane) {
      auto bits = static_cast<int32_t>(magnitudeBits(x[i + lane]));
      bits = bits > static_cast<int32_t>(kFloatInfinityBits) ? 0 : bits;
      largest[lane] = std::max(largest[lane], bits);
    }
  int32_t found = 0;
  for (int32_t bits : largest)
    found = std::max(found, bits);
  return fromBits(static_cast<uint32_t>(found));
}

/// The codes of a group under its scale.
template <int64_t Count>
static void encodeGroup(const float *x, float amax, float scale,
                        uint32_t *codes) {
  if (amax <= kGgmlNearestLimit * scale && amax <= kFloatMax) {
    for (int64_t i = 0; i < Count; ++i)
      codes[i] = encodeGgmlE2M1(x[i], scale);
    return;
  }
  for (int64_t i = 0; i < Count; ++i)
    codes[i] = searchGgmlE2M1(x[i], scale);
}

/// Quantizes blocks of MXFP4 or, if not, of NVFP4.
template <bool IsMxfp4>
static void quantizeRange(ElementType type, int64_t begin, int64_t end,
                          const void *x, uint8_t *packed) {
  constexpr GgufBlockFormat format = IsMxfp4 ? kGgufMxfp4 : kGgufNvfp4;
  constexpr int64_t size = format.groupElements, half = size / 2;
  packed += begin * format.getBlockBytes();
  for (int64_t block = begin; block < end; ++block) {
    float values[format.blockElements];
    loadElements(type, x, block * format.blockElements, format.blockElements,
                 values);
    // All scales first: each waits for a division, and the next one does not
    // wait for it.
    constexpr int64_t groups = format.getScaleCount();
    float amaxes[groups], scales[groups];
    for (int64_t group = 0; group < groups; ++group) {
      amaxes[group] = findGroupAmax<size>(values + group * size);
      uint8_t byte = IsMxfp4 ? getGgmlE8M0ScaleByte(amaxes[group])
                             : getGgmlE4M3ScaleByte(amaxes[group]);
      *packed++ = byte;
      scales[group] = decodeScale(format.scale, byte);
    }
    for (int64_t group = 0; group < groups; ++group) {
      uint32_t codes[size];
      encodeGroup<size>(values + group * size, amaxes[group], scales[group],
                        codes);
      for (int64_t i = 0; i < half; ++i)
        packed[i] = static_cast<uint8_t>(codes[i] | codes[i + half] << 4);
      packed += half;
    }
  }
}

void blockscale::checkpoint::quantizeToGgufBlocks(const GgufBlockFormat &format,
                                                  InputFormat input,
                                                  int64_t blocks, const void *x,
                                                  uint8_t *packed) {
  ElementType type = input == InputFormat::BF16  ? ElementType::BF16
                     : input == InputFormat::F16 ? ElementType::F16
                                                 : ElementType::F32;
  forEachChunk(blocks, kBlockGrain, [&](int64_t, int64_t begin, int64_t end) {
    if (format.scale == ScaleFormat::E8M0)
      quantizeRange<true>(type, begin, end, x, packed);
    else
      quantizeRange<false>(type, begin, end, x, packed);
  });
}

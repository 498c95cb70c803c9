//===- ScaleConversion.cpp - MXFP4 under other scales ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/ScaleConversion.h"

#include "Elements.h"
#include "LargestMagnitude.h"
#include "Parallel.h"

#include "blockscale/Numerics/BlockFormat.h"
#include "blockscale/Numerics/Dequantize.h"
#include "blockscale/Numerics/Index.h"
#include "blockscale/Numerics/Pack.h"
#include "blockscale/Numerics/Quantize.h"

#include <array>
#include <cmath>
#include <cstring>
#include <numeric>
#include <optional>

using namespace blockscale::checkpoint;
using namespace blockscale::numerics;

static constexpr int64_t kMxBlock = getBlockFormat(ScaleFormat::E8M0).blockSize;
static constexpr int64_t kNvfp4Block =
    getBlockFormat(ScaleFormat::E4M3).blockSize;
static constexpr int64_t kMxBlockBytes = kMxBlock / 2;
/// The exponents of the largest and the smallest power of two of E4M3.
static constexpr int kE4M3MaxExponent =
    getFormatInfo(ElementFormat::E4M3).maxExponent;
static constexpr int kE4M3MinExponent = -9;
static_assert(powerOfTwo(kE4M3MinExponent) == kE4M3MinSubnormal);
int blockscale::checkpoint::findMaxExponent(const uint8_t *scales,
                                            int64_t count) {
  std::vector<uint8_t> largest = mapChunks<uint8_t>(
      count, kBlockGrain * kMxBlock, [&](int64_t begin, int64_t end) {
        uint8_t found = 0;
        for (int64_t i = begin; i < end; ++i) {
          uint8_t byte = scales[i] == kE8M0Nan ? uint8_t{0} : scales[i];
          found = std::max(found, byte);
        }
        return found;
      });
  uint8_t found = 0;
  for (uint8_t byte : largest)
    found = std::max(found, byte);
  return found ? found - kE8M0Bias : 0;
}

//===----------------------------------------------------------------------===//
// NVFP4
//===----------------------------------------------------------------------===//

float blockscale::checkpoint::getNvfp4GlobalScale(int maxExponent) {
  return std::ldexp(1.0f, maxExponent - kE4M3MaxExponent);
}

namespace {

/// The factors of one tensor.
struct Nvfp4Target {
  explicit Nvfp4Target(int maxExponent)
      : exponent(maxExponent - kE4M3MaxExponent),
        factors(getGlobalFactors(
            Recipe::Modelopt,
            GlobalScale::fromAmax(kGlobalRange *
                                  getNvfp4GlobalScale(maxExponent)))) {}

  /// The scale byte for 2^k, if E4M3 has it.
  std::optional<uint8_t> findScale(uint8_t byte) const {
    if (byte == kE8M0Nan)
      return kE4M3Nan;
    int power = byte - kE8M0Bias - exponent;
    if (power < kE4M3MinExponent || power > kE4M3MaxExponent)
      return std::nullopt;
    return encode(ElementFormat::E4M3, powerOfTwo(power));
  }

  /// That of the global scale.
  int exponent;
  GlobalFactors factors;
};

} // namespace

/// Quantizes a block of MXFP4 anew, with the amax of its 32 elements for both
/// blocks. Returns whether a value changes.
static bool requantizeBlock(const Nvfp4Target &target, const uint8_t *codes,
                            uint8_t scale, uint8_t *outCodes,
                            uint8_t *outScales) {
  float factor = decodeE8M0(scale);
  float values[kMxBlock];
  for (int64_t i = 0; i < kMxBlock; ++i)
    values[i] = decode(ElementFormat::E2M1, unpackCode(codes, i)) * factor;
  float amax = computeAmax(values, kMxBlock);
  bool isOther = false;
  for (int64_t begin = 0; begin < kMxBlock; begin += kNvfp4Block) {
    uint8_t found[kNvfp4Block];
    uint8_t byte =
        quantizeBlockOfGivenAmax(Recipe::Modelopt, target.factors,
                                 values + begin, kNvfp4Block, amax, found);
    *outScales++ = byte;
    packRow(found, kNvfp4Block, outCodes + begin / 2);
    // Exact: two bits times four times a power of two.
    double scaled =
        std::ldexp(decodeScale(ScaleFormat::E4M3, byte), target.exponent);
    for (int64_t i = 0; i < kNvfp4Block; ++i)
      isOther |= decode(ElementFormat::E2M1, found[i]) * scaled !=
                 static_cast<double>(values[begin + i]);
  }
  return isOther;
}

uint64_t blockscale::checkpoint::convertMxfp4ToNvfp4(
    int64_t blocks, const uint8_t *codes, const uint8_t *scales,
    int maxExponent, uint8_t *outCodes, uint8_t *outScales) {
  Nvfp4Target target(maxExponent);
  std::array<std::optional<uint8_t>, 256> found;
  for (unsigned byte = 0; byte < found.size(); ++byte)
    found[byte] = target.findScale(static_cast<uint8_t>(byte));
  std::vector<uint64_t> changed =
      mapChunks<uint64_t>(blocks, kBlockGrain, [&](int64_t begin, int64_t end) {
        std::memcpy(outCodes + begin * kMxBlockBytes,
                    codes + begin * kMxBlockBytes,
                    (end - begin) * kMxBlockBytes);
        uint64_t count = 0;
        for (int64_t block = begin; block < end; ++block) {
          uint8_t *out = outScales + 2 * block;
          if (std::optional<uint8_t> scale = found[scales[block]])
            out[0] = out[1] = *scale;
          else
            count += requantizeBlock(target, codes + block * kMxBlockBytes,
                                     scales[block],
                                     outCodes + block * kMxBlockBytes, out);
        }
        return count;
      });
  return std::accumulate(changed.begin(), changed.end(), uint64_t(0));
}

//===----------------------------------------------------------------------===//
// FP8
//===----------------------------------------------------------------------===//

namespace {

/// Exponents of the numbers that are not 0 under one f32 scale.
struct ExponentRange {
  /// E and L of the header; L is larger where there are none.
  int largest = INT32_MIN;
  int last = INT32_MAX;

  void merge(const ExponentRange &other) {
    largest = std::max(largest, other.largest);
    last = std::min(last, other.last);
  }
};

} // namespace

/// The exponents of a magnitude of E2M1 that is not 0.
static ExponentRange getRange(uint32_t code) {
  float value = decodeBits(ElementFormat::E2M1, code);
  int largest = std::ilogb(value);
  int last = largest;
  while (std::fmod(value, powerOfTwo(last)) != 0.0f)
    --last;
  return {largest, last};
}

/// The exponents of each set of magnitudes; bit i stands for code i.
static std::array<ExponentRange, 256> getAllRanges() {
  std::array<ExponentRange, 256> ranges;
  for (unsigned set = 0; set < ranges.size(); ++set)
    for (uint32_t code = 1; code < 8; ++code)
      if (set >> code & 1)
        ranges[set].merge(getRange(code));
  return ranges;
}

/// The set of magnitudes in a block of MXFP4.
static unsigned findMagnitudes(const uint8_t *codes) {
  unsigned set = 0;
  for (int64_t i = 0; i < kMxBlockBytes; ++i)
    set |= 1u << (codes[i] & 7) | 1u << (codes[i] >> 4 & 7);
  return set;
}

/// The largest magnitude in a block of MXFP4.
static unsigned findLargest(const uint8_t *codes) {
  return std::max(findLargestMagnitude(loadElement<uint64_t>(codes, 0)),
                  findLargestMagnitude(loadElement<uint64_t>(codes, 1)));
}

/// Powers of two of an MXFP4 scale over an f32 scale: lower ones leave nothing,
/// and higher ones are of blocks of zeros.
static constexpr int kMinPower = -16, kMaxPower = 16;

/// The E4M3 codes of two packed codes of E2M1, under each power of two.
using PairTable = std::array<uint16_t, 256>;
static std::vector<PairTable> getAllPairs() {
  std::vector<PairTable> tables(kMaxPower - kMinPower + 1);
  for (int power = kMinPower; power <= kMaxPower; ++power)
    for (unsigned byte = 0; byte < 256; ++byte) {
      auto encodeHalf = [&](unsigned code) -> unsigned {
        float value = decode(ElementFormat::E2M1, static_cast<uint8_t>(code));
        return encode(ElementFormat::E4M3, value * powerOfTwo(power));
      };
      tables[power - kMinPower][byte] = static_cast<uint16_t>(
          encodeHalf(byte & 0xF) | encodeHalf(byte >> 4) << 8);
    }
  return tables;
}

namespace {

/// Converts the rows that share f32 scales.
class Fp8Band {
public:
  Fp8Band(const Fp8Shape &shape, int64_t firstRow, const uint8_t *codes,
          const uint8_t *scales, uint8_t *data)
      : blocks(shape.cols / kMxBlock), firstRow(firstRow),
        lastRow(std::min(firstRow + shape.blockRows, shape.rows)), codes(codes),
        scales(scales), data(data) {}

  /// Converts the MXFP4 blocks [first, last) of each row. Returns their scale,
  /// and sets whether a value changes.
  float convert(int64_t first, int64_t last, bool &changes) const;

private:
  /// Calls visit(number of a block of MXFP4) for all of them.
  template <typename Visit>
  void forEachBlock(int64_t first, int64_t last, Visit visit) const {
    for (int64_t row = firstRow; row < lastRow; ++row)
      for (int64_t block = first; block < last; ++block)
        visit(row * blocks + block);
  }
  void encodeBlock(int64_t block, int exponent) const;
  /// L of the header.
  int findLastExponent(int64_t first, int64_t last,
                       const std::array<ExponentRange, 256> &ranges) const;

  int64_t blocks, firstRow, lastRow;
  const uint8_t *codes, *scales;
  uint8_t *data;
};

} // namespace

void Fp8Band::encodeBlock(int64_t block, int exponent) const {
  static const std::vector<PairTable> tables = getAllPairs();
  uint8_t *out = data + block * kMxBlock;
  if (scales[block] == kE8M0Nan) {
    std::memset(out, kE4M3Nan, kMxBlock);
    return;
  }
  int power = scales[block] - kE8M0Bias - exponent;
  const PairTable &table =
      tables[std::clamp(power, kMinPower, kMaxPower) - kMinPower];
  const uint8_t *in = codes + block * kMxBlockBytes;
  // Whole words, because a store of bytes could be one to the codes.
  for (int64_t i = 0; i < kMxBlockBytes; i += 4) {
    auto word = loadElement<uint32_t>(in + i, 0);
    uint64_t found = 0;
    for (int byte = 0; byte < 4; ++byte)
      found |= uint64_t{table[word >> 8 * byte & 0xFF]} << 16 * byte;
    std::memcpy(out + 2 * i, &found, sizeof found);
  }
}

float Fp8Band::convert(int64_t first, int64_t last, bool &changes) const {
  static const std::array<ExponentRange, 256> ranges = getAllRanges();
  // E, and what L is at least.
  ExponentRange range;
  forEachBlock(first, last, [&](int64_t block) {
    unsigned largest = findLargest(codes + block * kMxBlockBytes);
    if (largest == 0 || scales[block] == kE8M0Nan)
      return;
    int exponent = scales[block] - kE8M0Bias;
    range.merge({ranges[1u << largest].largest + exponent, exponent - 1});
  });
  bool isZero = range.largest < range.last;
  int exponent = isZero ? 0 : range.largest - kE4M3MaxExponent;
  if (!isZero && range.last - exponent < kE4M3MinExponent)
    range.last = findLastExponent(first, last, ranges);
  changes = !isZero && range.last - exponent < kE4M3MinExponent;
  forEachBlock(first, last,
               [&](int64_t block) { encodeBlock(block, exponent); });
  return std::ldexp(1.0f, exponent);
}

int Fp8Band::findLastExponent(
    int64_t first, int64_t last,
    const std::array<ExponentRange, 256> &ranges) const {
  ExponentRange range;
  forEachBlock(first, last, [&](int64_t block) {
    unsigned set = findMagnitudes(codes + block * kMxBlockBytes) & ~1u;
    if (set != 0 && scales[block] != kE8M0Nan)
      range.last =
          std::min(range.last, ranges[set].last + scales[block] - kE8M0Bias);
  });
  return range.last;
}

uint64_t blockscale::checkpoint::convertMxfp4ToFp8(const Fp8Shape &shape,
                                                   const uint8_t *codes,
                                                   const uint8_t *scales,
                                                   uint8_t *data,
                                                   float *blockScales) {
  int64_t bands = ceilDivide(shape.rows, shape.blockRows);
  int64_t perBand = ceilDivide(shape.cols, shape.blockCols);
  int64_t blocks = shape.cols / kMxBlock;
  int64_t step = shape.blockCols / kMxBlock;
  // Bands of one row are short.
  int64_t grain =
      kBlockGrain / std::max<int64_t>(blocks * shape.blockRows, 1) + 1;
  std::vector<uint64_t> changed =
      mapChunks<uint64_t>(bands, grain, [&](int64_t begin, int64_t end) {
        uint64_t count = 0;
        for (int64_t i = begin; i < end; ++i) {
          Fp8Band band(shape, i * shape.blockRows, codes, scales, data);
          for (int64_t j = 0; j < perBand; ++j) {
            bool changes = false;
            blockScales[i * perBand + j] = band.convert(
                j * step, std::min((j + 1) * step, blocks), changes);
            count += changes;
          }
        }
        return count;
      });
  return std::accumulate(changed.begin(), changed.end(), uint64_t(0));
}

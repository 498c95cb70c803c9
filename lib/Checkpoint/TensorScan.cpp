//===- TensorScan.cpp - What numbers a tensor has -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The bits of floating-point numbers without their sign are ordered as the
// magnitudes are, with NaN above infinity, in every format. So most facts are
// found by comparisons of integers, on as many elements as vectors have.
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/TensorScan.h"

#include "Elements.h"
#include "LargestMagnitude.h"
#include "Parallel.h"

#include "blockscale/Numerics/Pack.h"

#include <limits>
#include <type_traits>

using namespace blockscale::checkpoint;
using namespace blockscale::numerics;

/// Elements that a thread takes at a time.
static constexpr int64_t kScanGrain = int64_t(1) << 18;
static constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// A type whose elements are words of `Word`, as integers.
namespace {
template <typename SignedWord>
struct Words {
  using Word = SignedWord;
  using Unsigned = std::make_unsigned_t<Word>;
  static constexpr Word kMagnitudeMask = std::numeric_limits<Word>::max();

  /// The bits of infinity: those of the exponent.
  Word infinity;

  static Word load(const void *bytes, int64_t index) {
    return loadElement<Word>(bytes, index);
  }
};
} // namespace

/// Calls visit(Words) for a type of two or four bytes.
template <typename Visit>
static auto withWords(ElementType type, Visit visit) {
  if (type == ElementType::F32)
    return visit(Words<int32_t>{static_cast<int32_t>(kFloatInfinityBits)});
  // The upper half of f32's, and the five bits of binary16's exponent.
  return visit(Words<int16_t>{type == ElementType::BF16 ? int16_t{0x7F80}
                                                        : int16_t{0x7C00}});
}

/// The value of bits of a type.
static float decodeWord(ElementType type, uint32_t bits) {
  if (type == ElementType::F32)
    return fromBits(bits);
  auto half = static_cast<uint16_t>(bits);
  return type == ElementType::BF16 ? decodeBF16(half) : decodeF16(half);
}

//===----------------------------------------------------------------------===//
// Bytes
//===----------------------------------------------------------------------===//

namespace {
/// How often each byte is there.
using Histogram = std::array<uint64_t, 256>;
} // namespace

static Histogram countBytes(const uint8_t *bytes, int64_t count) {
  std::vector<Histogram> parts =
      mapChunks<Histogram>(count, kScanGrain, [&](int64_t begin, int64_t end) {
        // Neighbours are often equal, and a counter cannot be increased again
        // before it was stored. Bytes are loaded together, because each store
        // could be one to the bytes behind it.
        constexpr int lanes = 8;
        uint32_t counts[lanes][256] = {};
        int64_t i = begin;
        for (; i + lanes <= end; i += lanes) {
          auto word = loadElement<uint64_t>(bytes + i, 0);
          for (int lane = 0; lane < lanes; ++lane)
            ++counts[lane][word >> 8 * lane & 0xFF];
        }
        for (; i < end; ++i)
          ++counts[0][bytes[i]];
        Histogram part;
        for (unsigned byte = 0; byte < part.size(); ++byte) {
          part[byte] = 0;
          for (auto &lane : counts)
            part[byte] += lane[byte];
        }
        return part;
      });
  Histogram total = {};
  for (const Histogram &part : parts)
    for (unsigned byte = 0; byte < total.size(); ++byte)
      total[byte] += part[byte];
  return total;
}

/// Adds `count` elements of the same value.
static void addValue(float value, uint64_t count, Statistics &to) {
  if (count == 0)
    return;
  float magnitude = magnitudeOf(value);
  if (isNan(value)) {
    to.nan += count;
    return;
  }
  to.infinite += isInfinity(value) ? count : 0;
  to.zero += value == 0.0f ? count : 0;
  to.negative += value < 0.0f ? count : 0;
  to.min = std::min(to.min, value);
  to.max = std::max(to.max, value);
  if (magnitude != 0.0f)
    to.least = std::min(to.least, magnitude);
}

static Statistics makeStatistics(int64_t count) {
  Statistics statistics;
  statistics.count = static_cast<uint64_t>(count);
  statistics.min = kInfinity;
  statistics.max = -kInfinity;
  statistics.least = kInfinity;
  return statistics;
}

//===----------------------------------------------------------------------===//
// Amax
//===----------------------------------------------------------------------===//

/// The largest bits of a magnitude.
template <typename Type>
static typename Type::Word findLargestBits(const Type &, const void *elements,
                                           int64_t count) {
  using Word = typename Type::Word;
  std::vector<Word> parts =
      mapChunks<Word>(count, kScanGrain, [&](int64_t begin, int64_t end) {
        Word largest = 0;
        for (int64_t i = begin; i < end; ++i) {
          Word bits = Type::load(elements, i) & Type::kMagnitudeMask;
          largest = std::max(largest, bits);
        }
        return largest;
      });
  Word largest = 0;
  for (Word part : parts)
    largest = std::max(largest, part);
  return largest;
}

/// The largest byte without the bits of a mask.
static uint8_t findLargestByte(uint8_t mask, const uint8_t *bytes,
                               int64_t count) {
  std::vector<uint8_t> parts =
      mapChunks<uint8_t>(count, kScanGrain, [&](int64_t begin, int64_t end) {
        uint8_t largest = 0;
        for (int64_t i = begin; i < end; ++i)
          largest = std::max<uint8_t>(largest, bytes[i] & mask);
        return largest;
      });
  uint8_t largest = 0;
  for (uint8_t part : parts)
    largest = std::max(largest, part);
  return largest;
}

float blockscale::checkpoint::findAmax(ElementType type, const void *elements,
                                       int64_t count) {
  if (count == 0)
    return 0.0f;
  if (getElementBytes(type) != 1)
    return withWords(type, [&](auto words) {
      return decodeWord(type, findLargestBits(words, elements, count));
    });
  uint8_t mask = type == ElementType::E8M0 ? 0xFF : 0x7F;
  return decodeAllBytes(type)[findLargestByte(
      mask, static_cast<const uint8_t *>(elements), count)];
}

//===----------------------------------------------------------------------===//
// Scan
//===----------------------------------------------------------------------===//

namespace {

/// Counts and bounds of words, in the words' own type: as many elements fit a
/// vector.
template <typename Type>
struct WordCounts {
  using Word = typename Type::Word;
  using Unsigned = typename Type::Unsigned;

  /// Adds less elements than a counter can hold.
  void add(const Type &type, const void *elements, int64_t begin, int64_t end);

  Unsigned nan = 0, infinite = 0, zero = 0, negative = 0;
  /// In the order of numbers: as integers, with those below 0 reversed.
  Word min = std::numeric_limits<Word>::max();
  Word max = std::numeric_limits<Word>::min();
  /// The least magnitude but 0.
  Word least = std::numeric_limits<Word>::max();
};

} // namespace

/// The order of numbers as one of integers, and back.
template <typename Word>
static Word reverseNegatives(Word bits) {
  constexpr int signShift = 8 * sizeof(Word) - 1;
  return bits ^ (static_cast<Word>(bits >> signShift) &
                 std::numeric_limits<Word>::max());
}

template <typename Type>
void WordCounts<Type>::add(const Type &type, const void *elements,
                           int64_t begin, int64_t end) {
  constexpr Word largest = std::numeric_limits<Word>::max();
  Word infinity = type.infinity;
  Unsigned nans = 0, infinities = 0, zeros = 0, negatives = 0;
  Word low = min, high = max, small = least;
  for (int64_t i = begin; i < end; ++i) {
    Word bits = Type::load(elements, i);
    Word magnitude = bits & Type::kMagnitudeMask;
    bool isNumber = magnitude <= infinity;
    nans += isNumber ? 0 : 1;
    infinities += magnitude == infinity ? 1 : 0;
    zeros += magnitude == 0 ? 1 : 0;
    // Without the bits of -0 and of NaN.
    Word known = isNumber && magnitude != 0 ? bits : Word(0);
    negatives += known < 0 ? 1 : 0;
    // NaN is no bound, and -0 is 0.
    Word ordered = reverseNegatives(known);
    low = std::min(low, isNumber ? ordered : largest);
    high =
        std::max(high, isNumber ? ordered : std::numeric_limits<Word>::min());
    Word positive = known == 0 ? largest : magnitude;
    small = std::min(small, positive);
  }
  nan = nans;
  infinite = infinities;
  zero = zeros;
  negative = negatives;
  min = low;
  max = high;
  least = small;
}

/// Adds counts of a part.
template <typename Type>
static void addCounts(ElementType type, const WordCounts<Type> &part,
                      Statistics &to) {
  using Unsigned = typename Type::Unsigned;
  to.nan += part.nan;
  to.infinite += part.infinite;
  to.zero += part.zero;
  to.negative += part.negative;
  auto getValue = [&](typename Type::Word bits) {
    return decodeWord(type, static_cast<Unsigned>(bits));
  };
  if (part.min <= part.max) {
    to.min = std::min(to.min, getValue(reverseNegatives(part.min)));
    to.max = std::max(to.max, getValue(reverseNegatives(part.max)));
  }
  if (part.least != std::numeric_limits<typename Type::Word>::max())
    to.least = std::min(to.least, getValue(part.least));
}

/// Elements whose counts fit 16 bits.
static constexpr int64_t kCounted = int64_t(1) << 15;

Statistics blockscale::checkpoint::scanTensor(ElementType type,
                                              const void *elements,
                                              int64_t count) {
  Statistics total = makeStatistics(count);
  if (getElementBytes(type) == 1) {
    std::array<float, 256> values = decodeAllBytes(type);
    Histogram bytes = countBytes(static_cast<const uint8_t *>(elements), count);
    for (unsigned byte = 0; byte < bytes.size(); ++byte)
      addValue(values[byte], bytes[byte], total);
    return total;
  }
  return withWords(type, [&](auto words) {
    using Counts = WordCounts<decltype(words)>;
    std::vector<Statistics> parts = mapChunks<Statistics>(
        count, kScanGrain, [&](int64_t begin, int64_t end) {
          Statistics part = makeStatistics(0);
          for (int64_t first = begin; first < end; first += kCounted) {
            Counts counts;
            counts.add(words, elements, first, std::min(first + kCounted, end));
            addCounts(type, counts, part);
          }
          return part;
        });
    for (const Statistics &part : parts) {
      total.nan += part.nan;
      total.infinite += part.infinite;
      total.zero += part.zero;
      total.negative += part.negative;
      total.min = std::min(total.min, part.min);
      total.max = std::max(total.max, part.max);
      total.least = std::min(total.least, part.least);
    }
    return total;
  });
}

//===----------------------------------------------------------------------===//
// Codes
//===----------------------------------------------------------------------===//

/// The code of the largest magnitude of columns, of which the first is even.
static unsigned findLargestCode(const uint8_t *row, int64_t begin,
                                int64_t end) {
  unsigned largest = 0;
  auto add = [&](uint64_t word) {
    largest = std::max(largest, findLargestMagnitude(word));
  };
  int64_t byte = begin / 2;
  for (; byte + 8 <= end / 2; byte += 8)
    add(loadElement<uint64_t>(row + byte, 0));
  for (; byte < end / 2; ++byte)
    add(row[byte]);
  if (end % 2)
    add(row[byte] & 0xF);
  return largest;
}

CodeStatistics blockscale::checkpoint::scanCodes(int64_t rows, int64_t cols,
                                                 int64_t blockCols,
                                                 const uint8_t *codes) {
  CodeStatistics total;
  int64_t rowBytes = getPackedSize(cols);
  Histogram bytes = countBytes(codes, rows * rowBytes);
  for (unsigned byte = 0; byte < bytes.size(); ++byte) {
    total.codes[0][byte & 0xF] += bytes[byte];
    total.codes[1][byte >> 4] += bytes[byte];
  }
  // The high half of the last byte of an odd row is no element.
  if (cols % 2)
    for (int64_t row = 0; row < rows; ++row)
      --total.codes[1][codes[(row + 1) * rowBytes - 1] >> 4];

  using Largest = std::array<uint64_t, 8>;
  int64_t grain = kScanGrain / std::max<int64_t>(cols, 1) + 1;
  std::vector<Largest> parts =
      mapChunks<Largest>(rows, grain, [&](int64_t begin, int64_t end) {
        Largest part = {};
        for (int64_t row = begin; row < end; ++row)
          for (int64_t col = 0; col < cols; col += blockCols)
            ++part[findLargestCode(codes + row * rowBytes, col,
                                   std::min(col + blockCols, cols))];
        return part;
      });
  for (const Largest &part : parts)
    for (unsigned code = 0; code < part.size(); ++code)
      total.largest[code] += part[code];
  return total;
}

//===----------------------------------------------------------------------===//
// Columns
//===----------------------------------------------------------------------===//

/// Columns that a thread adds up.
static constexpr int64_t kColumns = 512;
static_assert(kColumns % 2 == 0);

/// Adds up squares of columns, whose values load(row, first, count, values)
/// gives.
template <typename Load>
static void addColumnSquares(int64_t rows, int64_t cols, double *squares,
                             Load load) {
  forEachChunk(cols, kColumns, [&](int64_t, int64_t begin, int64_t end) {
    double sums[kColumns] = {};
    float values[kColumns];
    int64_t count = end - begin;
    for (int64_t row = 0; row < rows; ++row) {
      load(row, begin, count, values);
      for (int64_t i = 0; i < count; ++i)
        sums[i] += static_cast<double>(values[i]) * values[i];
    }
    std::copy_n(sums, count, squares + begin);
  });
}

void blockscale::checkpoint::sumColumnSquares(ElementType type, int64_t rows,
                                              int64_t cols,
                                              const void *elements,
                                              double *squares) {
  addColumnSquares(
      rows, cols, squares,
      [&](int64_t row, int64_t first, int64_t count, float *values) {
        loadElements(type, elements, row * cols + first, count, values);
      });
}

void blockscale::checkpoint::sumColumnSquares(ScaleFormat scale, int64_t rows,
                                              int64_t cols, int64_t blockCols,
                                              const uint8_t *codes,
                                              const uint8_t *scales,
                                              double *squares) {
  int64_t rowBytes = getPackedSize(cols);
  int64_t blocks = countChunks(cols, blockCols);
  std::array<std::array<float, 2>, 256> pairs = {};
  for (uint32_t byte = 0; byte < pairs.size(); ++byte)
    pairs[byte] = {decodeBits(ElementFormat::E2M1, byte & 0xF),
                   decodeBits(ElementFormat::E2M1, byte >> 4)};
  std::array<float, 256> factors = decodeAllBytes(
      scale == ScaleFormat::E8M0 ? ElementType::E8M0 : ElementType::E4M3);
  addColumnSquares(
      rows, cols, squares,
      [&](int64_t row, int64_t first, int64_t count, float *values) {
        const uint8_t *line = codes + row * rowBytes;
        const uint8_t *scaleLine = scales + row * blocks;
        for (int64_t i = 0; i < count;) {
          int64_t block = (first + i) / blockCols;
          int64_t end = std::min((block + 1) * blockCols - first, count);
          float factor = factors[scaleLine[block]];
          // Blocks begin at even columns, and so do the ranges of threads.
          for (; i < end; i += 2) {
            const std::array<float, 2> &pair = pairs[line[(first + i) / 2]];
            values[i] = pair[0] * factor;
            values[i + 1] = pair[1] * factor;
          }
        }
      });
}

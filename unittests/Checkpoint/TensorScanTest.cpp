//===- TensorScanTest.cpp - What numbers a tensor has ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Checkpoint/TensorScan.h"

#include "Values.h"

#include "blockscale/Checkpoint/Comparison.h"
#include "blockscale/Numerics/Codec.h"
#include "blockscale/Numerics/Pack.h"
#include "blockscale/Runtime/ThreadPool.h"

#include <limits>

using namespace blockscale::checkpoint;
using namespace blockscale::numerics;

namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr ElementType kTypes[] = {ElementType::F32,  ElementType::BF16,
                                  ElementType::F16,  ElementType::E4M3,
                                  ElementType::E5M2, ElementType::E8M0};

float decodeElement(ElementType type, const char *bytes, int64_t index) {
  uint32_t word = 0;
  int64_t size = getElementBytes(type);
  std::memcpy(&word, bytes + index * size, size);
  switch (type) {
  case ElementType::F32:
    return fromBits(word);
  case ElementType::BF16:
    return decodeBF16(static_cast<uint16_t>(word));
  case ElementType::F16:
    return decodeF16(static_cast<uint16_t>(word));
  case ElementType::E4M3:
    return decode(ElementFormat::E4M3, static_cast<uint8_t>(word));
  case ElementType::E5M2:
    return decode(ElementFormat::E5M2, static_cast<uint8_t>(word));
  case ElementType::E8M0:
    return decodeE8M0(static_cast<uint8_t>(word));
  }
  return NAN;
}

/// Compares with one element after the other.
void checkScan(ElementType type, const char *bytes, int64_t count) {
  Statistics expected;
  expected.min = kInfinity;
  expected.max = -kInfinity;
  expected.least = kInfinity;
  float amax = 0;
  for (int64_t i = 0; i < count; ++i) {
    float x = decodeElement(type, bytes, i);
    amax = maxMagnitude(amax, x);
    expected.nan += std::isnan(x);
    expected.infinite += std::isinf(x);
    expected.zero += x == 0;
    expected.negative += x < 0;
    if (std::isnan(x))
      continue;
    expected.min = std::min(expected.min, x);
    expected.max = std::max(expected.max, x);
    if (x != 0)
      expected.least = std::min(expected.least, std::fabs(x));
  }
  Statistics found = scanTensor(type, bytes, count);
  EXPECT_EQ(found.count, static_cast<uint64_t>(count));
  EXPECT_EQ(found.nan, expected.nan);
  EXPECT_EQ(found.infinite, expected.infinite);
  EXPECT_EQ(found.zero, expected.zero);
  EXPECT_EQ(found.negative, expected.negative);
  EXPECT_EQ(found.min, expected.min);
  EXPECT_EQ(found.max, expected.max);
  EXPECT_EQ(found.least, expected.least);
  float foundAmax = findAmax(type, bytes, count);
  EXPECT_TRUE(foundAmax == amax || (std::isnan(foundAmax) && std::isnan(amax)))
      << foundAmax << ", " << amax;
}

// Random bits have NaN and infinity of all types.
TEST(TensorScan, AnyBits) {
  std::vector<uint8_t> bytes = makeBytes(300001 * 4 + 1);
  const char *memory = reinterpret_cast<const char *>(bytes.data());
  for (ElementType type : kTypes)
    for (int64_t count : {0, 1, 7, 1000, 300001}) {
      SCOPED_TRACE(std::string(kElementTypeNames[static_cast<unsigned>(type)]));
      checkScan(type, memory, count);
      checkScan(type, memory + 1, count);
    }
}

// Each code of 16 and 8 bits alone: one that is wrong cannot hide.
TEST(TensorScan, EveryCode) {
  for (ElementType type : kTypes) {
    if (type == ElementType::F32)
      continue;
    unsigned codes = getElementBytes(type) == 1 ? 256 : 65536;
    for (unsigned code = 0; code < codes; ++code)
      checkScan(type, reinterpret_cast<const char *>(&code), 1);
  }
}

TEST(TensorScan, SpecialValues) {
  auto scan = [](std::vector<float> values) {
    return scanTensor(ElementType::F32, values.data(),
                      static_cast<int64_t>(values.size()));
  };
  Statistics found = scan({-0.0f, 0.0f, 0x1p-149f, -3.0f, kInfinity, NAN});
  EXPECT_EQ(found.zero, 2u);
  EXPECT_EQ(found.negative, 1u);
  EXPECT_EQ(found.infinite, 1u);
  EXPECT_EQ(found.nan, 1u);
  EXPECT_EQ(found.min, -3.0f);
  EXPECT_EQ(found.max, kInfinity);
  EXPECT_EQ(found.least, 0x1p-149f);
  // Nothing but NaN.
  found = scan({NAN, -NAN});
  EXPECT_EQ(found.nan, 2u);
  EXPECT_EQ(found.min, kInfinity);
  EXPECT_EQ(found.max, -kInfinity);
  EXPECT_EQ(found.least, kInfinity);
}

// More elements of one kind than the counters of vectors hold.
TEST(TensorScan, ManyOfOneKind) {
  std::vector<uint16_t> negative(100000, 0xBF80), nan(100000, 0x7FFF);
  EXPECT_EQ(scanTensor(ElementType::BF16, negative.data(), 100000).negative,
            100000u);
  EXPECT_EQ(scanTensor(ElementType::BF16, nan.data(), 100000).nan, 100000u);
}

TEST(TensorScan, Codes) {
  for (int64_t cols : {64, 48, 7, 1, 0}) {
    int64_t rows = 3000, rowBytes = (cols + 1) / 2, blockCols = 32;
    std::vector<uint8_t> codes = makeBytes(rows * rowBytes);
    // Some blocks without large codes.
    for (size_t i = 0; i < codes.size(); ++i)
      codes[i] &= i / 8 % 3 == 0 ? 0x99 : i / 8 % 3 == 1 ? 0xBB : 0xFF;
    CodeStatistics expected;
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t first = 0; first < cols; first += blockCols) {
        int largest = 0;
        for (int64_t col = first; col < std::min(first + blockCols, cols);
             ++col) {
          uint8_t code = unpackCode(codes.data() + row * rowBytes, col);
          ++expected.codes[col % 2][code];
          largest = std::max(largest, code & 7);
        }
        ++expected.largest[largest];
      }
    CodeStatistics found = scanCodes(rows, cols, blockCols, codes.data());
    for (int parity : {0, 1})
      for (int code = 0; code < 16; ++code)
        EXPECT_EQ(found.codes[parity][code], expected.codes[parity][code])
            << cols << ", " << parity << ", " << code;
    for (int code = 0; code < 8; ++code)
      EXPECT_EQ(found.largest[code], expected.largest[code]) << code;
  }
}

TEST(TensorScan, ColumnSquares) {
  constexpr int64_t rows = 50, cols = 1300;
  std::vector<float> values = makeValues(rows * cols);
  std::vector<double> found(cols);
  std::vector<char> memory = misalign(values);
  sumColumnSquares(ElementType::F32, rows, cols, memory.data() + 1,
                   found.data());
  for (int64_t col = 0; col < cols; ++col) {
    double sum = 0;
    for (int64_t row = 0; row < rows; ++row)
      sum += static_cast<double>(values[row * cols + col]) *
             values[row * cols + col];
    ASSERT_EQ(found[col], sum) << col;
  }

  // Blocks that do not divide what a thread takes at a time.
  constexpr int64_t blockCols = 48, blocks = (cols + blockCols - 1) / blockCols;
  std::vector<uint8_t> codes = makeBytes(rows * cols / 2);
  std::vector<uint8_t> scales = makeBytes(rows * blocks);
  for (uint8_t &scale : scales)
    scale %= 0x7F;
  for (ScaleFormat format : {ScaleFormat::E4M3, ScaleFormat::E8M0}) {
    sumColumnSquares(format, rows, cols, blockCols, codes.data(), scales.data(),
                     found.data());
    for (int64_t col = 0; col < cols; ++col) {
      double sum = 0;
      for (int64_t row = 0; row < rows; ++row) {
        float value =
            decode(ElementFormat::E2M1,
                   unpackCode(codes.data() + row * cols / 2, col)) *
            decodeScale(format, scales[row * blocks + col / blockCols]);
        sum += static_cast<double>(value) * value;
      }
      ASSERT_EQ(found[col], sum) << col;
    }
  }
}

// The high half of the last byte of an odd row is no element.
TEST(TensorScan, ColumnSquaresOfOddRows) {
  const uint8_t codes[] = {0x42, 0x71, 0x24, 0x75}, scales[] = {0x38, 0x40};
  double squares[3];
  sumColumnSquares(ScaleFormat::E4M3, 2, 3, 4, codes, scales, squares);
  EXPECT_EQ(squares[0], 1.0 + 4 * 4);
  EXPECT_EQ(squares[1], 4.0 + 4 * 1);
  EXPECT_EQ(squares[2], 0.25 + 4 * 9);
}

//===----------------------------------------------------------------------===//
// Comparison
//===----------------------------------------------------------------------===//

Difference compare(const std::vector<float> &reference,
                   const std::vector<float> &values) {
  return compareTensors(ElementType::F32, reference.data(), ElementType::F32,
                        values.data(), static_cast<int64_t>(values.size()));
}

TEST(Comparison, Values) {
  std::vector<float> a(20, 1.0f), b = a;
  a[3] = 3.0f, b[3] = 1.0f;
  a[17] = -1.0f, b[17] = 1.0f;
  a[18] = 0.0f, b[18] = -0.0f;
  Difference found = compare(a, b);
  EXPECT_EQ(found.count, 20u);
  EXPECT_EQ(found.different, 2u);
  EXPECT_EQ(found.incomparable, 0u);
  EXPECT_EQ(found.referenceSquares, 17.0 + 9.0 + 1.0);
  EXPECT_EQ(found.differenceSquares, 8.0);
  EXPECT_EQ(found.largest, 2.0);
  EXPECT_EQ(found.largestIndex, 3);
  found = compare(a, a);
  EXPECT_EQ(found.different, 0u);
  EXPECT_EQ(found.largest, 0.0);
  EXPECT_EQ(found.largestIndex, -1);
  EXPECT_EQ(compare({}, {}).largestIndex, -1);
}

TEST(Comparison, SpecialValues) {
  std::vector<float> a(16, 1.0f), b(16, 1.5f);
  a[0] = NAN, b[0] = -NAN;
  a[1] = kInfinity, b[1] = kInfinity;
  a[2] = NAN, b[2] = 2.0f;
  a[3] = 2.0f, b[3] = kInfinity;
  a[4] = kInfinity, b[4] = -kInfinity;
  Difference found = compare(a, b);
  EXPECT_EQ(found.different, 3u + 11u);
  EXPECT_EQ(found.incomparable, 3u);
  EXPECT_EQ(found.referenceSquares, 11.0);
  EXPECT_EQ(found.differenceSquares, 11 * 0.25);
  EXPECT_EQ(found.largestIndex, 5);
  // The largest numbers are finite sums of f64.
  found = compare({FLT_MAX, FLT_MAX, 0, 0, 0, 0, 0, 0},
                  {-FLT_MAX, FLT_MAX, 0, 0, 0, 0, 0, 0});
  EXPECT_EQ(found.incomparable, 0u);
  EXPECT_EQ(found.largest, 2.0 * FLT_MAX);
}

// The same sums on any number of threads, of any types, and at any address.
TEST(Comparison, ThreadsAndTypes) {
  constexpr int64_t count = 300003;
  std::vector<float> values = makeValues(count);
  std::vector<uint16_t> halves;
  double squares = 0;
  for (float value : values) {
    halves.push_back(encodeBF16(value));
    double difference = static_cast<double>(value) - decodeBF16(halves.back());
    squares += difference * difference;
  }
  std::vector<char> memory = misalign(values), halfMemory = misalign(halves);
  auto compareOn = [&](int threads) {
    blockscale::runtime::setNumThreads(threads);
    return compareTensors(ElementType::F32, memory.data() + 1,
                          ElementType::BF16, halfMemory.data() + 1, count);
  };
  Difference one = compareOn(1), three = compareOn(3);
  blockscale::runtime::setNumThreads(0);
  EXPECT_EQ(one.differenceSquares, three.differenceSquares);
  EXPECT_EQ(one.referenceSquares, three.referenceSquares);
  EXPECT_EQ(one.largestIndex, three.largestIndex);
  EXPECT_NEAR(one.differenceSquares, squares, 1e-9 * squares);
  EXPECT_EQ(std::fabs(static_cast<double>(values[one.largestIndex]) -
                      decodeBF16(halves[one.largestIndex])),
            one.largest);
}

} // namespace

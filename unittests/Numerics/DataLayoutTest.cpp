//===- DataLayoutTest.cpp - Prepacked codes against the PTX fragments -----===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Numerics/DataLayout.h"
#include "blockscale/Numerics/Codec.h"
#include "gtest/gtest.h"

#include <set>
#include <vector>

using namespace blockscale::numerics;

namespace {

static_assert(getFragmentBlocks<int64_t>(0) == 0);
static_assert(getFragmentBlocks<int64_t>(65) == 2);
static_assert(getFragmentBlockBytes(4) == 2048);
static_assert(getFragmentBlockBytes(8) == 4096);
static_assert(getPrepackedSize(65, 129, 4) == 6 * 2048);
static_assert(getFragmentBlock<int64_t>(64, 128, 3) == 5);

// The figure of register fragments of A for wgmma.mma_async of 16-bit types in
// the PTX ISA, which lists row and column of a0 .. a7 for each thread.
TEST(DataLayout, FragmentsOfPtx) {
  for (int64_t thread = 0; thread < kFragmentThreads; ++thread)
    for (int64_t product = 0; product < kFragmentProducts; ++product)
      for (int64_t i = 0; i < 8; ++i) {
        int64_t group = thread % 32 / 4, inGroup = thread % 32 % 4;
        int64_t row = group + thread / 32 * 16;
        if (i == 2 || i == 3 || i == 6 || i == 7)
          row += 8;
        int64_t col = inGroup * 2 + (i & 1) + product * 16;
        if (i >= 4)
          col += 8;
        FragmentPlace<int64_t> place{thread, product, i / 2, i % 2};
        ElementIndex<int64_t> element = getFragmentElement(place);
        EXPECT_EQ(element.row, row);
        EXPECT_EQ(element.col, col);
      }
}

// Each element of a block has one place, and the places have no other element.
TEST(DataLayout, PlacesAreABijection) {
  std::set<int64_t> places;
  for (int64_t row = 0; row < kFragmentRows; ++row)
    for (int64_t col = 0; col < kFragmentCols; ++col) {
      FragmentPlace<int64_t> place = getFragmentPlace(row, col);
      ElementIndex<int64_t> element = getFragmentElement(place);
      EXPECT_EQ(element.row, row);
      EXPECT_EQ(element.col, col);
      EXPECT_LT(place.thread, kFragmentThreads);
      EXPECT_LT(place.product, kFragmentProducts);
      EXPECT_LT(place.reg, kFragmentRegisters);
      EXPECT_LT(place.half, 2);
      places.insert(((place.thread * kFragmentProducts + place.product) *
                         kFragmentRegisters +
                     place.reg) *
                        2 +
                    place.half);
    }
  EXPECT_EQ(places.size(), size_t(kFragmentRows * kFragmentCols));
}

/// The byte in its block of a code that takes a byte, from the layout's
/// definition.
int64_t getByte(const FragmentPlace<int64_t> &place) {
  return place.product / 2 * 2048 + place.thread * 16 + place.product % 2 * 8 +
         place.reg * 2 + place.half;
}

// The bytes of a block are those of its elements, each once.
TEST(DataLayout, BytesAreABijection) {
  std::set<int64_t> bytes;
  for (int64_t row = 0; row < kFragmentRows; ++row)
    for (int64_t col = 0; col < kFragmentCols; ++col) {
      FragmentPlace<int64_t> place = getFragmentPlace(row, col);
      int64_t byte = getUnitByte(place.thread, place.product);
      forEachCodePart(place.reg, place.half, 8, [&](CodePart part) {
        byte += part.word * 4 + part.distance / 8;
      });
      EXPECT_EQ(byte, getByte(place));
      bytes.insert(byte);
    }
  EXPECT_EQ(bytes.size(), size_t(getFragmentBlockBytes(8)));
  EXPECT_EQ(*bytes.begin(), 0);
  EXPECT_EQ(*bytes.rbegin(), getFragmentBlockBytes(8) - 1);
}

// The units of codes of 4 bits fill a block, a thread's side by side.
TEST(DataLayout, UnitsOfAThread) {
  std::set<int64_t> bytes;
  for (int64_t thread = 0; thread < kFragmentThreads; ++thread)
    for (int64_t unit = 0; unit < getThreadUnits(4); ++unit) {
      int64_t byte = getUnitByte(thread, unit);
      EXPECT_EQ(byte, thread * 16 + unit * 8);
      bytes.insert(byte);
    }
  EXPECT_EQ(bytes.size() * 8, size_t(getFragmentBlockBytes(4)));
}

/// Both words of a unit that has one code.
uint64_t placeInUnit(uint32_t code, int64_t reg, int64_t half, int64_t bits) {
  uint64_t unit = 0;
  for (int64_t word = 0; word < kUnitWords; ++word)
    unit |= uint64_t(placeCode(code, reg, half, bits, word)) << (32 * word);
  return unit;
}

uint32_t takeFromUnit(uint64_t unit, int64_t reg, int64_t half, int64_t bits) {
  uint32_t words[] = {uint32_t(unit), uint32_t(unit >> 32)};
  return takeCode(words, reg, half, bits);
}

// A code in a byte has the byte of its register and half.
TEST(DataLayout, BytesOfAUnit) {
  for (int64_t reg = 0; reg < getUnitRegisters(8); ++reg)
    for (int64_t half = 0; half < 2; ++half)
      for (uint32_t code = 0; code < 256; ++code)
        EXPECT_EQ(placeInUnit(code, reg, half, 8),
                  uint64_t(code) << (16 * reg + 8 * half));
}

// The places of all codes share no bit and fill the unit.
TEST(DataLayout, CodesFillTheUnit) {
  for (int64_t bits : {4, 8}) {
    uint64_t unit = 0;
    for (int64_t reg = 0; reg < getUnitRegisters(bits); ++reg)
      for (int64_t half = 0; half < 2; ++half) {
        uint64_t place = placeInUnit((1 << bits) - 1, reg, half, bits);
        EXPECT_EQ(unit & place, 0u);
        unit |= place;
      }
    EXPECT_EQ(unit, ~uint64_t(0));
  }
}

// A code is taken from a unit whatever the other codes are.
TEST(DataLayout, TakesWhatItPlaced) {
  for (int64_t bits : {4, 8})
    for (int64_t reg = 0; reg < getUnitRegisters(bits); ++reg)
      for (int64_t half = 0; half < 2; ++half)
        for (uint32_t code = 0; code < uint32_t(1) << bits; ++code) {
          uint64_t place = placeInUnit((1 << bits) - 1, reg, half, bits);
          uint64_t unit = placeInUnit(code, reg, half, bits);
          EXPECT_EQ(takeFromUnit(unit, reg, half, bits), code);
          EXPECT_EQ(takeFromUnit(unit | ~place, reg, half, bits), code);
        }
}

// The table of the header: a word, or the rest of both, rotated and masked is a
// pair of bf16, the values of the codes times 2^-126.
TEST(DataLayout, RegistersAreBf16) {
  constexpr uint32_t kMask = 0x81C081C0u;
  constexpr int kTable[] = {0, 4, 10, 8, 2, 6, 12, 14};
  for (int64_t reg = 0; reg < getUnitRegisters(4); ++reg)
    for (uint32_t low = 0; low < 16; ++low)
      for (uint32_t high = 0; high < 16; ++high) {
        uint64_t own =
            placeInUnit(0xF, reg, 0, 4) | placeInUnit(0xF, reg, 1, 4);
        uint64_t unit =
            placeInUnit(low, reg, 0, 4) | placeInUnit(high, reg, 1, 4);
        for (uint64_t whole : {unit, unit | ~own}) {
          auto first = uint32_t(whole), second = uint32_t(whole >> 32);
          uint32_t word = reg % 4 == 3
                              ? (first & 0x06030603) | (second & 0xF9FCF9FC)
                          : reg < 4 ? first
                                    : second;
          uint64_t twice = uint64_t(word) << 32 | word;
          uint32_t pair = uint32_t(twice >> (32 - kTable[reg])) & kMask;
          float lowValue = fromBits(pair << 16);
          float highValue = fromBits(pair & 0xFFFF0000u);
          EXPECT_EQ(lowValue,
                    decodeBits(ElementFormat::E2M1, low) * powerOfTwo(-126));
          EXPECT_EQ(highValue,
                    decodeBits(ElementFormat::E2M1, high) * powerOfTwo(-126));
        }
      }
}

// Matrices of odd sizes come back, and what no element has is padding.
TEST(DataLayout, MatricesRoundTrip) {
  for (int64_t bits : {4, 8})
    for (auto [rows, cols] : {std::pair<int64_t, int64_t>{1, 1},
                              {64, 64},
                              {65, 63},
                              {7, 130},
                              {129, 65}}) {
      auto getCode = [&](int64_t row, int64_t col) {
        return static_cast<uint8_t>((row * 31 + col * 7 + 1) &
                                    ((1 << bits) - 1));
      };
      std::vector<uint8_t> bytes(getPrepackedSize(rows, cols, bits),
                                 kDataPadding);
      for (int64_t row = 0; row < rows; ++row)
        for (int64_t col = 0; col < cols; ++col)
          storePrepacked(bytes.data(), getCode(row, col), row, col, cols, bits);
      int64_t paddedRows = getFragmentBlocks(rows) * kFragmentRows;
      int64_t paddedCols = getFragmentBlocks(cols) * kFragmentCols;
      for (int64_t row = 0; row < paddedRows; ++row)
        for (int64_t col = 0; col < paddedCols; ++col)
          EXPECT_EQ(loadPrepacked(bytes.data(), row, col, cols, bits),
                    row < rows && col < cols ? getCode(row, col)
                                             : kDataPadding);
    }
}

} // namespace

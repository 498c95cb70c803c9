//===- TmaCopyTest.cpp - Bulk copies of tiles and bytes -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/TmaCopy.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct TmaCopyTest : testing::Test {
  Memory global = makeGlobalMemory();
  Memory shared = Memory(StateSpace::Shared, 0);
  llvm::SmallVector<Fault> faults;

  /// A tensor of bytes, each the hash of its address in the buffer.
  TensorMap make(std::vector<uint64_t> dims, std::vector<uint32_t> box) {
    TensorMap map;
    map.rank = dims.size();
    uint64_t size = llvm::alignTo(dims[0], 16);
    for (unsigned i = 1; i < map.rank; ++i) {
      map.strides[i - 1] = size;
      size *= dims[i];
    }
    llvm::copy(dims, map.dims.begin());
    llvm::copy(box, map.box.begin());
    std::vector<uint8_t> content(size);
    for (uint64_t i = 0; i < size; ++i)
      content[i] = hash(i);
    map.address = global.allocate("tensor", content, 16);
    return map;
  }

  static uint8_t hash(uint64_t i) {
    return static_cast<uint8_t>((i * 2654435761u) >> 13 | 1);
  }

  uint8_t at(uint64_t address) {
    auto byte = shared.read(address, 1, 1, faults);
    return byte.empty() ? 0 : byte[0];
  }

  void expectRefused(FaultKind kind, llvm::StringRef text) {
    ASSERT_FALSE(faults.empty()) << text.str();
    EXPECT_EQ(faults[0].kind, kind);
    EXPECT_NE(faults[0].what.find(text.str()), std::string::npos)
        << faults[0].what;
    faults.clear();
  }
};
} // namespace

// A tile of two dimensions inside the tensor, dense.
TEST_F(TmaCopyTest, PlainTile) {
  TensorMap map = make({64, 10}, {16, 4});
  uint64_t tile = shared.allocate("tile", 64, 128);
  EXPECT_EQ(loadTile(map, {32, 5}, global, shared, tile, faults), 64u);
  for (unsigned row = 0; row < 4; ++row)
    for (unsigned column = 0; column < 16; ++column)
      EXPECT_EQ(at(tile + 16 * row + column),
                hash(64 * (5 + row) + 32 + column));
  EXPECT_TRUE(faults.empty());
}

// Boxes over each edge, and wholly outside: zeros there, and all bytes count.
TEST_F(TmaCopyTest, OutOfBoundsIsFilled) {
  TensorMap map = make({24, 3}, {32, 4});
  uint64_t tile = shared.allocate("tile", 128, 128);
  for (auto [x, y] :
       {std::pair(0, 1), {16, 0}, {-16, -2}, {0, 3}, {32, 0}, {-32, 0}}) {
    EXPECT_EQ(loadTile(map, {x, y}, global, shared, tile, faults), 128u);
    for (int row = 0; row < 4; ++row)
      for (int column = 0; column < 32; ++column) {
        int c = x + column, r = y + row;
        bool isInside = c >= 0 && c < 24 && r >= 0 && r < 3;
        EXPECT_EQ(at(tile + 32 * row + column), isInside ? hash(32 * r + c) : 0)
            << x << ' ' << y << ' ' << row << ' ' << column;
      }
  }
  EXPECT_TRUE(faults.empty());
}

// Loads begin at multiples of 16 bytes along dimension 0, of any type; not so
// along others.
TEST_F(TmaCopyTest, LoadsBeginAtSixteenBytes) {
  uint64_t tile = shared.allocate("tile", 128, 128);
  for (auto [element, bytes] : {std::pair(TensorElement::U8, 1),
                                {TensorElement::BF16, 2},
                                {TensorElement::F32, 4}}) {
    TensorMap map = make({32, 3}, {16, 2});
    map.element = element;
    map.dims[0] = 32 / bytes;
    map.box[0] = 16 / bytes;
    for (int x : {-16, 0, 16})
      EXPECT_EQ(loadTile(map, {x / bytes, 1}, global, shared, tile, faults),
                32u);
    EXPECT_TRUE(faults.empty());
    for (int x : {-8, 4, 8, 20}) {
      EXPECT_FALSE(loadTile(map, {x / bytes, 1}, global, shared, tile, faults));
      expectRefused(FaultKind::TensorMap,
                    "expected a load to begin at a multiple of 16 bytes");
    }
  }
}

// The other fill: a NaN in every value outside.
TEST_F(TmaCopyTest, NanFill) {
  TensorMap map = make({32, 2}, {16, 2});
  map.element = TensorElement::BF16;
  map.dims[0] = 12;
  map.box[0] = 8;
  map.fill = TensorFill::Nan;
  uint64_t tile = shared.allocate("tile", 32, 128);
  EXPECT_EQ(loadTile(map, {8, 1}, global, shared, tile, faults), 32u);
  for (unsigned i = 0; i < 8; ++i) {
    unsigned bits = at(tile + 2 * i) | at(tile + 2 * i + 1) << 8;
    unsigned tensor = hash(32 + 16 + 2 * i) | hash(32 + 17 + 2 * i) << 8;
    if (i < 4)
      EXPECT_EQ(bits, tensor);
    else
      EXPECT_TRUE((bits & 0x7F80) == 0x7F80 && (bits & 0x7F)) << bits;
  }
}

// 128-byte rows under the 128-byte swizzle land where CuTe's formula says, for
// a tile that does not start on the pattern's boundary too.
TEST_F(TmaCopyTest, Swizzled) {
  TensorMap map = make({256, 32}, {128, 16});
  map.swizzle = Swizzle::Span128;
  uint64_t base = shared.allocate("tile", 4096, 1024);
  for (unsigned start : {0, 128, 1024, 1280}) {
    ASSERT_EQ(loadTile(map, {128, 3}, global, shared, base + start, faults),
              2048u);
    for (unsigned row = 0; row < 16; ++row)
      for (unsigned column = 0; column < 128; ++column) {
        uint64_t linear = base + start + 128 * row + column;
        EXPECT_EQ(at(linear ^ (((linear >> 7) & 7) << 4)),
                  hash(256 * (3 + row) + 128 + column));
      }
  }
  EXPECT_TRUE(faults.empty());
}

// Atoms of 8 bytes: the flipped pattern moves them one by one.
TEST_F(TmaCopyTest, SwizzledWithFlip) {
  TensorMap map = make({128, 4}, {128, 4});
  map.swizzle = Swizzle::Span128Atom32Flip8;
  uint64_t base = shared.allocate("tile", 512, 1024);
  ASSERT_TRUE(loadTile(map, {0, 0}, global, shared, base, faults));
  for (unsigned row = 0; row < 4; ++row)
    for (unsigned column = 0; column < 128; ++column)
      EXPECT_EQ(at(base + 128 * row + (column ^ row << 5 ^ (row & 1) << 3)),
                hash(128 * row + column));
}

// Five dimensions; element strides skip values of the outer ones.
TEST_F(TmaCopyTest, FiveDimensionsWithElementStrides) {
  TensorMap map = make({16, 7, 5, 4, 3}, {16, 5, 2, 3, 2});
  map.elementStrides = {1, 2, 1, 3, 2};
  uint64_t tile = shared.allocate("tile", 16 * 3 * 2 * 1 * 1, 128);
  EXPECT_EQ(loadTile(map, {0, 1, 2, 3, 1}, global, shared, tile, faults), 96u);
  for (unsigned j = 0; j < 2; ++j)
    for (unsigned i = 0; i < 3; ++i)
      for (unsigned c = 0; c < 16; ++c) {
        uint64_t source =
            16 * ((1 + 2 * i) + 7 * ((2 + j) + 5 * (3 + 4 * uint64_t(1)))) + c;
        EXPECT_EQ(at(tile + 16 * (3 * j + i) + c), hash(source));
      }
  EXPECT_TRUE(faults.empty());
}

// Packed 4-bit values: half a byte each, even coordinates only.
TEST_F(TmaCopyTest, PackedFp4) {
  TensorMap map = make({128, 4}, {64, 2});
  map.element = TensorElement::U4Align8;
  map.dims[0] = 250;
  uint64_t tile = shared.allocate("tile", 64, 128);
  EXPECT_EQ(loadTile(map, {192, 1}, global, shared, tile, faults), 64u);
  for (unsigned row = 0; row < 2; ++row)
    for (unsigned i = 0; i < 32; ++i)
      EXPECT_EQ(at(tile + 32 * row + i),
                i < 29 ? hash(128 * (1 + row) + 96 + i) : 0);
  EXPECT_FALSE(loadTile(map, {191, 1}, global, shared, tile, faults));
  expectRefused(FaultKind::TensorMap, "multiple of 2, but got 191");
}

// Padded 4-bit values: 8 bytes of each 16, the gap undefined; the barrier
// counts the values alone.
TEST_F(TmaCopyTest, PaddedFp4) {
  TensorMap map = make({64, 4}, {128, 2});
  map.element = TensorElement::U4Align16;
  map.dims[0] = 128;
  map.swizzle = Swizzle::Span128;
  uint64_t tile = shared.allocate("tile", 256, 1024);
  EXPECT_EQ(shared.write(tile, 256, 16, faults).size(), 256u);
  EXPECT_EQ(loadTile(map, {0, 1}, global, shared, tile, faults), 128u);
  for (unsigned row = 0; row < 2; ++row)
    for (unsigned chunk = 0; chunk < 8; ++chunk) {
      uint64_t place = tile + 128 * row + 16 * (chunk ^ row);
      for (unsigned i = 0; i < 8; ++i)
        EXPECT_EQ(at(place + i), hash(64 * (1 + row) + 8 * chunk + i));
      EXPECT_TRUE(faults.empty());
      at(place + 8);
      expectRefused(FaultKind::Uninitialised, "never written");
    }
  EXPECT_FALSE(loadTile(map, {64, 1}, global, shared, tile, faults));
  expectRefused(FaultKind::TensorMap, "multiple of 128, but got 64");
}

// Padded 6-bit values: 12 bytes of each 16.
TEST_F(TmaCopyTest, PaddedFp6) {
  TensorMap map = make({96, 2}, {128, 1});
  map.element = TensorElement::U6Align16;
  map.dims[0] = 128;
  uint64_t tile = shared.allocate("tile", 128, 128);
  EXPECT_EQ(loadTile(map, {0, 1}, global, shared, tile, faults), 96u);
  for (unsigned chunk = 0; chunk < 8; ++chunk)
    for (unsigned i = 0; i < 12; ++i)
      EXPECT_EQ(at(tile + 16 * chunk + i), hash(96 + 12 * chunk + i));
  EXPECT_TRUE(faults.empty());
}

// A store: swizzled rows come back in order, and the edge is left alone.
TEST_F(TmaCopyTest, StoreClips) {
  TensorMap map = make({24, 3}, {16, 4});
  uint64_t tile = shared.allocate("tile", 64, 128);
  auto bytes = shared.write(tile, 64, 16, faults);
  for (unsigned i = 0; i < 64; ++i)
    bytes[i] = 2 * i;
  EXPECT_TRUE(storeTile(map, {16, 1}, shared, tile, global, faults));
  EXPECT_TRUE(faults.empty());
  auto tensor = global.find("tensor")->bytes;
  for (unsigned r = 0; r < 3; ++r)
    for (unsigned c = 0; c < 32; ++c)
      EXPECT_EQ(tensor[32 * r + c], r >= 1 && c >= 16 && c < 24
                                        ? 2 * (16 * (r - 1) + c - 16)
                                        : hash(32 * r + c));
}

// What a store is said to write is what it writes.
TEST_F(TmaCopyTest, GlobalRanges) {
  uint64_t tile = shared.allocate("tile", 1024, 1024);
  (void)shared.write(tile, 1024, 16, faults);
  auto check = [&](const TensorMap &map, std::vector<int32_t> coordinates,
                   bool isByRows) {
    SCOPED_TRACE(coordinates[0]);
    Buffer *tensor = global.findAt(map.address);
    global.forget(tensor->base, tensor->bytes.size());
    EXPECT_TRUE((isByRows ? scatterRows : storeTile)(map, coordinates, shared,
                                                     tile, global, faults));
    std::vector<uint8_t> written(tensor->bytes.size());
    for (const GlobalRange &range : getGlobalRanges(map, coordinates, isByRows))
      for (uint64_t i = 0; i < range.size; ++i)
        written[range.address - tensor->base + i] = 1;
    EXPECT_EQ(written, tensor->written);
  };
  TensorMap plane = make({24, 3}, {16, 4});
  for (int32_t column : {0, 8, 16, 24})
    for (int32_t row : {0, 1, 3})
      check(plane, {column, row}, false);
  check(make({40, 5, 4}, {16, 2, 3}), {32, 1, 2}, false);
  TensorMap strided = make({32, 8}, {16, 6});
  strided.elementStrides[1] = 2;
  check(strided, {16, 1}, false);
  TensorMap narrow = make({48, 4}, {32, 2});
  narrow.element = TensorElement::U4Align8;
  narrow.dims[0] = 96;
  check(narrow, {80, 1}, false);
  check(make({32, 10}, {32, 1}), {0, 1, 3, 9, 12}, true);
  EXPECT_TRUE(faults.empty());
  // Nothing where the copy is refused.
  EXPECT_TRUE(getGlobalRanges(plane, {0}, false).empty());
  EXPECT_TRUE(getGlobalRanges(plane, {0, 1, 2, 3, 4}, true).empty());
}

// Load and store are each other's inverse under every swizzle.
TEST_F(TmaCopyTest, RoundTrip) {
  for (Swizzle swizzle :
       {Swizzle::None, Swizzle::Span32, Swizzle::Span64, Swizzle::Span128,
        Swizzle::Span128Atom32, Swizzle::Span128Atom64}) {
    unsigned inner = swizzle == Swizzle::None ? 128 : getSpan(swizzle);
    TensorMap map = make({128, 8}, {inner, 8});
    map.swizzle = swizzle;
    uint64_t tile = shared.allocate("tile", 1024, 1024);
    ASSERT_TRUE(loadTile(map, {0, 0}, global, shared, tile, faults));
    TensorMap result = map;
    result.address = global.allocate("result", 1024, 16);
    ASSERT_TRUE(storeTile(result, {0, 0}, shared, tile, global, faults));
    for (unsigned row = 0; row < 8; ++row)
      EXPECT_EQ(global.read(map.address + 128 * row, inner, 16, faults),
                global.read(result.address + 128 * row, inner, 16, faults));
  }
  EXPECT_TRUE(faults.empty());
}

// A store of 6-bit values packs bytes by dropping their two upper bits.
TEST_F(TmaCopyTest, StorePacks6Bits) {
  TensorMap map = make({96, 1}, {128, 1});
  map.element = TensorElement::U6Align16;
  map.dims[0] = 128;
  uint64_t tile = shared.allocate("tile", 128, 128);
  auto bytes = shared.write(tile, 128, 16, faults);
  for (unsigned i = 0; i < 128; ++i)
    bytes[i] = 0xC0 | (i * 7 & 0x3F);
  ASSERT_TRUE(storeTile(map, {0, 0}, shared, tile, global, faults));
  const auto &packed = global.find("tensor")->bytes;
  // The four values 0, 7, 14, 21 fill three bytes, the first one lowest.
  unsigned word = 0 | 7 << 6 | 14 << 12 | 21 << 18;
  EXPECT_EQ(packed[0], word & 0xFF);
  EXPECT_EQ(packed[1], word >> 8 & 0xFF);
  EXPECT_EQ(packed[2], word >> 16);
}

// gather4 takes any four rows, those outside the tensor as zeros; scatter4
// puts them back.
TEST_F(TmaCopyTest, GatherAndScatter) {
  TensorMap map = make({32, 10}, {32, 1});
  uint64_t tile = shared.allocate("tile", 128, 128);
  int32_t rows[] = {9, 2, -1, 5};
  EXPECT_EQ(gatherRows(map, {0, 9, 2, -1, 5}, global, shared, tile, faults),
            128u);
  for (unsigned i = 0; i < 4; ++i)
    for (unsigned c = 0; c < 32; ++c)
      EXPECT_EQ(at(tile + 32 * i + c),
                rows[i] < 0 ? 0 : hash(32 * rows[i] + c));
  EXPECT_TRUE(scatterRows(map, {0, 0, 1, 3, 12}, shared, tile, global, faults));
  EXPECT_TRUE(faults.empty());
  const auto &tensor = global.find("tensor")->bytes;
  EXPECT_EQ(tensor[1], hash(32 * 9 + 1));
  EXPECT_EQ(tensor[32 + 1], hash(32 * 2 + 1));
  EXPECT_EQ(tensor[32 * 3 + 1], 0);
  map.box[1] = 2;
  EXPECT_FALSE(gatherRows(map, {0, 1, 2, 3, 4}, global, shared, tile, faults));
  expectRefused(FaultKind::TensorMap, "a box of one row");
}

// Misuse of an instruction with a good map.
TEST_F(TmaCopyTest, Refused) {
  TensorMap map = make({64, 10}, {16, 4});
  uint64_t tile = shared.allocate("tile", 256, 128);
  EXPECT_FALSE(loadTile(map, {0, 0, 0}, global, shared, tile, faults));
  expectRefused(FaultKind::TensorMap, "expected 2 coordinates");
  EXPECT_FALSE(loadTile(map, {0, 0}, global, shared, tile + 16, faults));
  expectRefused(FaultKind::Misaligned, "multiple of 128, but got 0x10");
  EXPECT_FALSE(storeTile(map, {0, -1}, shared, tile, global, faults));
  expectRefused(FaultKind::TensorMap, "not to be negative, but got -1");
  EXPECT_FALSE(loadTile(map, {0, 0}, global, shared, tile + 256, faults));
  expectRefused(FaultKind::OutOfBounds, "past the end of 'tile'");
  // Bytes never written are copied all the same.
  EXPECT_TRUE(storeTile(map, {0, 0}, shared, tile + 128, global, faults));
  expectRefused(FaultKind::Uninitialised, "'tile'");

  TensorMap beyond = map;
  beyond.dims[1] = 11;
  EXPECT_FALSE(loadTile(beyond, {0, 8}, global, shared, tile, faults));
  expectRefused(FaultKind::OutOfBounds, "past the end of 'tensor'");
  TensorMap large = make({16, 1, 1, 1, 1}, {16, 256, 16, 1, 1});
  EXPECT_FALSE(loadTile(large, {0, 0, 0, 0, 0}, global, shared, tile, faults));
  expectRefused(FaultKind::OutOfBounds, "past the end of 'tile'");
  // More bytes than 32 bits count.
  TensorMap huge = make({16, 1, 1, 1, 1}, {16, 256, 256, 256, 256});
  EXPECT_FALSE(loadTile(huge, {0, 0, 0, 0, 0}, global, shared, tile, faults));
  expectRefused(FaultKind::TensorMap, "at most 233472 bytes");
  TensorMap broken = map;
  broken.box[1] = 0;
  EXPECT_FALSE(loadTile(broken, {0, 0}, global, shared, tile, faults));
  expectRefused(FaultKind::TensorMap, "box to be 1 to 256");
  TensorMap ftz = map;
  ftz.element = TensorElement::F32Ftz;
  ftz.dims[0] = 16;
  EXPECT_FALSE(loadTile(ftz, {0, 0}, global, shared, tile, faults));
  expectRefused(FaultKind::TensorMap, "not modelled");
  TensorMap padded = map;
  padded.element = TensorElement::U4Align16;
  padded.dims[0] = 128;
  padded.box[0] = 128;
  EXPECT_FALSE(storeTile(padded, {0, 0}, shared, tile, global, faults));
  expectRefused(FaultKind::TensorMap, "neither type 16U4_ALIGN16B");
}

// Flat copies: whole 16 bytes, between any two spaces.
TEST_F(TmaCopyTest, Bulk) {
  std::vector<uint8_t> content(512);
  for (unsigned i = 0; i < 512; ++i)
    content[i] = hash(i);
  uint64_t scales = global.allocate("scales", content, 16);
  uint64_t tile = shared.allocate("tile", 512, 128);
  EXPECT_TRUE(copyBulk(global, scales, shared, tile, 512, faults));
  EXPECT_EQ(shared.read(tile, 512, 16, faults), llvm::ArrayRef(content));
  EXPECT_TRUE(copyBulk(global, scales, shared, tile, 0, faults));
  EXPECT_TRUE(faults.empty());

  EXPECT_FALSE(copyBulk(global, scales, shared, tile, 24, faults));
  expectRefused(FaultKind::Misaligned, "multiple of 16, but got 24");
  EXPECT_FALSE(copyBulk(global, scales + 8, shared, tile, 16, faults));
  expectRefused(FaultKind::Misaligned, "multiple of 16");
  EXPECT_FALSE(copyBulk(global, scales, shared, tile + 8, 16, faults));
  expectRefused(FaultKind::Misaligned, "multiple of 16");
  EXPECT_FALSE(copyBulk(global, scales + 256, shared, tile, 512, faults));
  expectRefused(FaultKind::OutOfBounds, "256 bytes past the end of 'scales'");
}

// .cp_mask: bit i is byte i of each 16; the others stay as they were.
TEST_F(TmaCopyTest, BulkWithByteMask) {
  uint64_t from = shared.allocate("from", 32, 16);
  for (uint8_t &byte : shared.write(from, 32, 16, faults))
    byte = 9;
  uint64_t to = global.allocate("to", std::vector<uint8_t>(32, 1), 16);
  EXPECT_TRUE(copyBulk(shared, from, global, to, 32, faults, 0x8001));
  const auto &bytes = global.find("to")->bytes;
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(bytes[i], i % 16 == 0 || i % 16 == 15 ? 9 : 1);
}

//===----------------------------------------------------------------------===//
// Im2col
//===----------------------------------------------------------------------===//

namespace {
/// Images of bytes, and the columns of pixels that im2col makes of them.
struct Im2colTest : TmaCopyTest {
  static constexpr int kChannels = 32, kWidth = 5, kHeight = 4, kImages = 3;

  TensorMap makeImages(int lower, int upper, uint32_t pixels) {
    TensorMap map = make({uint64_t(kChannels), uint64_t(kWidth),
                          uint64_t(kHeight), uint64_t(kImages)},
                         {16, pixels});
    map.mode = TensorMode::Im2col;
    map.lowerCorner = {int16_t(lower), int16_t(lower)};
    map.upperCorner = {int16_t(upper), int16_t(upper)};
    return map;
  }

  static uint8_t pixel(int c, int w, int h, int n) {
    if (w < 0 || w >= kWidth || h < 0 || h >= kHeight || n >= kImages)
      return 0;
    return hash(c + kChannels * (w + kWidth * (h + kHeight * n)));
  }
};
} // namespace

// A column goes on from a row of the bounding box to the next, and from an
// image to the next; offsets reach beyond the box. What lies outside the images
// is zero, behind the last one too.
TEST_F(Im2colTest, ColumnOfPixels) {
  // A filter of 3 x 3 with a padding of 1: as many positions as pixels.
  TensorMap map = makeImages(-1, -1, 64);
  uint64_t tile = shared.allocate("tile", 1024, 128);
  for (uint16_t s : {0, 1, 2})
    for (uint16_t r : {0, 2}) {
      EXPECT_EQ(
          loadTile(map, {16, 2, 1, 0}, global, shared, tile, faults, {s, r}),
          1024u);
      // From position (3, 2) of the first image on, counted from its corner.
      for (int i = 0; i < 64; ++i) {
        int position = 3 + kWidth * 2 + i;
        int w = position % kWidth - 1 + s;
        int h = position / kWidth % kHeight - 1 + r;
        int n = position / (kWidth * kHeight);
        for (int c = 0; c < 16; ++c)
          EXPECT_EQ(at(tile + 16 * i + c), pixel(16 + c, w, h, n))
              << s << ' ' << r << ' ' << i << ' ' << c;
      }
    }
  EXPECT_TRUE(faults.empty());
}

// Steps of two pixels: the number of pixels stays that of the map.
TEST_F(Im2colTest, ElementStrides) {
  TensorMap map = makeImages(0, -1, 8);
  map.elementStrides = {1, 2, 2, 1};
  uint64_t tile = shared.allocate("tile", 128, 128);
  EXPECT_EQ(loadTile(map, {0, 0, 0, 1}, global, shared, tile, faults, {1, 0}),
            128u);
  // The box has the pixels 0 to 3 and the lines 0 to 2: positions 0 and 2.
  for (int i = 0; i < 8; ++i)
    EXPECT_EQ(at(tile + 16 * i + 3),
              pixel(3, i % 2 * 2 + 1, i / 2 % 2 * 2, 1 + i / 4))
        << i;
  EXPECT_TRUE(faults.empty());
}

// A column that is stored leaves out what lies outside the images.
TEST_F(Im2colTest, Store) {
  TensorMap map = makeImages(-1, 0, 8);
  uint64_t tile = shared.allocate("tile", 128, 128);
  auto bytes = shared.write(tile, 128, 1, faults);
  for (int i = 0; i < 128; ++i)
    bytes[i] = 200 + i / 16;
  ASSERT_TRUE(storeTile(map, {0, -1, 0, 2}, shared, tile, global, faults));
  auto stored = [&](int w, int h) {
    return global.read(map.address +
                           kChannels * (w + kWidth * (h + kHeight * 2)),
                       1, 1, faults)[0];
  };
  // The first pixel is left of the image, the next five are its first line, and
  // the seventh is left of the second one.
  for (int w = 0; w < kWidth; ++w)
    EXPECT_EQ(stored(w, 0), 201 + w);
  EXPECT_EQ(stored(0, 1), 207);
  EXPECT_EQ(stored(1, 1), pixel(0, 1, 1, 2));
  EXPECT_TRUE(faults.empty());
}

// Coordinates outside the bounding box, and offsets that have no bits.
TEST_F(Im2colTest, Refused) {
  TensorMap map = makeImages(-1, -2, 8);
  uint64_t tile = shared.allocate("tile", 128, 128);
  for (int w : {-1, 2})
    EXPECT_TRUE(loadTile(map, {0, w, 0, 0}, global, shared, tile, faults));
  for (int w : {-2, 3}) {
    EXPECT_FALSE(loadTile(map, {0, w, 0, 0}, global, shared, tile, faults));
    expectRefused(FaultKind::TensorMap,
                  "expected coordinate 1 of an im2col copy to lie in the "
                  "bounding box of its map, -1 to 2");
  }
  EXPECT_TRUE(
      loadTile(map, {0, 0, 0, 0}, global, shared, tile, faults, {255, 0}));
  EXPECT_FALSE(
      loadTile(map, {0, 0, 0, 0}, global, shared, tile, faults, {256, 0}));
  expectRefused(FaultKind::TensorMap, "to be below 256, but got 256");
}

//===- TensorMapTest.cpp - Tensors as bulk copies see them ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/TensorMap.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct TensorMapTest : testing::Test {
  llvm::SmallVector<Fault> faults;

  /// The operand tile of an NVFP4 product as bytes: 128 rows of 128 bytes.
  TensorMap map = [] {
    TensorMap map;
    map.rank = 2;
    map.address = 0x7000'0000'0000;
    map.dims = {512, 300};
    map.strides = {512};
    map.box = {128, 128};
    map.swizzle = Swizzle::Span128;
    return map;
  }();

  /// Expects exactly one broken rule, with this text in it.
  void expectBroken(const TensorMap &broken, llvm::StringRef text) {
    EXPECT_FALSE(validate(broken, faults)) << text.str();
    EXPECT_EQ(faults.size(), 1u) << text.str();
    for (const Fault &fault : faults) {
      EXPECT_EQ(fault.kind, FaultKind::TensorMap);
      EXPECT_NE(fault.what.find(text.str()), std::string::npos) << fault.what;
    }
    faults.clear();
  }

  void expectValid(const TensorMap &good) {
    EXPECT_TRUE(validate(good, faults));
    for (const Fault &fault : faults)
      ADD_FAILURE() << fault.what;
    faults.clear();
  }
};
} // namespace

// As an error, broken rules are joined.
TEST_F(TensorMapTest, ErrorsJoinWhatIsBroken) {
  EXPECT_EQ(llvm::toString(checkTensorMap(map)), "");
  map.address += 8;
  map.box[0] = 0;
  std::string text = llvm::toString(checkTensorMap(map));
  EXPECT_EQ(text.find("tensor map: expected "), 0u) << text;
  EXPECT_EQ(llvm::StringRef(text).count("; expected "), 1u) << text;
}

// The numbers of CUtensorMapDataType and CUtensorMapSwizzle in cuda.h.
TEST_F(TensorMapTest, NumbersOfTheDriver) {
  EXPECT_EQ(unsigned(TensorElement::BF16), 9u);
  EXPECT_EQ(unsigned(TensorElement::U4Align8), 13u);
  EXPECT_EQ(unsigned(TensorElement::U4Align16), 14u);
  EXPECT_EQ(unsigned(TensorElement::U6Align16), 15u);
  EXPECT_EQ(unsigned(Swizzle::Span128), 3u);
  EXPECT_EQ(unsigned(Swizzle::Span128Atom64), 6u);
  EXPECT_EQ(getName(TensorElement::U4Align8), "16U4_ALIGN8B");
  EXPECT_EQ(getBits(TensorElement::F64), 64u);
}

// Every field survives the way through the 128 bytes.
TEST_F(TensorMapTest, RoundTrip) {
  TensorMap all;
  all.element = TensorElement::BF16;
  all.rank = 5;
  all.address = 0x7000'1234'5670;
  all.dims = {uint64_t(1) << 32, 2, 3, 4, 5};
  all.strides = {16, 32, 48, (uint64_t(1) << 40) - 16};
  all.box = {256, 5, 4, 3, 2};
  all.elementStrides = {1, 2, 3, 4, 8};
  all.interleave = TensorInterleave::Bytes32;
  all.swizzle = Swizzle::Span128Atom32Flip8;
  all.fill = TensorFill::Nan;
  auto back = decodeTensorMap(encode(all), faults);
  ASSERT_TRUE(back);
  EXPECT_TRUE(faults.empty());
  EXPECT_EQ(back->element, all.element);
  EXPECT_EQ(back->rank, all.rank);
  EXPECT_EQ(back->address, all.address);
  EXPECT_EQ(back->dims, all.dims);
  EXPECT_EQ(back->strides, all.strides);
  EXPECT_EQ(back->box, all.box);
  EXPECT_EQ(back->elementStrides, all.elementStrides);
  EXPECT_EQ(back->interleave, all.interleave);
  EXPECT_EQ(back->swizzle, all.swizzle);
  EXPECT_EQ(back->fill, all.fill);
}

// Bytes that no one encoded are no map.
TEST_F(TensorMapTest, NoMap) {
  std::array<uint8_t, 128> zeros = {};
  EXPECT_FALSE(decodeTensorMap(zeros, faults));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_EQ(faults[0].kind, FaultKind::TensorMap);
  EXPECT_FALSE(replaceField(zeros, TensorMapField::Rank, 0, 1, faults));
  EXPECT_EQ(faults.size(), 2u);
}

// Maps that GEMM kernels use.
TEST_F(TensorMapTest, ValidMaps) {
  expectValid(map);
  TensorMap fp4 = map;
  fp4.element = TensorElement::U4Align8;
  fp4.dims[0] = 1024;
  fp4.box[0] = 256;
  expectValid(fp4);
  TensorMap padded = map;
  padded.element = TensorElement::U4Align16;
  padded.box[0] = 128;
  expectValid(padded);
  TensorMap vector = map;
  vector.rank = 1;
  vector.swizzle = Swizzle::None;
  vector.box[0] = 256;
  expectValid(vector);
  TensorMap nan = map;
  nan.element = TensorElement::BF16;
  nan.box[0] = 64;
  nan.fill = TensorFill::Nan;
  expectValid(nan);
}

// Each rule of cuTensorMapEncodeTiled, broken alone.
TEST_F(TensorMapTest, RankAndAddress) {
  auto with = [&](auto change) {
    TensorMap changed = map;
    change(changed);
    return changed;
  };
  expectBroken(with([](TensorMap &m) { m.rank = 0; }), "rank of 1 to 5");
  expectBroken(with([](TensorMap &m) { m.rank = 6; }), "rank of 1 to 5");
  expectBroken(with([](TensorMap &m) { m.address += 8; }),
               "global address to be a multiple of 16");
  expectBroken(with([](TensorMap &m) {
                 m.element = TensorElement::U4Align16;
                 m.address += 16;
               }),
               "global address to be a multiple of 32");
  expectValid(with([](TensorMap &m) { m.address = (uint64_t(1) << 57) - 64; }));
  expectBroken(with([](TensorMap &m) { m.address = uint64_t(1) << 57; }),
               "global address to be below 2^57, but got 0x200000000000000");
  expectBroken(
      with([](TensorMap &m) { m.interleave = TensorInterleave::Bytes16; }),
      "rank 3 to 5");
}

TEST_F(TensorMapTest, SizesAndStrides) {
  auto with = [&](auto change) {
    TensorMap changed = map;
    change(changed);
    return changed;
  };
  expectBroken(with([](TensorMap &m) { m.dims[1] = 0; }),
               "size of dimension 1 to be 1 to 2^32, but got 0");
  expectBroken(with([](TensorMap &m) { m.dims[1] = (uint64_t(1) << 32) + 1; }),
               "size of dimension 1");
  expectBroken(with([](TensorMap &m) { m.strides[0] = 520; }),
               "stride of dimension 1 to be a multiple of 16 bytes");
  expectBroken(with([](TensorMap &m) { m.strides[0] = uint64_t(1) << 40; }),
               "below 2^40");
  expectBroken(with([](TensorMap &m) {
                 m.element = TensorElement::U4Align8;
                 m.dims[0] = 513;
               }),
               "multiple of 2, but got 513");
  expectBroken(with([](TensorMap &m) {
                 m.element = TensorElement::U4Align16;
                 m.dims[0] = 576;
               }),
               "multiple of 128, but got 576");
  expectBroken(with([](TensorMap &m) {
                 m.element = TensorElement::U6Align16;
                 m.strides[0] = 528;
               }),
               "multiple of 32 bytes");
  // The stride of a dimension that is not there means nothing.
  expectValid(with([](TensorMap &m) { m.strides[1] = 3; }));
}

TEST_F(TensorMapTest, BoxAndElementStrides) {
  auto with = [&](auto change) {
    TensorMap changed = map;
    change(changed);
    return changed;
  };
  expectBroken(with([](TensorMap &m) { m.box[1] = 257; }),
               "box to be 1 to 256 along dimension 1, but got 257");
  expectBroken(with([](TensorMap &m) { m.box[1] = 0; }), "but got 0");
  expectBroken(with([](TensorMap &m) { m.box[0] = 120; }),
               "multiple of 16 bytes along dimension 0");
  expectBroken(with([](TensorMap &m) {
                 m.element = TensorElement::U4Align8;
                 m.box[0] = 48;
               }),
               "48 values of 4 bits");
  expectBroken(with([](TensorMap &m) {
                 m.element = TensorElement::U4Align16;
                 m.box[0] = 64;
               }),
               "128 along dimension 0, but got 64");
  expectBroken(with([](TensorMap &m) { m.elementStrides[1] = 9; }),
               "element stride of dimension 1 to be 1 to 8, but got 9");
  expectBroken(with([](TensorMap &m) { m.elementStrides[1] = 0; }),
               "element stride of dimension 1");
  // That of dimension 0 too, though it means nothing without an interleave.
  expectBroken(with([](TensorMap &m) { m.elementStrides[0] = 9; }),
               "element stride of dimension 0 to be 1 to 8, but got 9");
}

// A box has as many bytes as the shared memory of a multiprocessor at most.
TEST_F(TensorMapTest, BytesOfTheBox) {
  TensorMap large = map;
  large.rank = 3;
  large.dims[2] = 300;
  large.strides[1] = 512 * 300;
  auto withBox = [&](std::array<uint32_t, 5> box, uint32_t stride) {
    TensorMap changed = large;
    changed.box = box;
    changed.elementStrides[2] = stride;
    return changed;
  };
  expectValid(withBox({128, 8, 228}, 1));
  expectBroken(withBox({128, 8, 229}, 1),
               "at most 233472 bytes, but got 234496");
  // Only whole element strides count.
  expectValid(withBox({128, 16, 229}, 2));
  expectBroken(withBox({128, 16, 230}, 2), "but got 235520");
  // Values of 4 bits have a byte each where shared memory has gaps.
  large.element = TensorElement::U4Align16;
  expectValid(withBox({128, 8, 228}, 1));
  expectBroken(withBox({128, 8, 229}, 1), "but got 234496");
  large.element = TensorElement::U4Align8;
  expectValid(withBox({256, 8, 228}, 1));
  expectBroken(withBox({256, 8, 229}, 1), "but got 234496");
}

TEST_F(TensorMapTest, ModesAndSwizzles) {
  auto with = [&](auto change) {
    TensorMap changed = map;
    change(changed);
    return changed;
  };
  expectBroken(with([](TensorMap &m) { m.swizzle = Swizzle::Span64; }),
               "at most 64 bytes along dimension 0");
  expectBroken(with([](TensorMap &m) {
                 m.swizzle = Swizzle::Span32;
                 m.box[0] = 48;
               }),
               "at most 32 bytes along dimension 0, the span of its swizzle, "
               "but got 48");
  expectBroken(with([](TensorMap &m) {
                 m.element = TensorElement::U4Align16;
                 m.swizzle = Swizzle::Span128Atom64;
               }),
               "no swizzle or one of 128 bytes without flip");
  expectBroken(with([](TensorMap &m) {
                 m.element = TensorElement::U6Align16;
                 m.swizzle = Swizzle::Span128Atom32Flip8;
               }),
               "no swizzle or one of 128 bytes without flip");
  expectValid(with([](TensorMap &m) {
    m.element = TensorElement::U6Align16;
    m.swizzle = Swizzle::Span128Atom64;
  }));
  expectBroken(with([](TensorMap &m) { m.fill = TensorFill::Nan; }),
               "floating-point element type for NaN fill, but got UINT8");
  auto interleaved = [](TensorMap &m) {
    m.rank = 3;
    m.dims[2] = m.box[2] = 1;
    m.strides[1] = 512 * 300;
    m.interleave = TensorInterleave::Bytes32;
  };
  expectBroken(with(interleaved), "swizzled within 32 bytes");
  auto interleavedAt = [&](uint64_t offset, uint64_t stride) {
    return with([&](TensorMap &m) {
      interleaved(m);
      m.swizzle = Swizzle::Span32;
      m.address += offset;
      m.strides[1] += stride;
    });
  };
  expectValid(interleavedAt(32, 32));
  expectBroken(with([&](TensorMap &m) {
                 interleaved(m);
                 m.swizzle = Swizzle::Span32;
                 m.box[0] = 24;
               }),
               "multiple of 16 bytes along dimension 0, but got 24 values");
  expectBroken(interleavedAt(16, 0), "global address to be a multiple of 32");
  expectBroken(interleavedAt(0, 16), "multiple of 32 bytes");
  expectBroken(with([&](TensorMap &m) {
                 interleaved(m);
                 m.interleave = TensorInterleave::Bytes16;
                 m.element = TensorElement::U6Align16;
               }),
               "16U6_ALIGN16B to have no interleave");
}

// tensormap.replace as a grouped product uses it: address, sizes, strides.
TEST_F(TensorMapTest, ReplaceForAnotherGroup) {
  auto bytes = encode(map);
  EXPECT_TRUE(replaceField(bytes, TensorMapField::GlobalAddress, 0,
                           0x7000'0040'0000, faults));
  EXPECT_TRUE(replaceField(bytes, TensorMapField::GlobalDim, 0, 256, faults));
  EXPECT_TRUE(replaceField(bytes, TensorMapField::GlobalDim, 1, 77, faults));
  EXPECT_TRUE(
      replaceField(bytes, TensorMapField::GlobalStride, 0, 256, faults));
  auto changed = decodeTensorMap(bytes, faults);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->address, 0x7000'0040'0000u);
  EXPECT_EQ(changed->dims[0], 256u);
  EXPECT_EQ(changed->dims[1], 77u);
  EXPECT_EQ(changed->strides[0], 256u);
  EXPECT_EQ(changed->box, map.box);
  EXPECT_EQ(changed->swizzle, map.swizzle);
  EXPECT_TRUE(faults.empty());
}

// The other fields; ranks are less one, element types have PTX's numbers.
TEST_F(TensorMapTest, ReplaceModes) {
  auto bytes = encode(map);
  EXPECT_TRUE(replaceField(bytes, TensorMapField::Rank, 0, 3, faults));
  EXPECT_TRUE(replaceField(bytes, TensorMapField::BoxDim, 4, 7, faults));
  EXPECT_TRUE(replaceField(bytes, TensorMapField::ElementStride, 4, 2, faults));
  EXPECT_TRUE(
      replaceField(bytes, TensorMapField::InterleaveLayout, 0, 1, faults));
  EXPECT_TRUE(
      replaceField(bytes, TensorMapField::SwizzleAtomicity, 0, 2, faults));
  EXPECT_TRUE(replaceField(bytes, TensorMapField::FillMode, 0, 1, faults));
  auto changed = decodeTensorMap(bytes, faults);
  ASSERT_TRUE(changed);
  EXPECT_EQ(changed->rank, 4u);
  EXPECT_EQ(changed->box[4], 7u);
  EXPECT_EQ(changed->elementStrides[4], 2u);
  EXPECT_EQ(changed->interleave, TensorInterleave::Bytes16);
  EXPECT_EQ(changed->swizzle, Swizzle::Span128Atom32Flip8);
  EXPECT_EQ(changed->fill, TensorFill::Nan);

  // Table "Tensormap new_val validity", column .elemtype.
  TensorElement expected[] = {
      TensorElement::U8,        TensorElement::U16,
      TensorElement::U32,       TensorElement::S32,
      TensorElement::U64,       TensorElement::S64,
      TensorElement::F16,       TensorElement::F32,
      TensorElement::F32Ftz,    TensorElement::F64,
      TensorElement::BF16,      TensorElement::TF32,
      TensorElement::TF32Ftz,   TensorElement::U4Align8,
      TensorElement::U4Align16, TensorElement::U6Align16};
  for (unsigned i = 0; i < 16; ++i) {
    EXPECT_TRUE(replaceField(bytes, TensorMapField::ElementType, 0, i, faults));
    EXPECT_EQ(decodeTensorMap(bytes, faults)->element, expected[i]) << i;
  }
  EXPECT_TRUE(faults.empty());
}

// Values and ordinals outside the table change nothing.
TEST_F(TensorMapTest, ReplaceNonsense) {
  auto bytes = encode(map);
  const auto before = bytes;
  EXPECT_FALSE(replaceField(bytes, TensorMapField::Rank, 0, 5, faults));
  EXPECT_FALSE(replaceField(bytes, TensorMapField::ElementType, 0, 16, faults));
  EXPECT_FALSE(
      replaceField(bytes, TensorMapField::GlobalStride, 4, 16, faults));
  EXPECT_FALSE(replaceField(bytes, TensorMapField::GlobalDim, 5, 16, faults));
  EXPECT_FALSE(replaceField(bytes, TensorMapField::FillMode, 0, 2, faults));
  EXPECT_EQ(faults.size(), 5u);
  EXPECT_EQ(bytes, before);
  faults.clear();

  // An atomicity without the swizzle of 128 bytes is met when the map is read.
  EXPECT_TRUE(
      replaceField(bytes, TensorMapField::SwizzleAtomicity, 0, 1, faults));
  EXPECT_TRUE(replaceField(bytes, TensorMapField::SwizzleMode, 0, 2, faults));
  EXPECT_FALSE(decodeTensorMap(bytes, faults));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].what.find("swizzle mode 2 with atomicity 1"),
            std::string::npos);
}

//===----------------------------------------------------------------------===//
// Im2col maps
//===----------------------------------------------------------------------===//

/// Images of 9 x 14 pixels of 64 channels, for filters of 3 x 3 with a padding
/// of one pixel.
static TensorMap makeImages() {
  TensorMap map;
  map.mode = TensorMode::Im2col;
  map.element = TensorElement::F16;
  map.rank = 4;
  map.address = 0x7000'0000'0000;
  map.dims = {64, 9, 14, 64};
  map.strides = {128, 128 * 9, 128 * 9 * 14};
  map.box = {64, 256};
  map.lowerCorner = {-1, -1};
  map.upperCorner = {-1, -1};
  map.swizzle = Swizzle::Span128;
  return map;
}

// Corners and the mode survive the way through the 128 bytes, too.
TEST_F(TensorMapTest, RoundTripOfIm2col) {
  TensorMap images = makeImages();
  images.rank = 5;
  images.lowerCorner = {-16, 2, 15};
  images.upperCorner = {15, -3, -16};
  auto back = decodeTensorMap(encode(images), faults);
  ASSERT_TRUE(back);
  EXPECT_EQ(back->mode, TensorMode::Im2col);
  EXPECT_EQ(back->box, images.box);
  EXPECT_EQ(back->lowerCorner, images.lowerCorner);
  EXPECT_EQ(back->upperCorner, images.upperCorner);
  EXPECT_EQ(back->elementStrides, images.elementStrides);
}

// Three dimensions at least, and what the driver's header allows of channels,
// pixels and corners; each bound itself is good.
TEST_F(TensorMapTest, RulesOfIm2col) {
  expectValid(makeImages());
  TensorMap images = makeImages();
  images.rank = 2;
  expectBroken(images, "expected a rank of 3 to 5 of an im2col map, but got 2");

  images = makeImages();
  images.swizzle = Swizzle::None;
  images.box = {256, 1};
  expectValid(images);
  images.box = {264, 1};
  expectBroken(images, "expected 1 to 256 channels of a pixel, but got 264");
  images.box = {8, 1024};
  expectValid(images);
  for (uint32_t pixels : {0, 1025}) {
    images.box = {8, pixels};
    expectBroken(images, "expected 1 to 1024 pixels of a column");
  }
  images.box = {4, 1};
  expectBroken(images, "expected the box to be a multiple of 16 bytes");
  images.box = {256, 1024};
  expectBroken(images, "expected the box to have at most 233472 bytes");

  for (auto [rank, end] : {std::pair(3, 1 << 15), {4, 1 << 7}, {5, 1 << 4}}) {
    images = makeImages();
    images.rank = rank;
    images.dims[4] = 1;
    images.strides[3] = 16;
    images.lowerCorner = {int16_t(-end)};
    images.upperCorner = {int16_t(end - 1)};
    expectValid(images);
    if (rank == 3)
      continue;
    images.lowerCorner[1] = int16_t(-end - 1);
    expectBroken(images, "expected corners of the bounding box of a map");
    images.lowerCorner[1] = 0;
    images.upperCorner[0] = int16_t(end);
    expectBroken(images, "along dimension 1");
  }
}

// tensormap.replace has a form for tiled maps alone.
TEST_F(TensorMapTest, ReplaceOfIm2col) {
  auto bytes = encode(makeImages());
  const auto before = bytes;
  EXPECT_FALSE(replaceField(bytes, TensorMapField::GlobalDim, 0, 8, faults));
  ASSERT_EQ(faults.size(), 1u);
  EXPECT_NE(faults[0].what.find("this one is of im2col mode"),
            std::string::npos);
  EXPECT_EQ(bytes, before);
}

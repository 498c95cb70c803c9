//===- SmemDescriptorTest.cpp - Matrices in shared memory -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Memory/SmemDescriptor.h"
#include "FaultTest.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct SmemDescriptorTest : FaultTest {
  /// A good descriptor of these fields, in bytes.
  SmemDescriptor make(uint64_t start, uint64_t leading, uint64_t stride,
                      uint64_t layout) {
    auto result = decodeSmemDescriptor(start >> 4 | leading >> 4 << 16 |
                                           stride >> 4 << 32 |
                                           uint64_t(1) << 46 | layout << 61,
                                       faults);
    EXPECT_TRUE(result && faults.empty());
    return result.value_or(SmemDescriptor{});
  }

  void expectFault(llvm::StringRef text) {
    FaultTest::expectFault(FaultKind::Descriptor, text);
  }
};
} // namespace

/// CuTe's Swizzle<Bits, 4, 3> of a byte address.
static uint32_t cuteSwizzle(unsigned bits, uint32_t address) {
  return address ^ (((address >> 7) & ((1u << bits) - 1)) << 4);
}

// Constants that CUTLASS makes: a data tile, and an atom of scales for cp.
TEST_F(SmemDescriptorTest, ConstantsOfCutlass) {
  auto data = decodeSmemDescriptor(0x4000404000010000 | 0x8400 >> 4, faults);
  ASSERT_TRUE(data);
  EXPECT_EQ(data->start, 0x8400u);
  EXPECT_EQ(data->leading, 16u);
  EXPECT_EQ(data->stride, 1024u);
  EXPECT_EQ(data->baseOffset, 0u);
  EXPECT_EQ(data->swizzle, Swizzle::Span128);

  auto scales = decodeSmemDescriptor(0x0000400800000000 | 0x10200 >> 4, faults);
  ASSERT_TRUE(scales);
  EXPECT_EQ(scales->start, 0x10200u);
  EXPECT_EQ(scales->leading, 0u);
  EXPECT_EQ(scales->stride, 128u);
  EXPECT_EQ(scales->swizzle, Swizzle::None);
  EXPECT_TRUE(faults.empty());
}

TEST_F(SmemDescriptorTest, Layouts) {
  EXPECT_EQ(make(0, 0, 0, 0).swizzle, Swizzle::None);
  EXPECT_EQ(make(0, 0, 0, 1).swizzle, Swizzle::Span128Atom32);
  EXPECT_EQ(make(0, 0, 0, 2).swizzle, Swizzle::Span128);
  EXPECT_EQ(make(0, 0, 0, 4).swizzle, Swizzle::Span64);
  EXPECT_EQ(make(0, 0, 0, 6).swizzle, Swizzle::Span32);
  for (uint64_t layout : {3, 5, 7}) {
    EXPECT_FALSE(
        decodeSmemDescriptor(layout << 61 | uint64_t(1) << 46, faults));
    expectFault("expected layout 0, 1, 2, 4 or 6");
  }
}

// Each reserved bit is reported, and the rest of the descriptor still read.
TEST_F(SmemDescriptorTest, ReservedBits) {
  uint64_t good = 0x4000404000010040;
  for (unsigned bit : {14, 15, 30, 31, 53, 54, 55, 56, 57, 58, 59, 60}) {
    auto result = decodeSmemDescriptor(good | uint64_t(1) << bit, faults);
    ASSERT_TRUE(result);
    EXPECT_EQ(result->start, 0x400u);
    expectFault("reserved bits");
  }
  for (uint64_t version : {0, 2, 3, 5}) {
    uint64_t bits = (good & ~(uint64_t(7) << 46)) | version << 46;
    EXPECT_TRUE(decodeSmemDescriptor(bits, faults));
    expectFault("bits 46-48");
  }
  EXPECT_FALSE(decodeSmemDescriptor(good | uint64_t(1) << 52, faults));
  expectFault("leading offset");
}

// A byte address that nobody shifted: it reaches into the reserved bits.
TEST_F(SmemDescriptorTest, AddressNotShifted) {
  EXPECT_TRUE(decodeSmemDescriptor(0x4000404000010000 | 0x8400, faults));
  expectFault("reserved bits of a shared memory descriptor to be 0, but got "
              "0x8000");
}

// The examples of section "Canonical Layouts", with their exact layouts.
TEST_F(SmemDescriptorTest, KMajorNoSwizzleTf32) {
  // ((8,2),(4,4)):((4,32),(1,64)), LBO 64 values, SBO 32 values.
  SmemDescriptor d = make(0, 64 * 4, 32 * 4, 0);
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned k = 0; k < 16; ++k)
      EXPECT_EQ(locate(d, Major::K, 4 * k, m),
                4 * (m % 8 * 4 + m / 8 * 32 + k % 4 + k / 4 * 64));
}

TEST_F(SmemDescriptorTest, KMajorSwizzle32Tf32) {
  // Swizzle<1,4,3> o ((8,2),(4,4)):((8,64),(1,4)), SBO 64 values: two chunks of
  // 4 values are what a row of 32 bytes holds.
  SmemDescriptor d = make(0, 16, 64 * 4, 6);
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned k = 0; k < 8; ++k)
      EXPECT_EQ(
          locate(d, Major::K, 4 * k, m),
          cuteSwizzle(1, 4 * (m % 8 * 8 + m / 8 * 64 + k % 4 + k / 4 * 4)));
}

TEST_F(SmemDescriptorTest, MnMajorNoSwizzleBf16) {
  // ((8,1,2),(8,2)):((1,8,64),(8,128)), LBO 128 values, SBO 64 values.
  SmemDescriptor d = make(0, 128 * 2, 64 * 2, 0);
  for (unsigned m = 0; m < 16; ++m)
    for (unsigned k = 0; k < 16; ++k)
      EXPECT_EQ(locate(d, Major::MN, 2 * m, k),
                2 * (m % 8 + m / 8 * 64 + k % 8 * 8 + k / 8 * 128));
}

TEST_F(SmemDescriptorTest, MnMajorSwizzle32Bf16) {
  // Swizzle<1,4,3> o ((8,2,2),(8,2)):((1,8,128),(16,256)).
  SmemDescriptor d = make(0, 128 * 2, 256 * 2, 6);
  for (unsigned m = 0; m < 32; ++m)
    for (unsigned k = 0; k < 16; ++k)
      EXPECT_EQ(locate(d, Major::MN, 2 * m, k),
                cuteSwizzle(1, 2 * (m % 8 + m / 8 % 2 * 8 + m / 16 * 128 +
                                    k % 8 * 16 + k / 8 * 256)));
}

TEST_F(SmemDescriptorTest, MnMajorSwizzle64Bf16) {
  // Swizzle<2,4,3> o ((8,4,2),(8,2)):((1,8,256),(32,512)).
  SmemDescriptor d = make(0, 256 * 2, 512 * 2, 4);
  for (unsigned m = 0; m < 64; ++m)
    for (unsigned k = 0; k < 16; ++k)
      EXPECT_EQ(locate(d, Major::MN, 2 * m, k),
                cuteSwizzle(2, 2 * (m % 8 + m / 8 % 4 * 8 + m / 32 * 256 +
                                    k % 8 * 32 + k / 8 * 512)));
}

// CuTe's atom for 32-byte chunks: 1024 bits by 4, Swizzle<2,5,2>.
TEST_F(SmemDescriptorTest, MnMajorSwizzle128Atom32) {
  SmemDescriptor d = make(0, 4096, 8192, 1);
  for (unsigned m = 0; m < 256; m += 4)
    for (unsigned k = 0; k < 8; ++k) {
      uint32_t linear = m % 128 + m / 128 * 4096 + k % 4 * 128 + k / 4 * 8192;
      EXPECT_EQ(locate(d, Major::MN, m, k),
                linear ^ (((linear >> 7) & 3) << 5));
    }
}

// A tile as TMA writes it, 128 rows of 128 bytes: the MMA's next K step is 32
// bytes further in the start field, and the swizzle applies to the sum.
TEST_F(SmemDescriptorTest, KStepsOfATile) {
  for (unsigned step = 0; step < 4; ++step) {
    auto d = decodeSmemDescriptor((0x4000404000010000 | 0x2000 >> 4) + 2 * step,
                                  faults);
    ASSERT_TRUE(d);
    for (unsigned row = 0; row < 128; ++row)
      for (unsigned byte = 0; byte < 32; ++byte) {
        uint32_t linear = 0x2000 + 128 * row + 32 * step + byte;
        EXPECT_EQ(locate(*d, Major::K, byte, row),
                  linear ^ (((linear >> 7) & 7) << 4));
      }
  }
  EXPECT_TRUE(faults.empty());
}

// A pattern that starts 3 rows past its boundary.
TEST_F(SmemDescriptorTest, BaseOffset) {
  auto d = decodeSmemDescriptor(
      0x4000404000010000 | 0x180 >> 4 | uint64_t(3) << 49, faults);
  ASSERT_TRUE(d);
  EXPECT_EQ(d->baseOffset, 3u);
  for (unsigned row = 0; row < 8; ++row)
    EXPECT_EQ(locate(*d, Major::K, 0, row), 0x180 + 128 * row + 16 * row);
}

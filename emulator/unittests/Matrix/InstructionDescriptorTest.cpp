//===- InstructionDescriptorTest.cpp - Descriptor of tcgen05.mma ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Matrix/InstructionDescriptor.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
struct InstructionDescriptorTest : testing::Test {
  llvm::SmallVector<Fault> faults;

  /// A descriptor that must be good.
  InstructionDescriptor decode(uint32_t bits, MmaKind kind,
                               unsigned ctaGroup = 1) {
    auto result = decodeInstructionDescriptor(bits, {kind, ctaGroup}, faults);
    EXPECT_TRUE(result);
    for (const Fault &fault : faults)
      ADD_FAILURE() << fault.what;
    return result.value_or(InstructionDescriptor{});
  }

  /// One fault with this text; `isGood` says whether it may be used still.
  void expectFault(uint32_t bits, const MmaVariant &variant, bool isGood,
                   llvm::StringRef text) {
    auto result = decodeInstructionDescriptor(bits, variant, faults);
    EXPECT_EQ(result.has_value(), isGood) << text.str();
    EXPECT_EQ(faults.size(), 1u) << text.str();
    for (const Fault &fault : faults) {
      EXPECT_EQ(fault.kind, FaultKind::Descriptor);
      EXPECT_NE(fault.what.find(text.str()), std::string::npos) << fault.what;
    }
    faults.clear();
  }
};
} // namespace

// Constants that CUTLASS makes for NVFP4.
TEST_F(InstructionDescriptorTest, Nvfp4) {
  InstructionDescriptor d = decode(0x08200480, MmaKind::MXF4NVF4);
  EXPECT_EQ(d.m, 128u);
  EXPECT_EQ(d.n, 128u);
  EXPECT_EQ(d.k, 64u);
  EXPECT_EQ(d.a, MmaFormat::E2M1);
  EXPECT_EQ(d.b, MmaFormat::E2M1);
  EXPECT_EQ(d.accumulator, MmaAccumulator::F32);
  EXPECT_EQ(d.scaleFormat, ScaleFormat::UE4M3);
  EXPECT_EQ(d.scaleIdA, 0u);
  EXPECT_EQ(d.scaleIdB, 0u);
  EXPECT_FALSE(d.isSparse || d.saturate || d.negateA || d.negateB ||
               d.transposeA || d.transposeB);

  InstructionDescriptor pair = decode(0x10400480, MmaKind::MXF4NVF4, 2);
  EXPECT_EQ(pair.m, 256u);
  EXPECT_EQ(pair.n, 256u);
}

// MXFP8 128x128 with each scale factor id in both operands.
TEST_F(InstructionDescriptorTest, Mxfp8) {
  uint32_t constants[] = {0x08a00000, 0x28a00010, 0x48a00020, 0x68a00030};
  for (unsigned id = 0; id < 4; ++id) {
    InstructionDescriptor d = decode(constants[id], MmaKind::MXF8F6F4);
    EXPECT_EQ(d.m, 128u);
    EXPECT_EQ(d.n, 128u);
    EXPECT_EQ(d.k, 32u);
    EXPECT_EQ(d.a, MmaFormat::E4M3);
    EXPECT_EQ(d.b, MmaFormat::E4M3);
    EXPECT_EQ(d.scaleFormat, ScaleFormat::UE8M0);
    EXPECT_EQ(d.scaleIdA, id);
    EXPECT_EQ(d.scaleIdB, id);
  }
}

TEST_F(InstructionDescriptorTest, OtherBlockScaledConstants) {
  InstructionDescriptor mxfp4 = decode(0x10c00480, MmaKind::MXF4, 2);
  EXPECT_EQ(mxfp4.m, 256u);
  EXPECT_EQ(mxfp4.n, 256u);
  EXPECT_EQ(mxfp4.scaleFormat, ScaleFormat::UE8M0);
  InstructionDescriptor mixed = decode(0x08c01400, MmaKind::MXF8F6F4);
  EXPECT_EQ(mixed.a, MmaFormat::E4M3);
  EXPECT_EQ(mixed.b, MmaFormat::E2M1);
  EXPECT_EQ(mixed.n, 256u);
}

/// M, N and D's type of the plain kinds, at their bits in PTX's table.
static uint32_t plain(unsigned m, unsigned n, unsigned d) {
  return (m >> 4) << 24 | (n >> 3) << 17 | d << 4;
}

// The types of the plain kinds.
TEST_F(InstructionDescriptorTest, PlainKinds) {
  InstructionDescriptor bf16 =
      decode(plain(64, 8, 1) | 1 << 7 | 1 << 10, MmaKind::F16);
  EXPECT_EQ(bf16.m, 64u);
  EXPECT_EQ(bf16.n, 8u);
  EXPECT_EQ(bf16.k, 16u);
  EXPECT_EQ(bf16.a, MmaFormat::BF16);
  EXPECT_EQ(bf16.b, MmaFormat::BF16);
  EXPECT_EQ(decode(plain(128, 256, 0), MmaKind::F16).accumulator,
            MmaAccumulator::F16);
  InstructionDescriptor tf32 =
      decode(plain(256, 16, 1) | 2 << 7 | 2 << 10, MmaKind::TF32, 2);
  EXPECT_EQ(tf32.a, MmaFormat::TF32);
  EXPECT_EQ(tf32.k, 8u);
  EXPECT_EQ(tf32.m, 256u);
  InstructionDescriptor i8 =
      decode(plain(128, 48, 2) | 1 << 3 | 1 << 7, MmaKind::I8);
  EXPECT_EQ(i8.accumulator, MmaAccumulator::S32);
  EXPECT_TRUE(i8.saturate);
  EXPECT_EQ(i8.a, MmaFormat::S8);
  EXPECT_EQ(i8.b, MmaFormat::U8);
  InstructionDescriptor fp8 =
      decode(plain(128, 128, 1) | 1 << 7 | 1 << 13 | 1 << 16, MmaKind::F8F6F4);
  EXPECT_EQ(fp8.a, MmaFormat::E5M2);
  EXPECT_TRUE(fp8.negateA && !fp8.negateB && !fp8.transposeA && fp8.transposeB);
}

// A sparse product has twice the K. Kinds of 16 and 32 bits have a sparsity
// selector, others have 0 there.
TEST_F(InstructionDescriptorTest, Sparse) {
  EXPECT_EQ(decode(plain(128, 128, 1) | 1 << 2, MmaKind::F8F6F4).k, 64u);
  InstructionDescriptor f16 = decode(plain(128, 128, 1) | 5, MmaKind::F16);
  EXPECT_EQ(f16.k, 32u);
  EXPECT_EQ(f16.sparsitySelector, 1u);
  EXPECT_EQ(countBlocks(decode(0x08200484, MmaKind::MXF4NVF4), 16), 4u);
  EXPECT_EQ(countBlocks(decode(0x08200480, MmaKind::MXF4NVF4), 16), 4u);
  expectFault(plain(128, 128, 1) | 5, {MmaKind::F8F6F4}, true,
              "bits 0-1 (sparsity selector, for kind::f16 and kind::tf32)");
}

TEST_F(InstructionDescriptorTest, TypesOfF8F6F4) {
  std::pair<unsigned, MmaFormat> formats[] = {{0, MmaFormat::E4M3},
                                              {1, MmaFormat::E5M2},
                                              {3, MmaFormat::E2M3},
                                              {4, MmaFormat::E3M2},
                                              {5, MmaFormat::E2M1}};
  for (auto [code, format] : formats) {
    EXPECT_EQ(decode(plain(128, 64, 1) | code << 7, MmaKind::F8F6F4).a, format);
    EXPECT_EQ(decode(0x08a00000 | code << 10, MmaKind::MXF8F6F4).b, format);
  }
  for (unsigned code : {2, 6, 7}) {
    expectFault(plain(128, 64, 1) | code << 7, {MmaKind::F8F6F4}, false,
                "expected a type of kind::f8f6f4 in bits 7-9 (A)");
    expectFault(0x08a00000 | code << 10, {MmaKind::MXF8F6F4}, false,
                "bits 10-12 (B)");
  }
  // The mixed kinds' code of E2M1 is not that of the packed ones.
  expectFault(0x08200400 | 5 << 7, {MmaKind::MXF4NVF4}, false, "bits 7-9 (A)");
}

// Every reserved or fixed bit, one at a time.
TEST_F(InstructionDescriptorTest, ReservedBits) {
  for (unsigned bit : {0, 1, 3, 6, 12, 15, 16, 24, 25, 26})
    expectFault(0x08200480 | 1u << bit, {MmaKind::MXF4NVF4}, true,
                "of kind::mxf4nvf4 to be 0, but got");
  for (unsigned bit : {0, 1, 3, 6, 24, 25, 26, 31})
    expectFault(0x08a00000 | 1u << bit, {MmaKind::MXF8F6F4}, true,
                "(reserved)");
  for (unsigned bit : {0, 1, 3, 6, 23, 29, 30, 31})
    expectFault(plain(128, 64, 1) | 1u << bit, {MmaKind::F16}, true,
                "of kind::f16 to be 0, but got");
  for (unsigned bit : {13, 14})
    expectFault(plain(128, 64, 2) | 1u << bit, {MmaKind::I8}, true, "negation");
  // Scales of MXFP8 and MXFP4 are UE8M0.
  expectFault(0x08200000, {MmaKind::MXF8F6F4}, true, "scale type, UE8M0");
  expectFault(0x08200480, {MmaKind::MXF4}, true, "scale type, UE8M0");
}

TEST_F(InstructionDescriptorTest, ScaleIdsOfPackedKinds) {
  EXPECT_EQ(decode(0x48a004a0, MmaKind::MXF4).scaleIdA, 2u);
  EXPECT_EQ(decode(0x48a004a0, MmaKind::MXF4).scaleIdB, 2u);
  expectFault(0x08a00490, {MmaKind::MXF4}, false,
              "scale factor id of B of kind::mxf4 to be 0 or 2, but got 1");
  expectFault(0x68a00480, {MmaKind::MXF4}, false, "id of A");
}

// D's types: table "Matrix Shape".
TEST_F(InstructionDescriptorTest, AccumulatorTypes) {
  expectFault(plain(128, 64, 0), {MmaKind::F8F6F4}, false, "type of D");
  expectFault(plain(128, 64, 2), {MmaKind::F16}, false, "type of D");
  expectFault(plain(128, 64, 1), {MmaKind::I8}, false, "type of D");
  expectFault(plain(128, 64, 0) | 1 << 7, {MmaKind::F16}, false,
              "A and B to be f16 where D is");
}

TEST_F(InstructionDescriptorTest, TransposedNarrowTypes) {
  expectFault(plain(128, 64, 1) | 5 << 7 | 1 << 15, {MmaKind::F8F6F4}, true,
              "not to be transposed");
  expectFault(0x08a00000 | 4 << 10 | 1 << 16, {MmaKind::MXF8F6F4}, true,
              "not to be transposed");
  EXPECT_TRUE(decode(0x08a00000 | 1 << 16, MmaKind::MXF8F6F4).transposeB);
}

// Shapes that the table does not have.
TEST_F(InstructionDescriptorTest, Shapes) {
  MmaVariant f16{MmaKind::F16}, f16Pair{MmaKind::F16, 2};
  MmaVariant f16Ws{MmaKind::F16, 1, true}, i8{MmaKind::I8};
  expectFault(plain(256, 64, 1), f16, false, "M = 256, N = 64");
  expectFault(plain(32, 64, 1), f16, false, "M = 32");
  expectFault(plain(128, 0, 1), f16, false, "N = 0");
  expectFault(plain(128, 264, 1), f16, false, "N = 264");
  expectFault(plain(64, 64, 1), f16Pair, false, "cta_group::2");
  expectFault(plain(256, 24, 1), f16Pair, false, "N = 24");
  expectFault(plain(32, 32, 1), f16Ws, false, "kind::f16 .ws");
  expectFault(plain(128, 40, 2), i8, false, "N = 40");
  expectFault(0x00200480, {MmaKind::MXF4NVF4}, false, "M = 0");
  expectFault(0x10200480, {MmaKind::MXF4NVF4}, false, "M = 256, N = 128");
  expectFault(0x08200480u | 1u << 31, {MmaKind::MXF4NVF4}, false,
              "makes it 96");
  MmaVariant longK = {MmaKind::MXF4NVF4};
  longK.mayHaveLongK = true;
  expectFault(0x08200484u | 1u << 31, longK, false, "makes it 96");
  auto decoded =
      decodeInstructionDescriptor(0x08200480u | 1u << 31, longK, faults);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(decoded->k, 96u);
  EXPECT_TRUE(
      decodeInstructionDescriptor(plain(32, 64, 1) | 3u << 30, f16Ws, faults));
  EXPECT_TRUE(decodeInstructionDescriptor(plain(128, 24, 2), i8, faults));
  EXPECT_TRUE(faults.empty());
}

// Which blocks a kind takes, and with which scales.
TEST_F(InstructionDescriptorTest, BlockSizes) {
  auto check = [&](uint32_t bits, MmaKind kind, unsigned block) {
    bool isGood = checkBlockSize(decode(bits, kind), block, faults);
    EXPECT_EQ(isGood, faults.empty());
    faults.clear();
    return isGood;
  };
  EXPECT_TRUE(check(0x08200480, MmaKind::MXF4NVF4, 16));
  EXPECT_FALSE(check(0x08200480, MmaKind::MXF4NVF4, 32));
  EXPECT_TRUE(check(0x08a00480, MmaKind::MXF4NVF4, 32));
  EXPECT_TRUE(check(0x08a00480, MmaKind::MXF4NVF4, 16));
  EXPECT_FALSE(check(0x48a004a0, MmaKind::MXF4NVF4, 16));
  EXPECT_TRUE(check(0x48a004a0, MmaKind::MXF4NVF4, 32));
  EXPECT_TRUE(check(0x08a00480, MmaKind::MXF4, 32));
  EXPECT_FALSE(check(0x08a00480, MmaKind::MXF4, 16));
  EXPECT_FALSE(check(0x08a00000, MmaKind::MXF8F6F4, 16));
  EXPECT_TRUE(check(0x08a00000, MmaKind::MXF8F6F4, 32));
}

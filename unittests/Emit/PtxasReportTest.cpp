//===- PtxasReportTest.cpp - What ptxas -v prints -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emit/Ptxas.h"

#include "gtest/gtest.h"

using namespace blockscale;

namespace {

TEST(PtxasReport, TwoKernels) {
  auto kernels = parsePtxasReport(R"(ptxas info    : 0 bytes gmem
ptxas info    : Compiling entry function 'first' for 'sm_100a'
ptxas info    : Function properties for first
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 56 registers, used 0 barriers
ptxas info    : Compile time = 48.011 ms
ptxas info    : Compiling entry function 'second' for 'sm_100a'
ptxas info    : Function properties for second
    24 bytes stack frame, 16 bytes spill stores, 12 bytes spill loads
ptxas info    : Used 128 registers, used 1 barriers, 24 bytes cumulative stack size, 36896 bytes smem, 400 bytes cmem[0]
)");
  ASSERT_TRUE(static_cast<bool>(kernels))
      << llvm::toString(kernels.takeError());
  ASSERT_EQ(kernels->size(), 2u);
  const KernelResources &first = kernels->front();
  EXPECT_EQ(first.name, "first");
  EXPECT_EQ(first.registers, 56u);
  EXPECT_EQ(first.stackBytes, 0u);
  EXPECT_EQ(first.spillStoreBytes, 0u);
  EXPECT_EQ(first.spillLoadBytes, 0u);
  EXPECT_EQ(first.sharedBytes, 0u);
  const KernelResources &second = kernels->back();
  EXPECT_EQ(second.name, "second");
  EXPECT_EQ(second.registers, 128u);
  EXPECT_EQ(second.stackBytes, 24u);
  EXPECT_EQ(second.spillStoreBytes, 16u);
  EXPECT_EQ(second.spillLoadBytes, 12u);
  EXPECT_EQ(second.sharedBytes, 36896u);
}

// Device functions are compiled too, but are no kernels.
TEST(PtxasReport, DeviceFunction) {
  auto kernels =
      parsePtxasReport(R"(ptxas info    : Function properties for helper
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
ptxas info    : Compiling entry function 'kernel' for 'sm_100a'
ptxas info    : Function properties for kernel
    0 bytes stack frame, 0 bytes spill stores, 0 bytes spill loads
ptxas info    : Used 8 registers
ptxas info    : Function properties for helper2
    8 bytes stack frame, 4 bytes spill stores, 4 bytes spill loads
)");
  ASSERT_TRUE(static_cast<bool>(kernels))
      << llvm::toString(kernels.takeError());
  ASSERT_EQ(kernels->size(), 1u);
  EXPECT_EQ(kernels->front().stackBytes, 0u);
  EXPECT_EQ(kernels->front().registers, 8u);
}

TEST(PtxasReport, Empty) {
  auto kernels = parsePtxasReport("");
  ASSERT_TRUE(static_cast<bool>(kernels));
  EXPECT_TRUE(kernels->empty());
}

TEST(PtxasReport, KernelWithoutRegisters) {
  const char *cut =
      "ptxas info    : Compiling entry function 'first' for 'sm_100a'\n";
  const char *next =
      "ptxas info    : Compiling entry function 'next' for 'sm_100a'\n"
      "ptxas info    : Used 8 registers\n";
  for (std::string report : {std::string(cut), std::string(cut) + next}) {
    auto kernels = parsePtxasReport(report);
    ASSERT_FALSE(static_cast<bool>(kernels));
    EXPECT_EQ(llvm::toString(kernels.takeError()),
              "expected ptxas to report the registers of 'first'");
  }
}

} // namespace

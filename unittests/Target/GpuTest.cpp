//===- GpuTest.cpp - Rates of GPUs ----------------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Target/Gpu.h"

#include <gtest/gtest.h>

using namespace blockscale::target;

// The constants of torchao's table, as requirement 1.6 states them.
TEST(Gpu, ConstantsOfGB200) {
  const Gpu *gpu = findGpu("GB200");
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu->getPeakFlops(Unit::Bf16), 2.25e15);
  EXPECT_EQ(gpu->getPeakFlops(Unit::Fp8), 4.5e15);
  EXPECT_EQ(gpu->getPeakFlops(Unit::Fp4), 9.0e15);
  EXPECT_EQ(gpu->peakBytes, 8e12);
  EXPECT_EQ(gpu->flopsShare, 0.78);
  EXPECT_EQ(gpu->bytesShare, 0.92);
  EXPECT_EQ(kLaunchSeconds, 2e-6);
}

// What the others have that differs.
TEST(Gpu, ConstantsOfOthers) {
  EXPECT_EQ(findGpu("B200")->peakBytes, 7.67232e12);
  EXPECT_EQ(findGpu("B300")->getPeakFlops(Unit::Fp4), 14e15);
  EXPECT_EQ(findGpu("B300")->flopsShare, 0.82);
  EXPECT_EQ(findGpu("B300")->bytesShare, 0.84);
  EXPECT_EQ(findGpu("H100")->peakBytes, 2.4e12);
  EXPECT_EQ(findGpu("H200")->peakBytes, 4.8e12);
  EXPECT_EQ(findGpu("RTX 5090")->peakBytes, 1.792e12);
  EXPECT_EQ(findGpu("RTX 5090")->getPeakFlops(Unit::Fp4), 1676e12);
  EXPECT_EQ(findGpu("RTX 3090")->peakBytes, 936e9);
  EXPECT_EQ(findGpu("A10")->multiprocessors, 72);
}

// What streaming kernels are held to: at 8 TB/s and 1 us some 54 KB a
// multiprocessor, and 11 to 13 instructions for the bytes of NVFP4 rows.
TEST(Gpu, StreamingKernels) {
  const Gpu *gpu = findGpu("B200");
  EXPECT_NEAR(gpu->getBytesInFlight(), 51840, 1);
  EXPECT_NEAR(gpu->getInstructionsPerByte() * 2.5625, 12.8, 0.05);
  EXPECT_NEAR(findGpu("H200")->getBytesInFlight(), 36364, 1);
  EXPECT_NEAR(findGpu("H200")->getInstructionsPerByte() * 3.03125, 21.8, 0.05);
}

// Hopper's tensor cores have no operands of 4 bits, Ampere's none of 8 either;
// every GPU has those of 16.
TEST(Gpu, OperandsOfFourBits) {
  for (const char *name : {"H100", "H200"}) {
    EXPECT_FALSE(findGpu(name)->has(Unit::Fp4)) << name;
    EXPECT_TRUE(findGpu(name)->has(Unit::Fp8)) << name;
  }
  EXPECT_EQ(listGpus(Unit::Fp4),
            "B200, GB200, B300, RTX 5090, RTX PRO 6000, GB10");
  EXPECT_EQ(listGpus(Unit::Fp8), "B200, GB200, B300, H100, H200, RTX 5090, "
                                 "RTX PRO 6000, GB10");
  EXPECT_EQ(listGpus(Unit::Bf16), listGpus());
  EXPECT_EQ(describeUnit(Unit::Fp4), "tensor cores for operands of 4 bits");
  EXPECT_EQ(describeUnit(Unit::Bf16), "tensor cores for operands of 16 bits");
}

// A multiprocessor of the consumer and workstation kind multiplies 4096 FLOP of
// 4 bits a clock, at a clock that is near those of the boards.
TEST(Gpu, ClocksOfConsumerBlackwell) {
  for (auto [name, gigahertz] : {std::pair("RTX 5090", 2.407),
                                 {"RTX PRO 6000", 2.617},
                                 {"GB10", 2.54}}) {
    const Gpu *gpu = findGpu(name);
    ASSERT_NE(gpu, nullptr) << name;
    EXPECT_NEAR(gpu->getPeakFlops(Unit::Fp4) / gpu->multiprocessors / 4096e9,
                gigahertz, 0.01)
        << name;
    EXPECT_LT(gpu->getPeakFlops(Unit::Fp8), gpu->getPeakFlops(Unit::Fp4));
    EXPECT_LT(gpu->getPeakFlops(Unit::Bf16), gpu->getPeakFlops(Unit::Fp8));
  }
}

// A name is matched whole, and the list for messages names every GPU.
TEST(Gpu, Names) {
  for (const char *name : {"", "B2", "b200", "B2000", "sm_100a", "RTX"})
    EXPECT_EQ(findGpu(name), nullptr) << name;
  EXPECT_EQ(listGpus(), "B200, GB200, B300, H100, H200, RTX 5090, "
                        "RTX PRO 6000, GB10, RTX 3090, A10");
}

//===- RegisterPoolTest.cpp - Tests of setmaxnreg -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include "llvm/Support/FormatVariadic.h"

using namespace blockscale::emulator;

namespace {

/// Kernels of 640 threads, of which 512 ask for registers and the others give
/// some back.
class RegisterPoolTest : public KernelTest {
protected:
  void runKernel(llvm::StringRef directives, int increase, int decrease) {
    std::string text = llvm::formatv(R"(
      .entry roles() {0}
      {{
        .reg .b32 %t;
        .reg .pred %p;
        mov.u32 %t, %tid.x;
        setp.lt.u32 %p, %t, 512;
        @%p bra MULTIPLY;
        setmaxnreg.dec.sync.aligned.u32 {2};
        ret;
      MULTIPLY:
        setmaxnreg.inc.sync.aligned.u32 {1};
        ret;
      }
    )",
                                     directives, increase, decrease)
                           .str();
    ASSERT_EQ(load(text), "");
    shape.block = {640, 1, 1};
    ASSERT_EQ(run("roles"), "");
  }
};

} // namespace

static constexpr const char *kBounds = ".reqntid 640, 1, 1 .minnctapersm 1";

// Twenty warps are five for each quarter of a multiprocessor: 96 registers
// each.
TEST_F(RegisterPoolTest, WarpsMayWantWhatAllBeganWith) {
  runKernel(kBounds, 112, 32);
  EXPECT_EQ(getFindings(), "");
}

// An H100 waited for ever here.
TEST_F(RegisterPoolTest, WarpsThatWantMoreWaitForever) {
  runKernel(kBounds, 120, 32);
  EXPECT_NE(getFindings().find(
                "expected the warps of the CTA to want at most the 1920 "
                "registers of a lane that they began with, 96 each, but they "
                "want 2048"),
            std::string::npos)
      << getFindings();
}

TEST_F(RegisterPoolTest, MaxnregIsWhatTheyBeginWith) {
  runKernel(".maxnreg 64", 64, 24);
  EXPECT_EQ(getFindings(), "");
  report = std::make_unique<Report>();
  runKernel(".maxnreg 64", 80, 24);
  EXPECT_NE(getFindings().find("64 each, but they want 1376"),
            std::string::npos)
      << getFindings();
}

// Without bounds ptxas gives as many registers as the code needs.
TEST_F(RegisterPoolTest, NothingIsKnownWithoutBounds) {
  runKernel("", 248, 24);
  EXPECT_EQ(getFindings(), "");
}

//===- WarpgroupMmaTest.cpp - Misuse of wgmma -----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Products of warpgroups (wgmma): what is found about wrong programs. The
// results of right ones are compared in PtxKernelsTest.cpp.
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

namespace {
struct DecodeWarpgroup : KernelTest {
  /// A and B are zeros in shared memory, the accumulators %d and %e are zero;
  /// `body` follows, and then stores of %d0.
  void runBody(const std::string &body, unsigned threads = 128) {
    std::string registers;
    for (const char *name : {"%d", "%e"})
      for (unsigned i = 0; i < 4; ++i)
        registers +=
            "mov.b32 " + std::string(name) + std::to_string(i) + ", 0;\n";
    ASSERT_EQ(load(R"(
      .entry k(.param .b64 out) {
      .reg .b64 %out, %x, %y; .reg .b32 %t, %w, %d<4>, %e<4>; .reg .pred %p;
      .shared .align 1024 .b8 s[8192];
      ld.param.b64 %out, [out];
      mov.u32 %t, %tid.x;
      mov.u32 %w, s;
      mad.lo.u32 %w, %t, 4, %w;
      mov.u32 %d0, 0;
      fill:
      st.shared.b32 [%w], 0;
      add.u32 %w, %w, 512;
      add.u32 %d0, %d0, 1;
      setp.lt.u32 %p, %d0, 16;
      @%p bra fill;
      fence.proxy.async.shared::cta;
      bar.sync 0;
      setp.eq.u32 %p, %t, %t;
      mov.u32 %w, s;
      shr.u32 %w, %w, 4;
      cvt.u64.u32 %x, %w;
      or.b64 %x, %x, 0x0000001000080000;
      add.u64 %y, %x, 256;
      )" + registers +
                   body + R"(
      mad.wide.u32 %out, %t, 4, %out;
      st.global.b32 [%out], %d0;
      })"),
              "");
    uint64_t out = addEmpty(
        "out" + std::to_string(device.global.getBuffers().size()), 4 * threads);
    shape.block = {threads, 1, 1};
    ASSERT_EQ(run("k", out), "");
  }

  /// The product into registers %d or %e.
  static std::string multiply(const std::string &registers,
                              const std::string &descriptor = "%x") {
    std::string vector;
    for (unsigned i = 0; i < 4; ++i)
      vector += (i ? ", " : "{") + registers + std::to_string(i);
    return "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 " + vector +
           "}, " + descriptor + ", %y, %p, 1, 1, 0, 0;\n";
  }
};
} // namespace

static const std::string kFence = "wgmma.fence.sync.aligned;\n";
static const std::string kCommit = "wgmma.commit_group.sync.aligned;\n";
static const std::string kGroupWait = "wgmma.wait_group.sync.aligned 0;\n";

// In order, and with two products in flight in the same accumulators.
TEST_F(DecodeWarpgroup, Right) {
  for (Schedule schedule : {Schedule::Prompt, Schedule::Adversarial}) {
    options.schedule = schedule;
    runBody(kFence + multiply("%d") + multiply("%d") + kCommit + kGroupWait);
    EXPECT_EQ(getFindings(), "");
  }
}

TEST_F(DecodeWarpgroup, MissingFence) {
  runBody(multiply("%d") + kCommit + kGroupWait);
  expectFinding(FaultKind::Hazard, "missing wgmma.fence");
}

// A product of A in registers, %e0 to %e3, which is written behind the fence of
// the product before it. Where it is not written, or to what it was, the fence
// before still counts.
TEST_F(DecodeWarpgroup, MissingFenceOfA) {
  const std::string product =
      "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%d0, %d1, %d2, %d3}, "
      "{%e0, %e1, %e2, %e3}, %y, %p, 1, 1, 0;\n" +
      kCommit + kGroupWait;
  const std::string first = kFence + product, write = "mov.b32 %e2, 1;\n";
  runBody(first + write + kFence + product);
  EXPECT_EQ(getFindings(), "");
  runBody(first + "mov.b32 %e2, 0;\n" + product);
  EXPECT_EQ(getFindings(), "");
  runBody(first + write + product);
  expectFinding(FaultKind::Hazard, "missing wgmma.fence: a register of A");
}

// The accumulators are read before the group is waited for: there is no wait,
// no commit, or the wait leaves one group.
TEST_F(DecodeWarpgroup, MissingWait) {
  for (const std::string &end :
       {std::string(), kCommit, kGroupWait,
        kCommit + "wgmma.wait_group.sync.aligned 1;\n"}) {
    runBody(kFence + multiply("%d") + end + "add.u32 %d1, %d1, 1;\n" + kCommit +
            kGroupWait);
    expectFinding(FaultKind::Hazard,
                  "reads a register that the wgmma.mma_async");
  }
}

// The first of two groups is complete, the second not.
TEST_F(DecodeWarpgroup, WaitForTheFirstGroup) {
  std::string two = kFence + multiply("%d") + kCommit + multiply("%e") +
                    kCommit + "wgmma.wait_group.sync.aligned 1;\n";
  runBody(two + "add.u32 %d1, %d1, 1;\n" + kGroupWait);
  EXPECT_EQ(getFindings(), "");
  runBody(two + "add.u32 %e1, %e1, 1;\n" + kGroupWait);
  expectFinding(FaultKind::Hazard, "reads a register that the wgmma.mma_async");
}

// A product of another shape in registers that are still in flight.
TEST_F(DecodeWarpgroup, OtherProductInTheSameRegisters) {
  runBody(kFence + multiply("%d") +
          "wgmma.mma_async.sync.aligned.m64n16k16.f16.f16.f16 "
          "{%d0, %d1, %d2, %d3}, %x, %y, %p, 1, 1, 0, 0;\n" +
          kCommit + kGroupWait);
  expectFinding(FaultKind::Hazard, "accumulates in a register");
}

// Shared memory that a product may still read.
TEST_F(DecodeWarpgroup, OverwritesAnOperand) {
  runBody(kFence + multiply("%d") + "st.shared.b32 [s], 0;\n" + kCommit +
          kGroupWait);
  // There are other findings, too: where the product is another warp's, the
  // store lacks a proxy fence.
  EXPECT_NE(getFindings().find("the wgmma.mma_async of line 36 may still read"),
            std::string::npos)
      << getFindings();
}

// Bit 46, the version of tcgen05's descriptors.
TEST_F(DecodeWarpgroup, DescriptorOfAnotherKind) {
  runBody("or.b64 %x, %x, 0x400000000000;\n" + kFence + multiply("%d") +
          kCommit + kGroupWait);
  expectFinding(FaultKind::Descriptor,
                "reserved bits of a descriptor of wgmma");
}

TEST_F(DecodeWarpgroup, DescriptorsDiffer) {
  runBody("cvt.u64.u32 %out, %t;\nadd.u64 %x, %x, %out;\nld.param.b64 %out, "
          "[out];\n" +
          kFence + multiply("%d") + kCommit + kGroupWait);
  expectFinding(FaultKind::Hazard, "the descriptor to be the same");
}

TEST_F(DecodeWarpgroup, HalfAWarpgroup) {
  runBody(kFence + multiply("%d") + kCommit + kGroupWait, /*threads=*/64);
  expectFinding(FaultKind::Hazard, "the four warps of a warpgroup");
}

//===- ProgramTest.cpp - Tests of how modules are laid out ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

using ProgramTest = KernelTest;

/// A kernel that stores %x, after `body`, as its first result.
static std::string makeKernel(const std::string &name,
                              const std::string &body) {
  return ".visible .entry " + name + R"((.param .u64 out)
    {
      .reg .b32 %x, %y;
      .reg .b64 %o;
      ld.param.u64 %o, [out];
  )" + body +
         R"(
      st.global.b32 [%o], %x;
      ret;
    }
  )";
}

TEST_F(ProgramTest, KernelsPayForTheirOwnSharedMemory) {
  // Together they would not fit.
  ASSERT_EQ(load(".shared .align 16 .b8 first[200000];"
                 ".shared .align 16 .b8 second[200000];" +
                 makeKernel("a", "mov.u32 %x, first;") +
                 makeKernel("b", "mov.u32 %x, second;")),
            "");
  for (const char *kernel : {"a", "b"}) {
    device.global = makeGlobalMemory();
    ASSERT_EQ(run(kernel, addEmpty("out", 4)), "");
    EXPECT_EQ(getFindings(), "");
    EXPECT_EQ(get<uint32_t>("out")[0], 0u);
  }
}

TEST_F(ProgramTest, FunctionsShareTheirVariablesWithTheirCallers) {
  // `place` has one address, behind the larger of the callers' own variables.
  ASSERT_EQ(load(R"(
    .shared .align 4 .b8 small[64];
    .shared .align 4 .b8 large[1024];
    .func (.reg .b32 d) place()
    {
      .shared .align 4 .b32 mine;
      mov.u32 d, mine;
      ret;
    })" + makeKernel("a", "mov.u32 %y, small; call (%x), place;") +
                 makeKernel("b", "mov.u32 %y, large; call (%x), place;")),
            "");
  for (const char *kernel : {"a", "b"}) {
    device.global = makeGlobalMemory();
    ASSERT_EQ(run(kernel, addEmpty("out", 4)), "");
    EXPECT_EQ(getFindings(), "");
    EXPECT_EQ(get<uint32_t>("out")[0], 1024u);
  }
}

TEST_F(ProgramTest, DynamicSharedMemoryLiesBehindTheStatic) {
  ASSERT_EQ(load(".extern .shared .align 128 .b8 dynamic[];"
                 ".shared .align 4 .b32 fixed[3];" +
                 makeKernel("a", "mov.u32 %y, fixed; mov.u32 %x, dynamic;"
                                 "st.shared.b32 [dynamic+252], %x;")),
            "");
  shape.dynamicSharedBytes = 256;
  ASSERT_EQ(run("a", addEmpty("out", 4)), "");
  EXPECT_EQ(getFindings(), "");
  EXPECT_EQ(get<uint32_t>("out")[0], 128u);
  shape.dynamicSharedBytes = 252;
  ASSERT_EQ(run("a", addEmpty("out2", 4)), "");
  expectFinding(FaultKind::OutOfBounds, "'dynamic shared memory'");
}

TEST_F(ProgramTest, OnlyKernelsThatNeedWhatIsNotModelledAreRefused) {
  ASSERT_EQ(load(".func odd() { .reg .b32 %r; tcgen05.shift.cta_group::1.down "
                 "[%r]; ret; }" +
                 makeKernel("a", "mov.b32 %x, 1;") +
                 makeKernel("b", "mov.b32 %x, 1; call odd;")),
            "");
  ASSERT_EQ(run("a", addEmpty("out", 4)), "");
  EXPECT_EQ(getFindings(), "");
  std::string error = run("b", addEmpty("out", 4));
  EXPECT_NE(error.find("kernel 'b' cannot be executed:"), std::string::npos);
  EXPECT_NE(error.find("tcgen05.shift is not modelled"), std::string::npos)
      << error;
}

TEST_F(ProgramTest, AliasesAndDeclarationsStandForTheDefinition) {
  ASSERT_EQ(load(R"(
    .func (.reg .b32 d) five();
    .func (.reg .b32 d) cinq();
    .func (.reg .b32 d) five() { mov.b32 d, 5; ret; }
    .alias cinq, five;
  )" + makeKernel("a", "call (%x), five; call (%y), cinq;"
                       "mad.lo.u32 %x, %y, 10, %x;")),
            "");
  ASSERT_EQ(run("a", addEmpty("out", 4)), "");
  EXPECT_EQ(get<uint32_t>("out")[0], 55u);
}

TEST_F(ProgramTest, CallingADeclarationAloneStopsTheLaunch) {
  ASSERT_EQ(load(".extern .func (.reg .b32 d) missing();" +
                 makeKernel("a", "call (%x), missing;")),
            "");
  ASSERT_EQ(run("a", addEmpty("out", 4)), "");
  expectFinding(FaultKind::Trap,
                "calls 'missing', which the module only declares");
}

// What a text may ask for.
TEST_F(ProgramTest, LargeVariables) {
  EXPECT_EQ(load(".const .b8 a[65536]; .const .b8 b[655361];"),
            "4:33: error: expected the variables in .const memory to have at "
            "most 720896 bytes, but got 720897");
  EXPECT_EQ(load(".global .b8 a[0x40000001];"),
            "4:13: error: expected the variables in .global memory to have at "
            "most 1073741824 bytes, but got 1073741825");
  ASSERT_EQ(load(makeKernel("kernel", ".local .b8 large[524289];"
                                      "mov.u32 %x, 0;")),
            "");
  ASSERT_EQ(run("kernel", addEmpty("out", 4)), "");
  expectFinding(FaultKind::Limit, "524288 bytes of local memory in a thread");
}

//===- ControlFlowTest.cpp - Tests of branches, calls and exits -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include "Emulator/Instructions/Decoder.h"
#include "blockscale/Emulator/Parser.h"
#include "blockscale/Emulator/Validation.h"

using namespace blockscale::emulator;

using ControlTest = KernelTest;

/// 0, 1, .., 31.
static std::vector<uint64_t> makeLanes() {
  std::vector<uint64_t> values(kWarpSize);
  for (unsigned i = 0; i < kWarpSize; ++i)
    values[i] = i;
  return values;
}

TEST_F(ControlTest, LanesPartAndMeetAgain) {
  // Odd lanes add 100, even ones 200; a full shuffle behind needs all of them.
  std::vector<uint64_t> d = runBody(R"(
    cvt.u32.u64 %r1, %a;
    and.b32 %r2, %r1, 1;
    setp.ne.u32 %p1, %r2, 0;
    @%p1 bra ODD;
    add.u32 %r3, %r1, 200;
    bra.uni JOIN;
  ODD:
    add.u32 %r3, %r1, 100;
  JOIN:
    shfl.sync.bfly.b32 %r4, %r3, 1, 31, -1;
    cvt.u64.u32 %d, %r4;
  )",
                                    makeLanes());
  for (unsigned i = 0; i < kWarpSize; ++i)
    EXPECT_EQ(d[i], (i ^ 1) + ((i ^ 1) & 1 ? 100 : 200));
}

TEST_F(ControlTest, LanesLeaveALoopOneByOne) {
  std::vector<uint64_t> d = runBody(R"(
    mov.b64 %d, 0;
    mov.b64 %q1, %a;
  LOOP:
    setp.eq.u64 %p1, %q1, 0;
    @%p1 bra DONE;
    add.u64 %d, %d, %q1;
    sub.u64 %q1, %q1, 1;
    bra LOOP;
  DONE:
  )",
                                    makeLanes());
  for (unsigned i = 0; i < kWarpSize; ++i)
    EXPECT_EQ(d[i], i * (i + 1) / 2);
}

TEST_F(ControlTest, IndexedBranchesTakeTheTarget) {
  std::vector<uint64_t> d = runBody(R"(
    cvt.u32.u64 %r1, %a;
    rem.u32 %r1, %r1, 3;
    targets: .branchtargets L0, L1, L2;
    brx.idx %r1, targets;
  L0:
    mov.b64 %d, 10;
    bra END;
  L1:
    mov.b64 %d, 11;
    bra END;
  L2:
    mov.b64 %d, 12;
  END:
  )",
                                    makeLanes());
  for (unsigned i = 0; i < kWarpSize; ++i)
    EXPECT_EQ(d[i], 10 + i % 3);
}

TEST_F(ControlTest, AnIndexBeyondTheTargetsIsAFault) {
  runBody(R"(
    targets: .branchtargets L0;
    mov.b32 %r1, 1;
    brx.idx %r1, targets;
  L0:
    mov.b64 %d, 10;
  )",
          {0}, /*wantsFindings=*/true);
  expectFinding(FaultKind::OutOfBounds, "expected an index below 1, the number "
                                        "of targets, but got 1");
}

TEST_F(ControlTest, UniformBranchesOfPartOfAWarpAreAFault) {
  runBody(R"(
    mov.b64 %d, 0;
    setp.gt.u64 %p1, %a, 3;
    @%p1 bra.uni END;
    mov.b64 %d, 1;
  END:
  )",
          makeLanes(), /*wantsFindings=*/true);
  expectFinding(FaultKind::Hazard, ".uni instruction to go the same way");
}

static constexpr const char *kFactorial = R"(
  .visible .func (.param .b64 out) factorial(.param .b64 in)
  {
    .reg .pred %p;
    .reg .b64 %x, %y, %z;
    ld.param.b64 %x, [in];
    setp.gt.u64 %p, %x, 1;
    @%p bra MORE;
    mov.b64 %y, 1;
    st.param.b64 [out], %y;
    ret;
  MORE:
    sub.u64 %y, %x, 1;
    {
      .param .b64 argument;
      .param .b64 result;
      st.param.b64 [argument], %y;
      call.uni (result), factorial, (argument);
      ld.param.b64 %z, [result];
    }
    mul.lo.u64 %z, %z, %x;
    st.param.b64 [out], %z;
    ret;
  }
)";

TEST_F(ControlTest, FunctionsCallThemselves) {
  ASSERT_EQ(load(std::string(kFactorial) + R"(
    .visible .entry kernel(.param .u64 out)
    {
      .reg .b32 %t;
      .reg .b64 %o, %n;
      .param .b64 argument;
      .param .b64 result;
      ld.param.u64 %o, [out];
      mov.u32 %t, %tid.x;
      cvt.u64.u32 %n, %t;
      st.param.b64 [argument], %n;
      call (result), factorial, (argument);
      ld.param.b64 %n, [result];
      mad.wide.u32 %o, %t, 8, %o;
      st.global.b64 [%o], %n;
      ret;
    })"),
            "");
  uint64_t out = addEmpty("out", 8 * 12);
  shape.block = {12, 1, 1};
  ASSERT_EQ(run("kernel", out), "");
  EXPECT_EQ(getFindings(), "");
  std::vector<uint64_t> values = get<uint64_t>("out");
  uint64_t factorial = 1;
  for (unsigned i = 0; i < 12; factorial *= ++i)
    EXPECT_EQ(values[i], factorial) << i;
}

TEST_F(ControlTest, FunctionsAreCalledByAddress) {
  ASSERT_EQ(load(R"(
    .func (.reg .b32 d) twice(.reg .b32 x)
    {
      add.u32 d, x, x;
      ret;
    }
    .func (.reg .b32 d) square(.reg .b32 x)
    {
      mul.lo.u32 d, x, x;
      ret;
    }
    .visible .entry kernel(.param .u64 out)
    {
      .reg .pred %p;
      .reg .b32 %t, %d;
      .reg .b64 %o, %f, %g;
      ld.param.u64 %o, [out];
      mov.u32 %t, %tid.x;
      mov.u64 %f, twice;
      mov.u64 %g, square;
      setp.lt.u32 %p, %t, 4;
      selp.b64 %f, %f, %g, %p;
      prototype: .callprototype (.reg .b32 _) _ (.reg .b32 _);
      call (%d), %f, (%t), prototype;
      mad.wide.u32 %o, %t, 4, %o;
      st.global.b32 [%o], %d;
      ret;
    })"),
            "");
  uint64_t out = addEmpty("out", 4 * 8);
  shape.block = {8, 1, 1};
  ASSERT_EQ(run("kernel", out), "");
  EXPECT_EQ(getFindings(), "");
  EXPECT_EQ(get<uint32_t>("out"),
            std::vector<uint32_t>({0, 2, 4, 6, 16, 25, 36, 49}));
}

TEST_F(ControlTest, EndlessRecursionMeetsTheLimit) {
  ASSERT_EQ(load(R"(
    .func forever()
    {
      .local .b8 lost[1000];
      call forever;
    }
    .entry kernel()
    {
      call forever;
    })"),
            "");
  ASSERT_EQ(run("kernel"), "");
  expectFinding(FaultKind::Limit, "524288 bytes of local memory, but 521 of "
                                  "them need 525168");
}

TEST_F(ControlTest, RecursionOfLittleMeetsTheLimitOfDepth) {
  ASSERT_EQ(load(".func forever() { call forever; }"
                 ".entry kernel() { call forever; }"),
            "");
  ASSERT_EQ(run("kernel"), "");
  expectFinding(FaultKind::Limit, "expected at most 8192 calls of a thread "
                                  "within each other, but got 8193");
}

// What lies in memory must be as large as the parameter or result.
TEST_F(ControlTest, CallsOfOtherSizes) {
  const std::string callee = R"(
    .func (.param .b64 d) twice(.param .b64 x)
    {
      .reg .b64 %x;
      ld.param.b64 %x, [x];
      add.u64 %x, %x, %x;
      st.param.b64 [d], %x;
    })";
  const std::string variables = R"(
      .param .b32 small;
      .param .b64 large;
      .param .b64 result;)";
  auto getError = [&](const std::string &call) {
    EXPECT_EQ(load(callee + ".entry kernel() {" + variables + call + "}"), "");
    return run("kernel");
  };
  EXPECT_EQ(getError("call (result), twice, (large);"), "");
  for (const char *call :
       {"call (result), twice, (small);", "call (small), twice, (large);"})
    EXPECT_NE(getError(call).find("expected the arguments and results to be as "
                                  "many and as large as those of 'twice'"),
              std::string::npos)
        << call;
  EXPECT_EQ(getError(R"(
      .reg .b64 %f;
      mov.u64 %f, twice;
      prototype: .callprototype (.param .b64 _) _ (.param .b32 _);
      call (result), %f, (small), prototype;)"),
            "");
  expectFinding(FaultKind::WrongSpace,
                "the 1 parameters and 1 results of the call");
}

TEST_F(ControlTest, LocalMemoryIsTheThreadsOwn) {
  std::vector<uint64_t> d = runBody(R"(
    .local .align 8 .b8 depot[16];
    mov.b64 %q1, depot;
    cvta.local.u64 %q2, %q1;
    st.local.b64 [%q1+8], %a;
    ld.b64 %d, [%q2+8];
  )",
                                    makeLanes());
  EXPECT_EQ(d, makeLanes());
}

TEST_F(ControlTest, UndefinedGuardsAreAFault) {
  runBody(R"(
    mov.b64 %d, 0;
    @%p1 mov.b64 %d, 1;
  )",
          {0}, /*wantsFindings=*/true);
  expectFinding(FaultKind::Uninitialised, "expected the guard to be defined");
}

TEST_F(ControlTest, ATrapStopsTheLaunch) {
  runBody(R"(
    setp.eq.u64 %p1, %a, 7;
    @%p1 trap;
    mov.b64 %d, 0;
  )",
          makeLanes(), /*wantsFindings=*/true);
  expectFinding(FaultKind::Trap, "the kernel executed a trap");
}

TEST_F(ControlTest, EndlessLoopsMeetTheLimit) {
  options.maxSteps = 1000;
  runBody("LOOP: add.u64 %d, %a, 1; bra LOOP;", {0}, /*wantsFindings=*/true);
  expectFinding(FaultKind::Limit,
                "expected the cluster to end within 1000 instructions of its "
                "warps, but it has executed 1");
}

TEST_F(ControlTest, ThereIsALimitByDefault) {
  EXPECT_EQ(RunOptions().maxSteps, 1'000'000'000u);
}

// Hints to a debugger, a profiler or the next kernel change nothing.
TEST_F(ControlTest, HintsOfControlDoNothing) {
  std::vector<uint64_t> d = runBody(R"(
    brkpt;
    pmevent 1;
    pmevent.mask 3;
    griddepcontrol.wait;
    griddepcontrol.launch_dependents;
    setmaxnreg.dec.sync.aligned.u32 40;
    add.u64 %d, %a, 1;
  )",
                                    makeLanes());
  for (unsigned i = 0; i < kWarpSize; ++i)
    EXPECT_EQ(d[i], i + 1);
}

// An instruction that control flow has no handler for is refused by name; it is
// not skipped. The module's `exit` gets the form of a name that the table of
// instructions does not have.
TEST(ControlDecoding, UnknownInstructionIsAnError) {
  llvm::Expected<Module> module =
      parseModule(".version 8.8 .target sm_100a\n.entry k() { exit; }");
  ASSERT_TRUE(bool(module));
  ASSERT_FALSE(bool(resolveNames(*module)));
  ASSERT_FALSE(bool(verifyInstructions(*module)));
  Device device;
  llvm::Expected<std::unique_ptr<Program>> program =
      Program::create(std::move(*module), device);
  ASSERT_TRUE(bool(program));
  const ProgramFunction &kernel = (*program)->getFunctions().front();
  VariableLayout variables;
  Decoder decoder(**program, kernel, variables);

  Instruction instruction = kernel.function->instructions.front();
  InstructionForm form = *instruction.form;
  form.name = "wander";
  instruction.opcode = "wander";
  instruction.form = &form;
  Op op;
  op.instruction = &instruction;
  EXPECT_EQ(llvm::toString(decodeControl(decoder, op)),
            "2:14: error: 'wander' is not modelled");
}

//===- LaunchTest.cpp - Tests of launches ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

using LaunchTest = KernelTest;

static constexpr const char *kIdentity = R"(
  .visible .entry identity(.param .u64 out)
  {
    .reg .b32 %t, %c, %n, %i;
    .reg .b64 %o;
    ld.param.u64 %o, [out];
    mov.u32 %t, %tid.x;
    mov.u32 %c, %ctaid.y;
    mov.u32 %n, %nctaid.x;
    mov.u32 %i, %ctaid.x;
    mad.lo.u32 %c, %c, %n, %i;
    mov.u32 %n, %ntid.x;
    mad.lo.u32 %t, %c, %n, %t;
    mad.wide.u32 %o, %t, 4, %o;
    st.global.b32 [%o], %t;
    ret;
  }
)";

TEST_F(LaunchTest, EveryThreadOfEveryCtaRuns) {
  ASSERT_EQ(load(kIdentity), "");
  for (unsigned jobs : {1, 2}) {
    options.jobs = jobs;
    device.global = makeGlobalMemory();
    uint64_t out = addEmpty("out", uint64_t(4) * 6 * 40);
    shape.grid = {3, 2, 1};
    shape.block = {40, 1, 1};
    ASSERT_EQ(run("identity", out), "");
    EXPECT_EQ(getFindings(), "");
    std::vector<uint32_t> values = get<uint32_t>("out");
    for (unsigned i = 0; i < values.size(); ++i)
      ASSERT_EQ(values[i], i);
    EXPECT_EQ(profile.threadInstructions, 6 * 40 * 11u);
  }
}

/// Words of threads `stride` bytes apart, from byte `first` on.
static constexpr const char *kStrided = R"(
  .entry strided(.param .u64 out, .param .u32 stride, .param .u32 first)
  {
    .reg .b32 %t, %s, %f;
    .reg .b64 %o, %p;
    ld.param.u64 %p, [out];
    ld.param.u32 %s, [stride];
    ld.param.u32 %f, [first];
    mov.u32 %t, %tid.x;
    mad.lo.u32 %s, %t, %s, %f;
    cvt.u64.u32 %o, %s;
    add.u64 %o, %o, %p;
    st.global.b32 [%o], %t;
    ld.global.b32 %t, [%o];
    ld.global.b32 %t, [%o];
    atom.global.max.u32 %t, [%o], 7;
    ret;
  }
)";

TEST_F(LaunchTest, SectorsOfAWarpCountOnce) {
  ASSERT_EQ(load(kStrided), "");
  shape.block = {40, 1, 1};
  struct {
    uint32_t stride, first;
    uint64_t sectors;
  } cases[] = {
      // Two warps: 32 words, 8 words.
      {4, 0, 4 + 1},
      // The first warp begins and ends within sectors.
      {4, 16, 5 + 2},
      // A sector for each thread, and one for each two.
      {32, 0, 32 + 8},
      {16, 0, 16 + 4},
      // One word of all threads.
      {0, 0, 1 + 1},
  };
  for (const auto &[stride, first, sectors] : cases) {
    for (bool isCounted : {true, false}) {
      options.profile = isCounted;
      device.global = makeGlobalMemory();
      uint64_t out = addEmpty("out", 40 * 32 + 32);
      ASSERT_EQ(run("strided", out, stride, first), "");
      // The warps race for the one word, without a wait in between.
      EXPECT_EQ(getFindings().empty(), stride != 0) << getFindings();
      // An atomic reads and writes.
      EXPECT_EQ(profile.sectorsRead, isCounted ? 3 * sectors : 0);
      EXPECT_EQ(profile.sectorsWritten, isCounted ? 2 * sectors : 0);
      auto global = static_cast<size_t>(StateSpace::Global);
      EXPECT_EQ(profile.bytesRead[global], 3 * 40 * 4u);
    }
  }
}

TEST_F(LaunchTest, ErrorsListWhatIsThere) {
  ASSERT_EQ(load(kIdentity), "");
  EXPECT_EQ(run("identitie", uint64_t(0)),
            "no kernel 'identitie'; those of the module are: identity");
  EXPECT_EQ(run("identity"),
            "expected 1 arguments for kernel 'identity', but got 0; its "
            "parameters are: out (.u64, 8 bytes)");
  EXPECT_EQ(run("identity", uint32_t(0)),
            "expected the argument for parameter 'out' of kernel 'identity' to "
            "have 8 bytes, but got 4; its parameters are: out (.u64, 8 bytes)");
}

// There must be launches that it may overlap.
TEST_F(LaunchTest, ProgrammaticLaunchesNeedAStream) {
  ASSERT_EQ(load(kIdentity), "");
  uint64_t out = addEmpty("out", 4);
  shape.isProgrammatic = true;
  EXPECT_EQ(run("identity", out),
            "expected a stream of the programmatic launch of kernel "
            "'identity'");
  Stream stream;
  shape.stream = &stream;
  EXPECT_EQ(run("identity", out), "");
  EXPECT_EQ(getFindings(), "");
  EXPECT_EQ(run("identity", out), "");
  EXPECT_NE(getFindings(), "");
}

TEST_F(LaunchTest, LimitsAreFaultsAndNothingRuns) {
  ASSERT_EQ(load(kIdentity), "");
  shape.block = {1025, 1, 1};
  ASSERT_EQ(run("identity", addEmpty("out", 4)), "");
  expectFinding(FaultKind::Limit, "to be 1 to 1024, but got 1025");
  EXPECT_EQ(profile.threadInstructions, 0u);
  shape.block = {32, 1, 1};
  shape.dynamicSharedBytes = 232449;
  ASSERT_EQ(run("identity", uint64_t(0)), "");
  expectFinding(FaultKind::Limit, "bytes of shared memory in a CTA");
}

TEST_F(LaunchTest, CtasOfAClusterSeeEachOther) {
  ASSERT_EQ(load(R"(
    .visible .entry kernel(.param .u64 out)
    {
      .shared .align 4 .b32 mine;
      .reg .b32 %r<8>;
      .reg .b64 %o;
      ld.param.u64 %o, [out];
      mov.u32 %r0, %cluster_ctarank;
      mov.u32 %r1, %ctaid.x;
      mov.u32 %r2, mine;
      add.u32 %r3, %r1, 100;
      st.shared.b32 [%r2], %r3;
      barrier.cluster.arrive;
      barrier.cluster.wait;
      xor.b32 %r4, %r0, 1;
      mapa.shared::cluster.u32 %r5, %r2, %r4;
      ld.shared::cluster.b32 %r6, [%r5];
      mad.wide.u32 %o, %r1, 4, %o;
      st.global.b32 [%o], %r6;
      barrier.cluster.arrive;
      barrier.cluster.wait;
      ret;
    })"),
            "");
  for (Schedule schedule : {Schedule::Prompt, Schedule::Adversarial}) {
    options.schedule = schedule;
    device.global = makeGlobalMemory();
    uint64_t out = addEmpty("out", 16);
    shape.grid = {4, 1, 1};
    shape.cluster = {2, 1, 1};
    ASSERT_EQ(run("kernel", out), "");
    EXPECT_EQ(getFindings(), "");
    EXPECT_EQ(get<uint32_t>("out"),
              std::vector<uint32_t>({101, 100, 103, 102}));
  }
}

/// All CTAs of a grid wait for each other in global memory.
static constexpr const char *kGridBarrier = R"(
  .visible .entry kernel(.param .u64 counter, .param .u32 expected)
  {
    .reg .pred %p;
    .reg .b32 %n, %e, %x;
    .reg .b64 %c;
    ld.param.u64 %c, [counter];
    ld.param.u32 %e, [expected];
    red.release.gpu.global.add.u32 [%c], 1;
  WAIT:
    ld.acquire.gpu.global.b32 %x, [%c];
    setp.lt.u32 %p, %x, %e;
    @%p bra WAIT;
    ret;
  }
)";

TEST_F(LaunchTest, CtasWaitForOnesThatStartLater) {
  ASSERT_EQ(load(kGridBarrier), "");
  shape.grid = {20, 1, 1};
  for (unsigned jobs : {1, 2}) {
    options.jobs = jobs;
    device.global = makeGlobalMemory();
    uint64_t counter = add("counter", std::vector<uint32_t>(1));
    ASSERT_EQ(run("kernel", counter, uint32_t(20)), "");
    EXPECT_EQ(getFindings(), "");
    EXPECT_EQ(get<uint32_t>("counter")[0], 20u);
  }
}

TEST_F(LaunchTest, WaitingForACtaThatIsNotThereIsADeadlock) {
  ASSERT_EQ(load(kGridBarrier), "");
  shape.grid = {3, 1, 1};
  for (unsigned jobs : {1, 2}) {
    options.jobs = jobs;
    uint64_t counter = add("counter", std::vector<uint32_t>(1));
    ASSERT_EQ(run("kernel", counter, uint32_t(4)), "");
    EXPECT_NE(getFindings().find("deadlock"), std::string::npos);
  }
}

/// Warp 0 reads a word `rounds` times, or until it is not zero; the others wait
/// for it at a barrier.
static constexpr const char *kCountedReads = R"(
  .visible .entry kernel(.param .u64 out, .param .u32 rounds)
  {
    .shared .align 4 .b32 word;
    .reg .b32 %t, %i, %n, %v;
    .reg .b64 %o;
    .reg .pred %p;
    ld.param.u64 %o, [out];
    ld.param.u32 %n, [rounds];
    mov.u32 %t, %tid.x;
    mov.b32 %i, 0;
    st.shared.b32 [word], 0;
    bar.sync 0;
    setp.ge.u32 %p, %t, 32;
    @%p bra together;
  again:
    ld.volatile.shared.b32 %v, [word];
    setp.ne.b32 %p, %v, 0;
    @%p bra together;
    add.u32 %i, %i, 1;
    setp.lt.u32 %p, %i, %n;
    @%p bra again;
  together:
    bar.sync 0;
    mad.wide.u32 %o, %t, 4, %o;
    st.global.b32 [%o], %i;
    ret;
  }
)";

// Nothing but the counter changes, for many more rounds than a true deadlock is
// given.
TEST_F(LaunchTest, ACountedLoopOfVolatileReadsEnds) {
  ASSERT_EQ(load(kCountedReads), "");
  shape.block = {96, 1, 1};
  for (Schedule schedule : {Schedule::Prompt, Schedule::Adversarial}) {
    options.schedule = schedule;
    device.global = makeGlobalMemory();
    uint64_t out = addEmpty("out", uint64_t(96) * 4);
    ASSERT_EQ(run("kernel", out, uint32_t(50000)), "");
    EXPECT_EQ(getFindings(), "");
    EXPECT_EQ(get<uint32_t>("out")[5], 50000u);
    EXPECT_EQ(get<uint32_t>("out")[40], 0u);
  }
}

// A loop whose counter would need 2^32 rounds: it is taken for a deadlock, as
// only so many bytes of the states of warps are compared.
TEST_F(LaunchTest, ACountThatIsTooLongIsADeadlock) {
  ASSERT_EQ(load(kCountedReads), "");
  shape.block = {96, 1, 1};
  for (Schedule schedule : {Schedule::Prompt, Schedule::Adversarial}) {
    options.schedule = schedule;
    uint64_t out = addEmpty("out", uint64_t(96) * 4);
    ASSERT_EQ(run("kernel", out, ~uint32_t(0)), "");
    EXPECT_NE(getFindings().find("threads 0-31 can never go on behind "
                                 "ld.volatile.shared.b32"),
              std::string::npos)
        << getFindings();
  }
}

// A loop whose two words stay zero: every round ends in one of a few states.
TEST_F(LaunchTest, PollingWhatNobodyWritesIsADeadlock) {
  ASSERT_EQ(load(R"(
    .visible .entry kernel()
    {
      .shared .align 8 .b32 words[2];
      .reg .b32 %t, %v, %w;
      .reg .pred %p;
      mov.u32 %t, %tid.x;
      st.shared.b32 [words], 0;
      st.shared.b32 [words+4], 0;
      bar.sync 0;
      setp.ge.u32 %p, %t, 32;
      @%p bra together;
    again:
      ld.volatile.shared.b32 %v, [words];
      ld.volatile.shared.b32 %w, [words+4];
      or.b32 %v, %v, %w;
      setp.eq.b32 %p, %v, 0;
      @%p bra again;
    together:
      bar.sync 0;
      ret;
    }
  )"),
            "");
  shape.block = {96, 1, 1};
  for (Schedule schedule : {Schedule::Prompt, Schedule::Adversarial}) {
    options.schedule = schedule;
    ASSERT_EQ(run("kernel"), "");
    EXPECT_NE(getFindings().find("threads 32-63, 64-95 can never go on "
                                 "behind bar.sync"),
              std::string::npos)
        << getFindings();
    EXPECT_NE(getFindings().find("threads 0-31 can never go on behind "
                                 "ld.volatile.shared.b32"),
              std::string::npos);
  }
}

// One warp tells another one something and looks at its answer at once; the
// other one takes thousands of instructions for it. No length of a turn lets it
// be in time: it overtakes the first warp.
TEST_F(LaunchTest, AWarpIsOvertakenBehindWhatItHasTold) {
  ASSERT_EQ(load(R"(
    .visible .entry kernel(.param .u64 out)
    {
      .shared .align 8 .b32 words[2];
      .reg .b32 %t, %v, %i;
      .reg .b64 %o;
      .reg .pred %p;
      ld.param.u64 %o, [out];
      mov.u32 %t, %tid.x;
      st.volatile.shared.b32 [words], 0;
      st.volatile.shared.b32 [words+4], 0;
      bar.sync 0;
      setp.lt.u32 %p, %t, 32;
      @%p bra first;
    told:
      ld.volatile.shared.b32 %v, [words];
      setp.eq.b32 %p, %v, 0;
      @%p bra told;
      mov.b32 %i, 0;
    count:
      add.u32 %i, %i, 1;
      setp.lt.u32 %p, %i, 1000;
      @%p bra count;
      st.volatile.shared.b32 [words+4], 1;
      ret;
    first:
      st.volatile.shared.b32 [words], 1;
      ld.volatile.shared.b32 %v, [words+4];
      st.global.b32 [%o], %v;
      ret;
    }
  )"),
            "");
  shape.block = {64, 1, 1};
  auto isOvertaken = [&](Schedule schedule, uint64_t seed) {
    options.schedule = schedule;
    options.seed = seed;
    device.global = makeGlobalMemory();
    uint64_t out = addEmpty("out", 4);
    EXPECT_EQ(run("kernel", out), "");
    return get<uint32_t>("out")[0] == 1;
  };
  EXPECT_FALSE(isOvertaken(Schedule::Prompt, 1));
  for (Schedule schedule : {Schedule::Adversarial, Schedule::Random}) {
    unsigned overtaken = 0;
    for (uint64_t seed = 1; seed <= 200; ++seed)
      overtaken += isOvertaken(schedule, seed);
    EXPECT_GT(overtaken, 0u);
    EXPECT_LT(overtaken, 100u);
  }
}

//===- ThreadBarrierTest.cpp - Tests of barriers of threads ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

namespace {
/// Every case under both schedules.
class ThreadBarrierTest : public KernelTest,
                          public testing::WithParamInterface<Schedule> {
protected:
  void SetUp() override {
    options.schedule = GetParam();
    options.seed = 7;
  }
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Schedules, ThreadBarrierTest,
                         testing::Values(Schedule::Prompt,
                                         Schedule::Adversarial));

static std::vector<uint64_t> makeThreads(unsigned count) {
  std::vector<uint64_t> values(count);
  for (unsigned i = 0; i < count; ++i)
    values[i] = i;
  return values;
}

/// Reverses the order of 128 threads through shared memory.
static std::string makeReversal(const std::string &barrier) {
  return R"(
    .shared .align 8 .b64 buffer[128];
    mov.b32 %r1, buffer;
    mad.lo.u32 %r2, %t, 8, %r1;
    st.shared.b64 [%r2], %a;
  )" + barrier +
         R"(
    sub.u32 %r3, 127, %t;
    mad.lo.u32 %r4, %r3, 8, %r1;
    ld.shared.b64 %d, [%r4];
  )";
}

TEST_P(ThreadBarrierTest, AllThreadsMeet) {
  for (const char *barrier :
       {"bar.sync 0;", "bar.sync 3, 128;", "barrier.sync 0;",
        "mov.b32 %r9, 15; barrier.cta.sync.aligned %r9, 128;",
        "barrier.cluster.arrive.release.aligned; "
        "barrier.cluster.wait.acquire.aligned;"}) {
    std::vector<uint64_t> d = runBody(makeReversal(barrier), makeThreads(128));
    for (unsigned i = 0; i < 128; ++i)
      EXPECT_EQ(d[i], 127 - i) << barrier;
  }
}

TEST_P(ThreadBarrierTest, ReductionsSeeAllPredicates) {
  std::vector<uint64_t> d = runBody(R"(
    setp.lt.u32 %p1, %t, 40;
    bar.red.popc.u32 %r1, 0, %p1;
    bar.red.and.pred %p2, 0, %p1;
    bar.red.or.pred %p3, 0, !%p1;
    selp.b32 %r2, 1000, 0, %p2;
    selp.b32 %r3, 2000, 0, %p3;
    add.u32 %r1, %r1, %r2;
    add.u32 %r1, %r1, %r3;
    cvt.u64.u32 %d, %r1;
  )",
                                    makeThreads(96));
  for (uint64_t value : d)
    EXPECT_EQ(value, 2040u);
}

TEST_P(ThreadBarrierTest, ArrivalsCountWithoutWaiting) {
  // Warp 0 produces for warp 1, which alone waits.
  std::vector<uint64_t> d = runBody(R"(
    .shared .align 8 .b64 buffer[32];
    mov.b64 %d, 5;
    and.b32 %r1, %t, 31;
    mov.b32 %r2, buffer;
    mad.lo.u32 %r2, %r1, 8, %r2;
    setp.lt.u32 %p1, %t, 32;
    @%p1 bra PRODUCER;
    bar.sync 1, 64;
    ld.shared.b64 %d, [%r2];
    bra END;
  PRODUCER:
    st.shared.b64 [%r2], %a;
    bar.arrive 1, 64;
  END:
  )",
                                    makeThreads(64));
  for (unsigned i = 0; i < 32; ++i) {
    EXPECT_EQ(d[i], 5u);
    EXPECT_EQ(d[32 + i], i);
  }
}

TEST_P(ThreadBarrierTest, ThreadsThatExitAreNotWaitedFor) {
  std::vector<uint64_t> d = runBody(R"(
    mov.b64 %d, %a;
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra END;
    bar.sync 0;
    add.u64 %d, %a, 100;
  END:
  )",
                                    makeThreads(64));
  EXPECT_EQ(d[3], 103u);
  EXPECT_EQ(d[40], 40u);
}

TEST_P(ThreadBarrierTest, ABarrierThatNobodyElseReachesIsADeadlock) {
  runBody(R"(
    mov.b64 %d, 0;
    setp.ge.u32 %p1, %t, 32;
    @%p1 bra OTHER;
    bar.sync 1, 64;
    bra END;
  OTHER:
    bar.sync 2, 64;
  END:
  )",
          makeThreads(64), /*wantsFindings=*/true);
  EXPECT_NE(getFindings().find("threads 0-31 can never go on behind bar.sync: "
                               "32 of 64 threads have arrived at barrier 1"),
            std::string::npos)
      << getFindings();
  EXPECT_NE(getFindings().find("threads 32-63 can never go on behind bar.sync: "
                               "32 of 64 threads have arrived at barrier 2"),
            std::string::npos)
      << getFindings();
}

TEST_P(ThreadBarrierTest, PartsOfAWarpCannotPassAnAlignedBarrier) {
  runBody(R"(
    mov.b64 %d, 0;
    setp.ge.u32 %p1, %t, 16;
    @%p1 bar.sync 0;
  )",
          makeThreads(32), /*wantsFindings=*/true);
  EXPECT_NE(getFindings().find("expected all threads of the warp to execute "
                               "it, but the guard excludes lane 0"),
            std::string::npos)
      << getFindings();
}

TEST_P(ThreadBarrierTest, CountsMustBeWholeWarpsAndAgree) {
  runBody("mov.b64 %d, 0; bar.sync 0, 40;", makeThreads(64),
          /*wantsFindings=*/true);
  expectFinding(FaultKind::Barrier, "expected the number of threads to be a "
                                    "multiple of 32, but got 40");
  runBody(R"(
    mov.b64 %d, 0;
    setp.ge.u32 %p1, %t, 32;
    selp.b32 %r1, 64, 96, %p1;
    bar.arrive 0, %r1;
  )",
          makeThreads(64), /*wantsFindings=*/true);
  EXPECT_NE(getFindings().find("that the others at barrier 0 wait for"),
            std::string::npos)
      << getFindings();
  runBody("mov.b64 %d, 0; mov.b32 %r1, 16; bar.sync %r1;", makeThreads(32),
          /*wantsFindings=*/true);
  expectFinding(FaultKind::Barrier,
                "expected a barrier from 0 to 15, but got 16");
}

TEST_P(ThreadBarrierTest, ClustersArriveOnceForEachWait) {
  runBody(R"(
    mov.b64 %d, 0;
    barrier.cluster.arrive;
    barrier.cluster.arrive;
    barrier.cluster.wait;
  )",
          makeThreads(32), /*wantsFindings=*/true);
  expectFinding(FaultKind::Barrier, "expected a thread to wait between two "
                                    "arrivals");
  runBody("mov.b64 %d, 0; barrier.cluster.wait;", makeThreads(32),
          /*wantsFindings=*/true);
  expectFinding(FaultKind::Barrier, "expected a thread to arrive");
}

TEST_P(ThreadBarrierTest, WarpBarriersBringLanesTogether) {
  std::vector<uint64_t> d = runBody(R"(
    .shared .align 8 .b64 buffer[32];
    mov.b32 %r1, buffer;
    mad.lo.u32 %r2, %t, 8, %r1;
    and.b32 %r3, %t, 3;
    setp.eq.u32 %p1, %r3, 0;
    @%p1 bra LATE;
    st.shared.b64 [%r2], %a;
    bra JOIN;
  LATE:
    add.u64 %q1, %a, 50;
    st.shared.b64 [%r2], %q1;
  JOIN:
    bar.warp.sync -1;
    xor.b32 %r4, %t, 4;
    mad.lo.u32 %r4, %r4, 8, %r1;
    ld.shared.b64 %d, [%r4];
  )",
                                    makeThreads(32));
  for (unsigned i = 0; i < 32; ++i)
    EXPECT_EQ(d[i], (i ^ 4) + (i % 4 == 0 ? 50 : 0));
}

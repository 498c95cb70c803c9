//===- RaceLogTest.cpp - Tests of races in shared memory ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

using namespace blockscale::emulator;

namespace {
/// Every case under both schedules.
class RaceLogTest : public KernelTest,
                    public testing::WithParamInterface<Schedule> {
protected:
  void SetUp() override {
    options.schedule = GetParam();
    options.seed = 3;
  }

  /// 64 threads: each stores its word, then loads that of the thread `distance`
  /// away, then does it again.
  std::string makeExchange(const std::string &between,
                           const std::string &behind, unsigned distance) {
    return R"(
      .shared .align 8 .b64 buffer[64];
      mov.b32 %r1, buffer;
      mad.lo.u32 %r2, %t, 8, %r1;
      xor.b32 %r3, %t, )" +
           std::to_string(distance) + R"(;
      mad.lo.u32 %r3, %r3, 8, %r1;
      mov.b32 %r4, 0;
    AGAIN:
      st.shared.b64 [%r2], %a;
    )" + between +
           " ld.shared.b64 %d, [%r3]; " + behind + R"(
      add.u32 %r4, %r4, 1;
      setp.lt.u32 %p1, %r4, 3;
      @%p1 bra AGAIN;
    )";
  }
};
} // namespace

INSTANTIATE_TEST_SUITE_P(Schedules, RaceLogTest,
                         testing::Values(Schedule::Prompt,
                                         Schedule::Adversarial));

static const std::vector<uint64_t> kValues(64, 7);

TEST_P(RaceLogTest, BarriersOnBothSidesAreEnough) {
  runBody(makeExchange("bar.sync 0;", "bar.sync 0;", 32), kValues);
}

TEST_P(RaceLogTest, LoadsMustWaitForTheStore) {
  runBody(makeExchange("", "bar.sync 0;", 32), kValues, true);
  EXPECT_NE(getFindings().find("of shared memory, which warp"),
            std::string::npos)
      << getFindings();
}

TEST_P(RaceLogTest, StoresMustWaitForTheLoad) {
  runBody(makeExchange("bar.sync 0;", "", 32), kValues, true);
  EXPECT_NE(getFindings().find("has loaded, and has not waited"),
            std::string::npos)
      << getFindings();
}

TEST_P(RaceLogTest, ThreadsOfAWarpDoNotRace) {
  runBody(makeExchange("bar.warp.sync -1;", "bar.warp.sync -1;", 1), kValues);
}

TEST_P(RaceLogTest, AtomicsDoNotRace) {
  runBody(R"(
    .shared .align 8 .b64 counter;
    mov.b32 %r1, counter;
    mov.b64 %d, 0;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.b64 [%r1], %d;
    bar.sync 0;
    red.shared.add.u64 [%r1], %a;
    atom.shared.max.u64 %q1, [%r1], 5;
    bar.sync 0;
    ld.shared.b64 %d, [%r1];
  )",
          kValues);
}

TEST_P(RaceLogTest, AFlagThatWasSeenOrdersWhatCameBefore) {
  std::vector<uint64_t> d = runBody(R"(
    .shared .align 8 .b64 data;
    .shared .align 4 .b32 flag;
    mov.b32 %r1, data;
    mov.b32 %r2, flag;
    mov.b32 %r5, 0;
    setp.eq.u32 %p1, %t, 0;
    @%p1 st.shared.b32 [%r2], %r5;
    bar.sync 0;
    mov.b64 %d, 0;
    setp.lt.u32 %p2, %t, 32;
    @%p2 bra PRODUCER;
  WAIT:
    ld.acquire.cta.shared.b32 %r3, [%r2];
    setp.eq.u32 %p3, %r3, 0;
    @%p3 bra WAIT;
    ld.shared.b64 %d, [%r1];
    bra END;
  PRODUCER:
    @!%p1 bra END;
    st.shared.b64 [%r1], %a;
    mov.b32 %r4, 1;
    st.release.cta.shared.b32 [%r2], %r4;
  END:
  )",
                                    kValues);
  EXPECT_EQ(d[40], 7u);
}

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

// Accesses of single bytes make words smaller where they are, and nowhere else.
TEST_P(RaceLogTest, BytesAndWordsAreInOneMemory) {
  for (const char *between : {"", "bar.sync 0;"}) {
    SCOPED_TRACE(between);
    runBody(std::string(R"(
      .shared .align 8 .b8 bytes[4096];
      mov.b32 %r1, bytes;
      add.u32 %r2, %r1, %t;
      st.shared.b8 [%r2], %t;
      mad.lo.u32 %r2, %t, 8, %r1;
      st.shared.b64 [%r2+2048], %a;
      bar.sync 0;
      xor.b32 %r3, %t, 32;
      add.u32 %r4, %r1, %r3;
      mad.lo.u32 %r3, %r3, 8, %r1;
      ld.shared.b8 %r5, [%r4];
      ld.shared.b64 %d, [%r3+2048];
    )") + between +
                R"(
      add.u32 %r4, %r1, %t;
      st.shared.b8 [%r4], %r5;
      st.shared.b64 [%r2+2048], %d;
    )",
            kValues, /*isFaulty=*/!*between);
    if (*between)
      continue;
    EXPECT_NE(getFindings().find("has loaded"), std::string::npos)
        << getFindings();
  }
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

/// A thread stores 7 and raises a flag; those of another warp load the 7 once
/// they see it. `release` and `acquire` are how the flag is stored and loaded,
/// `before` and `behind` what stands before the one and behind the other.
static std::string makeFlag(const std::string &release,
                            const std::string &acquire,
                            const std::string &before = "",
                            const std::string &behind = "") {
  return R"(
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
    ld.)" +
         acquire +
         R"(.shared.b32 %r3, [%r2];
    setp.eq.u32 %p3, %r3, 0;
    @%p3 bra WAIT;
    )" + behind +
         R"(
    ld.shared.b64 %d, [%r1];
    bra END;
  PRODUCER:
    @!%p1 bra END;
    st.shared.b64 [%r1], %a;
    )" + before +
         R"(
    mov.b32 %r4, 1;
    st.)" +
         release +
         R"(.shared.b32 [%r2], %r4;
  END:
  )";
}

TEST_P(RaceLogTest, AFlagThatWasSeenOrdersWhatCameBefore) {
  std::string fence = "fence.acq_rel.cta;";
  for (const std::string &body :
       {makeFlag("release.cta", "acquire.cta"),
        makeFlag("relaxed.cta", "acquire.cta", fence),
        makeFlag("volatile", "acquire.cta", fence),
        makeFlag("release.cta", "relaxed.cta", "", "membar.cta;"),
        makeFlag("volatile", "volatile", fence, fence)})
    EXPECT_EQ(runBody(body, kValues)[40], 7u) << body;
}

TEST_P(RaceLogTest, ARelaxedFlagOrdersNothing) {
  for (const std::string &body :
       {makeFlag("relaxed.cta", "acquire.cta"),
        makeFlag("volatile", "acquire.cta"),
        makeFlag("release.cta", "relaxed.cta"),
        makeFlag("release.cta", "volatile"),
        // Fences in the wrong places.
        makeFlag("relaxed.cta", "acquire.cta", "", "fence.acq_rel.cta;"),
        makeFlag("release.cta", "relaxed.cta", "fence.acq_rel.cta;")}) {
    runBody(body, kValues, true);
    EXPECT_NE(getFindings().find("has stored, and has not waited for it"),
              std::string::npos)
        << body << getFindings();
  }
}

//===----------------------------------------------------------------------===//
// Waits for somebody else
//===----------------------------------------------------------------------===//

/// Three warps, the first of which stores, the second of which loads. %p1, %p2
/// and %p3 are their predicates. `store` and `load` stand behind the store and
/// before the load, `third` is what the last one does.
static std::string makeThree(const std::string &store, const std::string &load,
                             const std::string &third) {
  return R"(
    .shared .align 8 .b64 data;
    .shared .align 8 .b64 bar;
    .shared .align 4 .b32 flags[2];
    mov.b32 %r1, data;
    mov.b32 %r2, bar;
    mov.b32 %r3, flags;
    mov.b32 %r5, 0;
    mov.b32 %r6, 1;
    mov.b64 %d, 0;
    shr.u32 %r4, %t, 5;
    setp.eq.u32 %p1, %r4, 0;
    setp.eq.u32 %p2, %r4, 1;
    setp.eq.u32 %p3, %r4, 2;
    setp.ne.u32 %p4, %t, 0;
    @%p4 bra READY;
    mbarrier.init.shared.b64 [%r2], 1;
    st.shared.v2.b32 [%r3], {%r5, %r5};
  READY:
    bar.sync 0;
    @%p2 bra SECOND;
    @%p3 bra THIRD;
    st.shared.b64 [%r1], %a;
)" + store +
         R"(
    bra END;
  SECOND:
)" + load +
         R"(
    ld.shared.b64 %d, [%r1];
    bra END;
  THIRD:
)" + third +
         R"(
  END:
)";
}

static const std::vector<uint64_t> kThreeWarps(96, 7);
static const std::string kArrive =
    "elect.sync _|%p5, -1; @%p5 mbarrier.arrive.shared.b64 _, [%r2];\n";
static const std::string kPhaseWait = R"(
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p6, [%r2], 0;
    @!%p6 bra WAIT;
)";
static const std::string kRaised =
    "st.release.cta.shared.b32 [%r3 + 4], %r6;\n";
static const std::string kPolled = R"(
  POLL:
    ld.acquire.cta.shared.b32 %r7, [%r3 + 4];
    setp.eq.u32 %p6, %r7, 0;
    @%p6 bra POLL;
)";

#define EXPECT_RACE(text)                                                      \
  EXPECT_NE(getFindings().find(text), std::string::npos) << getFindings()

TEST_P(RaceLogTest, NamedBarrierOfOtherWarps) {
  std::vector<uint64_t> d =
      runBody(makeThree("bar.sync 1, 64;", "bar.sync 1, 64;", ""), kThreeWarps);
  EXPECT_EQ(d[40], 7u);
  runBody(makeThree("", "bar.sync 1, 64;", "bar.sync 1, 64;"), kThreeWarps,
          true);
  // Where it loads first, that is the race.
  EXPECT_RACE("and has not waited for it since");
}

TEST_P(RaceLogTest, MBarrierOfOtherWarps) {
  std::vector<uint64_t> d =
      runBody(makeThree(kArrive, kPhaseWait, ""), kThreeWarps);
  EXPECT_EQ(d[40], 7u);
  runBody(makeThree("", kPhaseWait, kArrive), kThreeWarps, true);
  EXPECT_RACE("and has not waited for it since");
}

TEST_P(RaceLogTest, FlagOfOtherWarps) {
  std::vector<uint64_t> d =
      runBody(makeThree(kRaised, kPolled, ""), kThreeWarps);
  EXPECT_EQ(d[40], 7u);
  runBody(makeThree("st.release.cta.shared.b32 [%r3], %r6;", kPolled, kRaised),
          kThreeWarps, true);
  EXPECT_RACE("and has not waited for it since");
}

TEST_P(RaceLogTest, WaitsAreTransitive) {
  std::vector<uint64_t> d = runBody(
      makeThree(kArrive, "bar.sync 2, 64;", kPhaseWait + "bar.sync 2, 64;"),
      kThreeWarps);
  EXPECT_EQ(d[40], 7u);
  d = runBody(
      makeThree("bar.sync 3, 64;", kPolled, "bar.sync 3, 64;" + kRaised),
      kThreeWarps);
  EXPECT_EQ(d[40], 7u);
  // The third warp raises the flag before it has waited.
  runBody(makeThree("bar.sync 3, 64;", kPolled, kRaised + "bar.sync 3, 64;"),
          kThreeWarps, true);
  EXPECT_RACE("and has not waited for it since");
}

TEST_P(RaceLogTest, AnArrivalAloneIsNoWait) {
  std::vector<uint64_t> d = runBody(
      makeThree("bar.arrive 1, 64;", "bar.sync 1, 64;", ""), kThreeWarps);
  EXPECT_EQ(d[40], 7u);
  runBody(makeThree("bar.sync 1, 64;", "bar.arrive 1, 64;", ""), kThreeWarps,
          true);
  EXPECT_RACE("and has not waited for it since");
}

TEST_P(RaceLogTest, WhatFollowsAnArrivalIsNotSignalled) {
  runBody(makeThree(kArrive + "st.shared.b64 [%r1], %a;", kPhaseWait, ""),
          kThreeWarps, true);
  EXPECT_RACE("and has not waited for it since");
}

TEST_P(RaceLogTest, ThreadsThatExitHaveArrived) {
  std::vector<uint64_t> d = runBody(
      makeThree("st.global.b64 [%to], %d; exit;", "bar.sync 0;", "bar.sync 0;"),
      kThreeWarps);
  EXPECT_EQ(d[40], 7u);
}

/// All warps leave a value; the last one to count itself adds them up.
TEST_P(RaceLogTest, LastArriverOfACounter) {
  auto make = [](const std::string &condition) {
    return R"(
      .shared .align 8 .b64 parts[4];
      .shared .align 4 .b32 counter;
      mov.b32 %r1, parts;
      mov.b32 %r2, counter;
      mov.b32 %r5, 0;
      mov.b64 %d, 0;
      shr.u32 %r4, %t, 5;
      mad.lo.u32 %r3, %r4, 8, %r1;
      setp.eq.u32 %p1, %t, 0;
      @%p1 st.shared.b32 [%r2], %r5;
      bar.sync 0;
      elect.sync _|%p2, -1;
      @!%p2 bra END;
      st.shared.b64 [%r3], %a;
      fence.acq_rel.cta;
      atom.shared.add.u32 %r6, [%r2], 1;
      setp.ne.u32 %p3, %r6, 3;
      @)" + condition +
           R"( bra END;
      fence.acq_rel.cta;
      ld.shared.v2.b64 {%q1, %q2}, [%r1];
      ld.shared.v2.b64 {%q3, %q4}, [%r1 + 16];
      add.u64 %q1, %q1, %q2;
      add.u64 %q3, %q3, %q4;
      add.u64 %d, %q1, %q3;
    END:
    )";
  };
  std::vector<uint64_t> d = runBody(make("%p3"), std::vector<uint64_t>(128, 7));
  uint64_t sum = 0;
  for (uint64_t value : d)
    sum += value;
  EXPECT_EQ(sum, 28u);
  // One that is not the last.
  std::string early = make("%p3");
  early.replace(early.find("%r6, 3"), 6, "%r6, 2");
  runBody(early, std::vector<uint64_t>(128, 7), true);
  EXPECT_FALSE(getFindings().empty());
}

/// Loads of all warps count, not of the last one alone.
TEST_P(RaceLogTest, EveryLoadCounts) {
  auto make = [](const std::string &first) {
    return R"(
      .shared .align 8 .b64 data;
      mov.b32 %r1, data;
      setp.eq.u32 %p1, %t, 0;
      @%p1 st.shared.b64 [%r1], %a;
      bar.sync 0;
      ld.shared.b64 %d, [%r1];
      shr.u32 %r4, %t, 5;
      setp.eq.u32 %p2, %r4, 0;
      setp.eq.u32 %p3, %r4, 3;
      @%p2 bra FIRST;
      bar.sync 1, 96;
      @!%p3 bra END;
      )" + first +
           R"(
      st.shared.b64 [%r1], %a;
      bra END;
    FIRST:
      )" + first +
           R"(
    END:
    )";
  };
  const std::vector<uint64_t> values(128, 7);
  runBody(make("bar.sync 2, 64;"), values);
  // The first warp's load is not the latest one.
  runBody(make(""), values, true);
  EXPECT_RACE("and has not waited for it since");
}

//===----------------------------------------------------------------------===//
// Sizes and values
//===----------------------------------------------------------------------===//

/// Each warp stores bytes of its own, side by side, and loads them back.
TEST_P(RaceLogTest, NeighboursOfAWordDoNotRace) {
  auto make = [](const std::string &type, const std::string &scale) {
    return R"(
      .shared .align 16 .b8 data[64];
      mov.b32 %r1, data;
      shr.u32 %r4, %t, 5;
      mad.lo.u32 %r2, %r4, )" +
           scale + R"(, %r1;
      setp.eq.u32 %p1, %r4, 0;
      mov.b64 %q1, 0;
      @%p1 st.shared.b64 [%r1 + 32], %q1;
      cvt.u16.u64 %h1, %a;
      st.shared.)" +
           type + R"( [%r2], %h1;
      ld.shared.)" +
           type + R"( %h2, [%r2];
      cvt.u64.u16 %d, %h2;
    )";
  };
  EXPECT_EQ(runBody(make("b8", "1"), kThreeWarps), kThreeWarps);
  EXPECT_EQ(runBody(make("b16", "2"), kThreeWarps), kThreeWarps);
  runBody(make("b8", "0"), kThreeWarps, true);
  EXPECT_RACE("byte 0x0 of shared memory");
}

/// Bytes of words that were stored whole before.
TEST_P(RaceLogTest, BytesOfStoredWords) {
  auto make = [](const std::string &barrier) {
    return R"(
      .shared .align 16 .b8 data[64];
      mov.b32 %r1, data;
      setp.eq.u32 %p1, %t, 0;
      @%p1 st.shared.b64 [%r1], %a;
      )" + barrier +
           R"(
      ld.shared.b8 %h2, [%r1];
      cvt.u64.u16 %d, %h2;
    )";
  };
  EXPECT_EQ(runBody(make("bar.sync 0;"), kThreeWarps), kThreeWarps);
  runBody(make(""), kThreeWarps, true);
  EXPECT_FALSE(getFindings().empty());
}

TEST_P(RaceLogTest, StoresOfTheSameValueDoNotRace) {
  const std::string body = R"(
    .shared .align 8 .b64 data;
    mov.b32 %r1, data;
    st.shared.b64 [%r1], %a;
    bar.sync 0;
    ld.shared.b64 %d, [%r1];
  )";
  EXPECT_EQ(runBody(body, kThreeWarps), kThreeWarps);
  std::vector<uint64_t> values = kThreeWarps;
  std::fill(values.begin() + 64, values.end(), 8);
  runBody(body, values, true);
  EXPECT_RACE("has stored, and has not waited for it since");
}

//===- WarpExchangeTest.cpp - Shuffles, votes, matches, reductions --------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelTest.h"

#include <numeric>

using namespace blockscale::emulator;

namespace {
struct DecodeWarp : KernelTest {
  /// 0 to 31.
  std::vector<uint64_t> lanes = std::vector<uint64_t>(32);
  DecodeWarp() { std::iota(lanes.begin(), lanes.end(), 0); }

  /// A shuffle of the lanes; 100 more where the predicate holds.
  std::vector<uint64_t> shuffle(const std::string &operation,
                                const std::string &b, const std::string &c) {
    return runBody("cvt.u32.u64 %r0, %a;\nshfl.sync." + operation +
                       ".b32 %r1|%p0, %r0, " + b + ", " + c +
                       ", 0xFFFFFFFF;\n@%p0 add.u32 %r1, %r1, 100;\n"
                       "cvt.u64.u32 %d, %r1;",
                   lanes);
  }
};
} // namespace

// The whole warp: lanes past the end keep their own.
TEST_F(DecodeWarp, ShufflesOfTheWarp) {
  std::vector<uint64_t> up = shuffle("up", "3", "0");
  std::vector<uint64_t> down = shuffle("down", "3", "31");
  std::vector<uint64_t> butterfly = shuffle("bfly", "5", "31");
  std::vector<uint64_t> index = shuffle("idx", "37", "31");
  for (uint64_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(up[lane], lane < 3 ? lane : lane - 3 + 100);
    EXPECT_EQ(down[lane], lane > 28 ? lane : lane + 3 + 100);
    EXPECT_EQ(butterfly[lane], (lane ^ 5) + 100);
    EXPECT_EQ(index[lane], 105u);
  }
}

// Segments of 8 lanes: the mask in bits 8 to 12 holds their number.
TEST_F(DecodeWarp, ShufflesOfSegments) {
  std::vector<uint64_t> up = shuffle("up", "2", "0x1800");
  std::vector<uint64_t> down = shuffle("down", "2", "0x181F");
  std::vector<uint64_t> index = shuffle("idx", "%t", "0x1803");
  for (uint64_t lane = 0; lane < 32; ++lane) {
    EXPECT_EQ(up[lane], lane % 8 < 2 ? lane : lane - 2 + 100);
    EXPECT_EQ(down[lane], lane % 8 > 5 ? lane : lane + 2 + 100);
    // The clamp is 3 within a segment.
    EXPECT_EQ(index[lane], lane % 8 > 3 ? lane : lane + 100);
  }
}

// A lane that does not take part has nothing to give.
TEST_F(DecodeWarp, ShuffleFromALaneOutside) {
  runBody(R"(
    mov.b64 %d, 0;
    setp.ge.u32 %p0, %t, 16;
    @%p0 bra done;
    cvt.u32.u64 %r0, %a;
    shfl.sync.idx.b32 %r1, %r0, 16, 31, 0xFFFF;
    cvt.u64.u32 %d, %r1;
    done:)",
          lanes, /*wantsFindings=*/true);
  expectFinding(FaultKind::Uninitialised, "");
}

TEST_F(DecodeWarp, Votes) {
  std::string body = R"(
    setp.lt.u64 %p0, %a, LIMIT;
    vote.sync.ballot.b32 %r0, !%p0, 0xFFFFFFFF;
    vote.sync.all.pred %p1, %p0, 0xFFFFFFFF;
    vote.sync.any.pred %p2, %p0, 0xFFFFFFFF;
    vote.sync.uni.pred %p3, %p0, 0xFFFFFFFF;
    cvt.u64.u32 %d, %r0;
    shl.b64 %d, %d, 3;
    @%p1 or.b64 %d, %d, 1;
    @%p2 or.b64 %d, %d, 2;
    @%p3 or.b64 %d, %d, 4;)";
  auto vote = [&](const char *limit) {
    std::string text = body;
    text.replace(text.find("LIMIT"), 5, limit);
    std::vector<uint64_t> results = runBody(text, lanes);
    for (uint64_t result : results)
      EXPECT_EQ(result, results[0]);
    return results[0];
  };
  EXPECT_EQ(vote("4"), uint64_t(0xFFFFFFF0) << 3 | 2);
  EXPECT_EQ(vote("32"), 7u);
  EXPECT_EQ(vote("0"), uint64_t(0xFFFFFFFF) << 3 | 4);
}

// A vote of some lanes counts them alone; others go another way.
TEST_F(DecodeWarp, VoteOfSome) {
  std::vector<uint64_t> results = runBody(R"(
    mov.b64 %d, 9;
    setp.ge.u32 %p0, %t, 4;
    @%p0 bra done;
    setp.ne.u32 %p1, %t, 1;
    vote.sync.ballot.b32 %r0, %p1, 0xF;
    cvt.u64.u32 %d, %r0;
    done:)",
                                          lanes);
  for (uint64_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(results[lane], lane < 4 ? 0xDu : 9u);
}

TEST_F(DecodeWarp, Matches) {
  std::vector<uint64_t> any = runBody(R"(
    and.b64 %q0, %a, 3;
    match.any.sync.b64 %r0, %q0, 0xFFFFFFFF;
    cvt.u64.u32 %d, %r0;)",
                                      lanes);
  for (uint64_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(any[lane], uint64_t(0x11111111) << lane % 4);
  std::string all = R"(
    cvt.u32.u64 %r0, %a;
    match.all.sync.b32 %r1|%p0, %r0, 0xFFFFFFFF;
    cvt.u64.u32 %d, %r1;
    @%p0 add.u64 %d, %d, 1;)";
  EXPECT_EQ(runBody(all, lanes), std::vector<uint64_t>(32, 0));
  EXPECT_EQ(runBody(all, std::vector<uint64_t>(32, 7)),
            std::vector<uint64_t>(32, uint64_t(1) << 32));
}

TEST_F(DecodeWarp, Reductions) {
  auto reduce = [&](const std::string &operation) {
    std::vector<uint64_t> results =
        runBody("cvt.u32.u64 %r0, %a;\nsub.u32 %r0, %r0, 3;\nredux.sync." +
                    operation + " %r1, %r0, 0xFFFFFFFF;\ncvt.u64.u32 %d, %r1;",
                lanes);
    for (uint64_t result : results)
      EXPECT_EQ(result, results[0]) << operation;
    return results[0];
  };
  EXPECT_EQ(reduce("add.u32"), 400u);
  EXPECT_EQ(reduce("min.s32"), 0xFFFFFFFDu);
  EXPECT_EQ(reduce("min.u32"), 0u);
  EXPECT_EQ(reduce("max.s32"), 28u);
  EXPECT_EQ(reduce("max.u32"), 0xFFFFFFFFu);
  EXPECT_EQ(reduce("and.b32"), 0u);
  EXPECT_EQ(reduce("or.b32"), 0xFFFFFFFFu);
  // 29 to 31 of 0 to 31 are missing, and -3 to -1 are there.
  EXPECT_EQ(reduce("xor.b32"), (29u ^ 30u ^ 31u) ^ (~2u ^ ~1u ^ ~0u));
}

TEST_F(DecodeWarp, ReductionsOfFloats) {
  std::vector<uint64_t> values(32, 0x3F800000);
  values[3] = 0xC0000000;
  values[9] = 0x7FC00001;
  auto reduce = [&](const std::string &modifiers) {
    return runBody("cvt.u32.u64 %r0, %a;\n.reg .f32 %x, %y;\nmov.b32 %x, %r0;\n"
                   "redux.sync." +
                       modifiers +
                       ".f32 %y, %x, 0xFFFFFFFF;\nmov.b32 %r1, %y;\n"
                       "cvt.u64.u32 %d, %r1;",
                   values)[0];
  };
  EXPECT_EQ(reduce("min"), 0xC0000000u);
  EXPECT_EQ(reduce("max"), 0x3F800000u);
  EXPECT_EQ(reduce("max.abs"), 0x40000000u);
  EXPECT_EQ(reduce("min.NaN"), 0x7FFFFFFFu);
}

// One leader, the lowest lane, or another one, but always the same.
TEST_F(DecodeWarp, Election) {
  std::string body = R"(
    elect.sync %r0|%p0, 0xFFFFFFFF;
    elect.sync _|%p1, 0xFFFFFFFF;
    cvt.u64.u32 %d, %r0;
    @%p0 add.u64 %d, %d, 100;
    @%p1 add.u64 %d, %d, 1000;)";
  std::vector<uint64_t> results = runBody(body, lanes);
  EXPECT_EQ(results[0], 1100u);
  for (uint64_t lane = 1; lane < 32; ++lane)
    EXPECT_EQ(results[lane], 0u);
  options.schedule = Schedule::Adversarial;
  bool isOther = false;
  for (options.seed = 0; options.seed < 4; ++options.seed) {
    results = runBody(body, lanes);
    uint64_t leader = results[0] % 100;
    isOther |= leader != 0;
    for (uint64_t lane = 0; lane < 32; ++lane)
      EXPECT_EQ(results[lane], leader + (lane == leader ? 1100 : 0));
  }
  EXPECT_TRUE(isOther);
}

// The lanes that are there.
TEST_F(DecodeWarp, ActiveMask) {
  std::vector<uint64_t> results = runBody(R"(
    setp.lt.u32 %p0, %t, 8;
    mov.u32 %r0, 0;
    @%p0 activemask.b32 %r0;
    cvt.u64.u32 %d, %r0;)",
                                          lanes);
  for (uint64_t lane = 0; lane < 32; ++lane)
    EXPECT_EQ(results[lane], lane < 8 ? 0xFFu : 0u);
}

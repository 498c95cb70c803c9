//===- MBarrierKernelTest.cpp - mbarrier in kernels -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncTest.h"

using namespace blockscale::emulator;

static const std::string kBarrier = ".shared .align 8 .b8 bar[8];";

/// Thread 0 initialises the barrier for `count` arrivals.
static std::string init(unsigned count) {
  return R"(
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], )" +
         std::to_string(count) + R"(;
    READY:
    bar.sync 0;
)";
}

/// Spins on parity `parity`.
static std::string spin(unsigned parity, const std::string &label = "WAIT") {
  return label + ": mbarrier.try_wait.parity.shared.b64 %p1, [bar], " +
         std::to_string(parity) + ";\n@!%p1 bra " + label + ";\n";
}

// Warps that wait see what those that arrived had stored.
TEST_F(AsyncTest, ArriveAndWait) {
  expectResult(kBarrier + ".shared .b32 data[64];", init(64) + R"(
    mov.u32 %r9, data;
    mad.lo.u32 %r0, %t, 4, %r9;
    st.shared.b32 [%r0], %t;
    mbarrier.arrive.shared.b64 %q0, [bar];
    WAIT: mbarrier.try_wait.shared.b64 %p1, [bar], %q0;
    @!%p1 bra WAIT;
    xor.b32 %r1, %t, 63;
    mad.lo.u32 %r1, %r1, 4, %r9;
    ld.shared.b32 %r2, [%r1];
    mad.wide.u32 %q1, %t, 4, %to;
    st.global.b32 [%q1], %r2;)",
               64, count(64), count(64, 63, -1));
}

// An arrival that is relaxed releases what came before a fence, and nothing
// else; a wait that is relaxed acquires nothing.
TEST_F(AsyncTest, RelaxedArrivalAndWait) {
  auto makeBody = [](const std::string &fence, const std::string &arrival,
                     const std::string &wait) {
    return init(64) + R"(
    mov.u32 %r9, data;
    mad.lo.u32 %r0, %t, 4, %r9;
    st.shared.b32 [%r0], %t;
    )" + fence +
           "mbarrier.arrive." + arrival + R"(.cta.shared::cta.b64 %q0, [bar];
    WAIT: mbarrier.try_wait.)" +
           wait + R"(.cta.shared::cta.b64 %p1, [bar], %q0;
    @!%p1 bra WAIT;
    xor.b32 %r1, %t, 63;
    mad.lo.u32 %r1, %r1, 4, %r9;
    ld.shared.b32 %r2, [%r1];
    mad.wide.u32 %q1, %t, 4, %to;
    st.global.b32 [%q1], %r2;)";
  };
  std::string shared = kBarrier + ".shared .b32 data[64];";
  std::string race = "has stored, and has not waited for it";
  std::vector<uint32_t> reversed = count(64, 63, -1);
  expectResult(shared, makeBody("", "release", "acquire"), 64, count(64),
               reversed);
  expectResult(shared, makeBody("fence.acq_rel.cta; ", "relaxed", "acquire"),
               64, count(64), reversed);
  expectFault(FaultKind::Hazard, race, shared,
              makeBody("", "relaxed", "acquire"), 64, count(64));
  expectFault(FaultKind::Hazard, race, shared,
              makeBody("", "release", "relaxed"), 64, count(64));
}

/// Starts a copy of 16 bytes, whose first word is `value`, and waits for it.
static const std::string kCopied = kBarrier + ".shared .align 16 .b8 data[16];";
static std::string makeCopy(const std::string &fence,
                            const std::string &behind = "") {
  return "    mbarrier.init.shared.b64 [bar], 1;\n    " + fence + R"(
    mov.u32 %r9, data;
    mbarrier.arrive.expect_tx.shared.b64 %q0, [bar], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%from], 16, [bar];
)" + behind +
         spin(0) +
         R"(
    ld.shared.b32 %r4, [%r9];
    st.global.b32 [%to], %r4;
)";
}

// The async proxy signals an mbarrier that the generic proxy has initialised: a
// fence must stand between, where the module has any or the launch requires it.
TEST_F(AsyncTest, BarrierOfACopyWithoutFence) {
  std::string fence = "fence.mbarrier_init.release.cluster;";
  std::vector<uint32_t> from = {7};
  expectResult(kCopied, makeCopy(""), 1, {7, 0, 0, 0}, {7});
  expectFault(FaultKind::Hazard, "missing fence.mbarrier_init", kCopied,
              makeCopy("", fence), 1, {7, 0, 0, 0});
  options.requireFences = true;
  expectFault(FaultKind::Hazard, "missing fence.mbarrier_init", kCopied,
              makeCopy(""), 1, {7, 0, 0, 0});
  expectResult(kCopied, makeCopy(fence), 1, {7, 0, 0, 0}, {7});
  expectResult(kCopied, makeCopy("fence.proxy.async.shared::cta;"), 1,
               {7, 0, 0, 0}, {7});
  expectFault(FaultKind::Hazard, "missing fence.mbarrier_init", kCopied,
              makeCopy("fence.proxy.async.global;"), 1, {7, 0, 0, 0});
}

// What is pending may be done at any moment: the first test of the barrier,
// some hundred instructions behind the start of a copy, finds it done where
// work is prompt or random, not where it is as late as can be.
TEST_F(AsyncTest, SchedulesDoWorkAtOtherMoments) {
  std::string behind = "    mov.b32 %r3, 0;\n";
  for (unsigned i = 0; i < 200; ++i)
    behind += "    add.u32 %r3, %r3, 1;\n";
  behind += "    mbarrier.test_wait.shared.b64 %p2, [bar], %q0;\n"
            "    @%p2 st.global.b32 [%to + 4], 1;\n";
  std::string body = "    st.global.b32 [%to + 4], 0;\n" + makeCopy("", behind);
  std::vector<uint32_t> isDone;
  runSchedules(kCopied, body, 1, {7, 0, 0, 0}, [&] {
    EXPECT_EQ(getFindings(), "");
    isDone.push_back(get<uint32_t>("to")[1]);
  });
  EXPECT_EQ(isDone, std::vector<uint32_t>({1, 0, 0, 0, 1, 1, 1}));
}

// The count of an arrival, noComplete, and what pending_count reads from the
// state.
TEST_F(AsyncTest, CountsOfArrivals) {
  expectResult(kBarrier, init(5) + R"(
    mbarrier.arrive.noComplete.shared.b64 %q0, [bar], 2;
    mbarrier.pending_count.b64 %r0, %q0;
    mbarrier.arrive.shared.b64 %q1, [bar], 3;
    mbarrier.pending_count.b64 %r1, %q1;
    mbarrier.test_wait.shared.b64 %p1, [bar], %q1;
    selp.b32 %r2, 1, 0, %p1;
    mbarrier.test_wait.parity.shared.b64 %p1, [bar], 1;
    selp.b32 %r3, 1, 0, %p1;
    st.global.v4.b32 [%to], {%r0, %r1, %r2, %r3};)",
               1, count(4), {5, 3, 1, 0});
}

// After arrive_drop fewer arrivals complete a phase.
TEST_F(AsyncTest, ArriveDrop) {
  expectResult(kBarrier, init(2) + R"(
    mbarrier.arrive_drop.shared.b64 _, [bar];
    mbarrier.arrive.shared.b64 _, [bar];
)" + spin(0) + R"(
    mbarrier.arrive.shared.b64 _, [bar];
)" + spin(1, "WAIT1") + R"(
    st.global.b32 [%to], 1;)",
               1, count(1), {1});
}

// Bytes are expected and completed by hand; a generic address names the
// barrier.
TEST_F(AsyncTest, TransactionBytes) {
  expectResult(kBarrier, init(1) + R"(
    mov.b64 %q2, bar;
    cvta.shared.u64 %q2, %q2;
    mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [bar], 16;
    mbarrier.arrive.expect_tx.b64 _, [%q2], 16;
    mbarrier.complete_tx.relaxed.cta.shared::cta.b64 [bar], 32;
)" + spin(0) + R"(
    mbarrier.inval.b64 [%q2];
    st.shared.b64 [bar], 7;
    ld.shared.b32 %r0, [bar];
    st.global.b32 [%to], %r0;)",
               1, count(1), {7});
}

// A CTA arrives at the barrier of another.
TEST_F(AsyncTest, RemoteArrival) {
  shape.grid = shape.cluster = {2, 1, 1};
  std::string body = R"(
    mov.u32 %r5, %cluster_ctarank;
    mbarrier.init.shared.b64 [bar], 2;
    fence.mbarrier_init.release.cluster;
    barrier.cluster.arrive.relaxed.aligned;
    barrier.cluster.wait.aligned;
    mapa.shared::cluster.u32 %r0, bar, 0;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r0];
    setp.ne.u32 %p0, %r5, 0;
    @%p0 bra END;
)" + spin(0) + R"(
    st.global.b32 [%to], 1;
    END:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;)";
  expectResult(kBarrier, body, 1, count(1), {1});
  expectFault(FaultKind::Hazard, "has not been published", kBarrier,
              without(body, "fence.mbarrier_init.release.cluster;"), 1,
              count(1));
}

// The barrier of the cluster publishes, too, where it is not relaxed.
TEST_F(AsyncTest, RemoteArrivalBehindClusterBarrier) {
  shape.grid = shape.cluster = {2, 1, 1};
  expectResult(kBarrier, R"(
    mbarrier.init.shared.b64 [bar], 2;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mapa.shared::cluster.u32 %r0, bar, 0;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r0];
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    st.global.b32 [%to], 1;)",
               1, count(1), {1});
}

// An arrival too few: everybody waits for ever, and the report says for what.
TEST_F(AsyncTest, MissingArrival) {
  expectFault(FaultKind::Deadlock, "1 of 33 arrivals pending", kBarrier,
              init(33) + "mbarrier.arrive.shared.b64 _, [bar];\n" + spin(0), 32,
              count(1));
}

// Only the CTA's own barriers can be waited for.
TEST_F(AsyncTest, WaitForAnotherCta) {
  shape.grid = shape.cluster = {2, 1, 1};
  expectFault(FaultKind::WrongSpace, "shared::cta", kBarrier, R"(
    mbarrier.init.shared.b64 [bar], 1;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mov.u32 %r5, %cluster_ctarank;
    xor.b32 %r5, %r5, 1;
    mapa.shared::cluster.u32 %r0, bar, %r5;
    mbarrier.test_wait.parity.shared.b64 %p1, [%r0], 1;)",
              1, count(1));
}

// A barrier that is not there, one that is there twice, and data in its place.
TEST_F(AsyncTest, MisusedBarriers) {
  expectFault(FaultKind::Barrier, "none of the CTA's 0 is there", kBarrier,
              "mbarrier.arrive.shared.b64 _, [bar];", 1, count(1));
  expectFault(FaultKind::Barrier, "initialised already", kBarrier,
              init(1) + "mbarrier.init.shared.b64 [bar], 1;", 1, count(1));
  expectFault(FaultKind::Barrier, "touches the barrier", kBarrier,
              init(1) + "st.shared.b32 [bar + 4], 1;", 1, count(1));
  expectFault(FaultKind::Barrier, "parity of 0 or 1", kBarrier,
              init(1) + spin(2), 1, count(1));
}

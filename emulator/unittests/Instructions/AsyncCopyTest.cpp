//===- AsyncCopyTest.cpp - Copies of threads and bulk copies --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncTest.h"

using namespace blockscale::emulator;

static const std::string kShared =
    ".shared .align 128 .b8 data[1024]; .shared .align 8 .b8 bar[8];";

/// %r8 and %q8: where the thread's 16 bytes are in `data` and in %from; %q9:
/// in %to.
static const std::string kPlaces = R"(
    mov.u32 %r9, data;
    mad.lo.u32 %r8, %t, 16, %r9;
    mad.wide.u32 %q8, %t, 16, %from;
    mad.wide.u32 %q9, %t, 16, %to;
)";

/// Copies the thread's 16 bytes of `data` to %to.
static const std::string kOut = R"(
    ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [%r8];
    st.global.v4.b32 [%q9], {%r1, %r2, %r3, %r4};
)";

/// Thread 0 goes on with the barrier ready, behind a barrier of the CTA.
static const std::string kBarrierReady = R"(
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 1;
    READY: bar.sync 0;
)";

static const std::string kSpin = R"(
    WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
)";

//===----------------------------------------------------------------------===//
// cp.async
//===----------------------------------------------------------------------===//

// Every thread copies 16 bytes, waits for its group, and reads them.
TEST_F(AsyncTest, ThreadCopy) {
  std::string body = kPlaces + R"(
    cp.async.cg.shared.global [%r8], [%q8], 16;
    cp.async.commit_group;
    cp.async.wait_group 0;
)" + kOut;
  expectResult(kShared, body, 32, count(128), count(128));
  expectFault(FaultKind::Hazard, "load of 0x0", kShared,
              without(body, "cp.async.wait_group 0;"), 32, count(128));
}

// Without commit_group there is nothing that wait_group waits for.
TEST_F(AsyncTest, ThreadCopyWithoutCommit) {
  expectFault(FaultKind::Hazard, "cp.async", kShared, kPlaces + R"(
    cp.async.cg.shared.global [%r8], [%q8], 16;
    cp.async.wait_group 0;
)" + kOut,
              32, count(128));
}

// wait_all waits for copies of no group as well.
TEST_F(AsyncTest, ThreadCopyWaitAll) {
  expectResult(kShared, kPlaces + R"(
    cp.async.ca.shared.global [%r8], [%q8], 8;
    cp.async.ca.shared.global [%r8 + 8], [%q8 + 8], 4;
    cp.async.ca.shared.global [%r8 + 12], [%q8 + 12], 4;
    cp.async.wait_all;
)" + kOut,
               32, count(128), count(128));
}

// wait_group 1 leaves the latest group in flight.
TEST_F(AsyncTest, ThreadCopyGroups) {
  std::string body = kPlaces + R"(
    cp.async.cg.shared.global [%r8], [%q8], 16;
    cp.async.commit_group;
    cp.async.cg.shared.global [%r8 + 512], [%q8], 16;
    cp.async.commit_group;
    cp.async.wait_group 1;
)" + kOut;
  expectResult(kShared, body + "cp.async.wait_all;", 32, count(128),
               count(128));
  expectFault(FaultKind::Hazard, "load of 0x200", kShared,
              body + "ld.shared.b32 %r5, [%r8 + 512];", 32, count(128));
}

// What src-size leaves out is zero; a predicate can leave out all of it.
TEST_F(AsyncTest, ThreadCopyOfLess) {
  expectResult(kShared, kPlaces + R"(
    setp.eq.u32 %p2, %t, 1;
    cp.async.cg.shared.global [%r8], [%q8], 16, 8;
    cp.async.wait_all;
    @%p2 bra NEXT;
    bra OUT;
    NEXT:
    cp.async.cg.shared.global [%r8], [%q8], 16, %p2;
    cp.async.wait_all;
    OUT:
)" + kOut,
               2, count(8, 1), {1, 2, 0, 0, 0, 0, 0, 0});
}

// Copies signal a barrier that other threads wait at.
TEST_F(AsyncTest, ThreadCopyToBarrier) {
  std::string body = R"(
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 32;
    READY: bar.sync 0;
)" + kPlaces + R"(
    cp.async.cg.shared.global [%r8], [%q8], 16;
    cp.async.mbarrier.arrive.noinc.shared.b64 [bar];
)" + kSpin + R"(
    xor.b32 %r8, %r8, 496;
)" + kOut;
  std::vector<uint32_t> expected = count(128);
  for (unsigned i = 0; i < 128; ++i)
    expected[i] = (i ^ 124);
  expectResult(kShared, body, 32, count(128), expected);
}

// Without .noinc the arrival counts itself in.
TEST_F(AsyncTest, ThreadCopyArrivesBesidesTheCount) {
  expectResult(kShared, kBarrierReady + kPlaces + R"(
    cp.async.cg.shared.global [%r8], [%q8], 16;
    cp.async.mbarrier.arrive.shared.b64 [bar];
    mbarrier.arrive.shared.b64 _, [bar];
)" + kSpin + kOut,
               1, count(4), count(4));
}

//===----------------------------------------------------------------------===//
// cp.async.bulk
//===----------------------------------------------------------------------===//

/// Thread 0 loads 512 bytes; all wait.
static const std::string kBulkLoad = kBarrierReady + kPlaces + R"(
    @%p0 bra LOADED;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [data], [%from], 512, [bar];
    LOADED:
)" + kSpin;

// A bulk load; nobody may read, or write, before the barrier's phase.
TEST_F(AsyncTest, BulkLoad) {
  expectResult(kShared, kBulkLoad + kOut, 32, count(128), count(128));
  std::string early = without(kBulkLoad, kSpin);
  expectFault(FaultKind::Hazard, "load of 0x0 in shared memory", kShared,
              early + kOut + kSpin, 32, count(128));
  expectFault(FaultKind::Hazard, "store of 0x0 in shared memory", kShared,
              early + "st.shared.b32 [data], 1;" + kSpin, 32, count(128));
  expectFault(FaultKind::Hazard, "when the CTA ends", kShared, early, 32,
              count(128));
}

// A wait for the wrong parity is over at once, and proves nothing.
TEST_F(AsyncTest, BulkLoadWrongParity) {
  std::string body = kBulkLoad;
  size_t at = body.find("[bar], 0;\n    @!%p1");
  body[at + 7] = '1';
  // Where the phase was complete before the wait, nobody ever goes on instead.
  runSchedules(kShared, body + kOut, 32, count(128), [&] {
    EXPECT_TRUE(hasFinding(FaultKind::Hazard, "nobody has waited") ||
                hasFinding(FaultKind::Deadlock, "waits for parity 1"))
        << getFindings();
  });
}

// Fewer bytes expected than copied: the phase is never complete.
TEST_F(AsyncTest, BulkLoadBytes) {
  std::string body = kBulkLoad;
  body.replace(body.find("[bar], 512"), 10, "[bar], 496");
  expectFault(FaultKind::Deadlock, "-16 bytes outstanding", kShared,
              body + kOut, 32, count(128));
}

// Sizes and addresses are multiples of 16.
TEST_F(AsyncTest, BulkAlignment) {
  std::string body = kBulkLoad;
  body.replace(body.find("[%from], 512"), 12, "[%from + 8], 512");
  expectFault(FaultKind::Misaligned, "multiple of 16", kShared, body, 1,
              count(256));
}

/// Every thread stores its 16 bytes, fences; thread 0 stores all of them.
static const std::string kBulkStore = kPlaces + R"(
    ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%q8];
    st.shared.v4.b32 [%r8], {%r1, %r2, %r3, %r4};
    fence.proxy.async.shared::cta;
    bar.sync 0;
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra END;
    cp.async.bulk.global.shared::cta.bulk_group [%to], [data], 512;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group.read 0;
    END:
)";

// A bulk store needs the fence of the writers, a group and a wait.
TEST_F(AsyncTest, BulkStore) {
  expectResult(kShared, kBulkStore, 32, count(128), count(128));
  expectFault(FaultKind::Hazard, "missing fence.proxy.async", kShared,
              without(kBulkStore, "fence.proxy.async.shared::cta;"), 64,
              count(256));
  expectFault(FaultKind::Hazard, "when the CTA ends", kShared,
              without(kBulkStore, "cp.async.bulk.wait_group.read 0;"), 32,
              count(128));
  expectFault(FaultKind::Hazard, "when the CTA ends", kShared,
              without(kBulkStore, "cp.async.bulk.commit_group;"), 32,
              count(128));
}

// Without a barrier the stores of other warps may be missing or not be fenced.
TEST_F(AsyncTest, BulkStoreWithoutBarrier) {
  std::string body = without(kBulkStore, "bar.sync 0;");
  body.replace(body.find("[data], 512"), 11, "[data], 1024");
  runSchedules(kShared, body, 64, count(256), [&] {
    EXPECT_TRUE(hasFinding(FaultKind::Hazard, "missing fence.proxy.async") ||
                hasFinding(FaultKind::Hazard, "store of") ||
                hasFinding(FaultKind::Uninitialised, "never written"))
        << getFindings();
  });
}

// The issuing thread may fence for the others, behind the barrier.
TEST_F(AsyncTest, BulkStoreFencedByTheIssuer) {
  std::string body = without(kBulkStore, "fence.proxy.async.shared::cta;");
  size_t at = body.find("cp.async.bulk.global");
  expectResult(kShared,
               std::string(body).insert(at, "fence.proxy.async.shared::cta;\n"),
               64, count(256), count(128));
  // Another space's fence is none.
  expectFault(FaultKind::Hazard, "missing fence.proxy.async", kShared,
              std::string(body).insert(at, "fence.proxy.async.global;\n"), 64,
              count(256));
}

// The source may be written again behind wait_group alone.
TEST_F(AsyncTest, BulkStoreSourceReused) {
  std::string reuse = "@!%p0 st.shared.b32 [data], 7;";
  expectResult(kShared, kBulkStore + reuse, 32, count(128), count(128));
  expectFault(FaultKind::Hazard, "store of 0x0 in shared memory", kShared,
              without(kBulkStore, "cp.async.bulk.wait_group.read 0;") + reuse +
                  "\n@!%p0 cp.async.bulk.wait_group 0;",
              32, count(128));
}

// .cp_mask leaves bytes out.
TEST_F(AsyncTest, BulkStoreByteMask) {
  std::string body = kBulkStore;
  body.replace(body.find(".bulk_group [%to], [data], 512"), 30,
               ".bulk_group.cp_mask [%to], [data], 512, %h0");
  runSchedules(kShared, "mov.b16 %h0, 0x0FF0;\n" + body, 32, count(128), [&] {
    EXPECT_EQ(getFindings(), "");
    const Buffer *to = device.global.find("to");
    EXPECT_EQ(to->written[3], 0);
    EXPECT_EQ(to->written[4], 1);
    EXPECT_EQ(to->written[11], 1);
    EXPECT_EQ(to->written[12], 0);
  });
}

// A mask over more bytes than there are is refused at once: each byte would be
// a range of its own.
TEST_F(AsyncTest, BulkStoreByteMaskOfTooManyBytes) {
  std::string body = kBulkStore;
  body.replace(body.find(".bulk_group [%to], [data], 512"), 30,
               ".bulk_group.cp_mask [%to], [data], 0xFFFFFFF0, %h0");
  expectFault(FaultKind::OutOfBounds, "4294967280", kShared,
              "mov.b16 %h0, 0x5555;\n" + body, 32, count(128));
}

// Reductions of bytes of global memory.
TEST_F(AsyncTest, BulkReduction) {
  std::string body = kBulkStore;
  body.replace(body.find("cp.async.bulk.global.shared::cta.bulk_group [%to]"),
               49,
               "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 "
               "[%from]");
  runSchedules(kShared, body, 32, count(128), [&] {
    EXPECT_EQ(getFindings(), "");
    EXPECT_EQ(get<uint32_t>("from"), count(128, 0, 2));
  });
}

// A copy from the shared memory of one CTA to that of another, whose barrier
// counts the bytes.
TEST_F(AsyncTest, BulkBetweenCtas) {
  shape.grid = shape.cluster = {2, 1, 1};
  expectResult(kShared, kBarrierReady + kPlaces + R"(
    mov.u32 %r20, %cluster_ctarank;
    @!%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
    fence.mbarrier_init.release.cluster;
    ld.global.v4.b32 {%r1, %r2, %r3, %r4}, [%q8];
    st.shared.v4.b32 [%r8], {%r1, %r2, %r3, %r4};
    fence.proxy.async.shared::cta;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    @%p0 bra SENT;
    xor.b32 %r21, %r20, 1;
    mapa.shared::cluster.u32 %r22, data, %r21;
    mapa.shared::cluster.u32 %r23, bar, %r21;
    cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r22 + 512], [data], 512, [%r23];
    SENT:
)" + kSpin + R"(
    add.u32 %r8, %r8, 512;
)" + kOut + R"(
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
)",
               32, count(128), count(128));
}

// One load for both CTAs of a cluster.
TEST_F(AsyncTest, BulkMulticast) {
  shape.grid = shape.cluster = {2, 1, 1};
  std::string body = kBarrierReady + kPlaces + R"(
    mov.u32 %r20, %cluster_ctarank;
    @!%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 512;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    or.b32 %r21, %r20, %t;
    setp.ne.u32 %p2, %r21, 0;
    @%p2 bra SENT;
    mov.b16 %h0, 3;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [data], [%from], 512, [bar], %h0;
    SENT:
)" + kSpin + R"(
    setp.ne.u32 %p3, %r20, 1;
    @%p3 bra END;
)" + kOut + "END:";
  expectResult(kShared, body, 32, count(128), count(128));
  body.replace(body.find("%h0, 3"), 6, "%h0, 7");
  expectFault(FaultKind::WrongSpace, "mask of a multicast", kShared, body, 32,
              count(128));
}

// A prefetch moves nothing, but its range must be there.
TEST_F(AsyncTest, BulkPrefetch) {
  expectResult("",
               "cp.async.bulk.prefetch.L2.global [%from], 64;\n"
               "st.global.b32 [%to], 1;",
               1, count(16), {1});
  expectFault(FaultKind::OutOfBounds, "'from'", "",
              "cp.async.bulk.prefetch.L2.global [%from], 128;", 1, count(16));
}

//===----------------------------------------------------------------------===//
// st.async, red.async, st.bulk
//===----------------------------------------------------------------------===//

// Stores into another CTA complete on its barrier.
TEST_F(AsyncTest, AsyncStore) {
  shape.grid = shape.cluster = {2, 1, 1};
  std::string body = kBarrierReady + R"(
    @!%p0 st.shared.v2.b32 [data + 8], {5, 6};
    @!%p0 mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mov.u32 %r20, %cluster_ctarank;
    xor.b32 %r21, %r20, 1;
    mapa.shared::cluster.u32 %r22, data, %r21;
    mapa.shared::cluster.u32 %r23, bar, %r21;
    add.u32 %r24, %r20, 10;
    st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.b32 [%r22], {%r24, %r21}, [%r23];
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%r22 + 8], %r24, [%r23];
    red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.max.u32 [%r22 + 12], 9, [%r23];
)" + kSpin + R"(
    setp.ne.u32 %p3, %r20, 1;
    @%p3 bra END;
    ld.shared.v4.b32 {%r1, %r2, %r3, %r4}, [data];
    st.global.v4.b32 [%to], {%r1, %r2, %r3, %r4};
    END:
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
)";
  expectResult(kShared, body, 1, count(4), {10, 1, 15, 9});
  // Without the wait, the load races with the peer's store.
  expectFault(FaultKind::Hazard, "", kShared, without(body, kSpin), 1,
              count(4));
}

// st.bulk stores zeros at once.
TEST_F(AsyncTest, BulkZero) {
  expectResult(kShared, kPlaces + R"(
    st.bulk.weak.shared::cta [data], 16, 0;
)" + kOut,
               1, count(4), {0, 0, 0, 0});
}

//===----------------------------------------------------------------------===//
// clusterlaunchcontrol
//===----------------------------------------------------------------------===//

// CTAs take the work of those that have not started: every CTA's work is done
// once, whoever does it.
TEST_F(AsyncTest, ClusterLaunchControl) {
  shape.grid = {8, 1, 1};
  expectResult(kShared, R"(
    mbarrier.init.shared.b64 [bar], 1;
    mov.u32 %r0, %ctaid.x;
    mov.u32 %r1, 0;
    NEXT:
    mad.wide.u32 %q1, %r0, 4, %from;
    atom.global.add.u32 %r5, [%q1], 1;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 16;
    clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [data], [bar];
    WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], %r1;
    @!%p1 bra WAIT;
    xor.b32 %r1, %r1, 1;
    ld.shared.b128 %w0, [data];
    clusterlaunchcontrol.query_cancel.is_canceled.pred.b128 %p2, %w0;
    @!%p2 bra END;
    clusterlaunchcontrol.query_cancel.get_first_ctaid.v4.b32.b128 {%r2, %r3, %r4, _}, %w0;
    clusterlaunchcontrol.query_cancel.get_first_ctaid::x.b32.b128 %r0, %w0;
    bra NEXT;
    END:)",
               1, std::vector<uint32_t>(8, 0), {});
  EXPECT_EQ(get<uint32_t>("from"), std::vector<uint32_t>(8, 1));
}

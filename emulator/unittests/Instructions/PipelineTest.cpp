//===- PipelineTest.cpp - Warps with tasks of their own -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Pipelines as CUTLASS builds them: a full and an empty mbarrier for each
// stage, and one thread that releases for many. Each has no finding as it is,
// and one where a link of the chain is taken out.
//
//===----------------------------------------------------------------------===//

#include "AsyncTest.h"

using namespace blockscale::emulator;

/// `label`: waits for the parity in `parity` of the barrier at `barrier`.
static std::string wait(const std::string &label, const std::string &barrier,
                        const std::string &parity) {
  return label + ": mbarrier.try_wait.parity.shared.b64 %p15, [" + barrier +
         "], " + parity + ";\n@!%p15 bra " + label + ";\n";
}

/// Both stages' barriers: `full` counts one arrival, `empty` as many as given.
static std::string makeBarriers(const std::string &empty) {
  return R"(
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [full], 1;
    mbarrier.init.shared.b64 [full + 8], 1;
    mbarrier.init.shared.b64 [empty], )" +
         empty + R"(;
    mbarrier.init.shared.b64 [empty + 8], )" +
         empty + R"(;
    fence.mbarrier_init.release.cluster;
    READY:
)";
}

/// %r2: the stage of round %r1, %r3 and %r4: its barriers, %r5: the parity of
/// the round, %r6: the other one.
static const std::string kStage = R"(
    and.b32 %r2, %r1, 1;
    shl.b32 %r7, %r2, 3;
    mov.u32 %r3, full;
    add.u32 %r3, %r3, %r7;
    mov.u32 %r4, empty;
    add.u32 %r4, %r4, %r7;
    shr.u32 %r5, %r1, 1;
    and.b32 %r5, %r5, 1;
    xor.b32 %r6, %r5, 1;
)";
/// Six rounds; %p1 is true after the last one.
static const std::string kNext = R"(
    add.u32 %r1, %r1, 1;
    setp.eq.u32 %p1, %r1, 6;
)";

//===----------------------------------------------------------------------===//
// One warp copies, a warpgroup loads
//===----------------------------------------------------------------------===//

static const std::string kCopyShared = R"(
    .shared .align 128 .b8 data[1024];
    .shared .align 8 .b8 full[16];
    .shared .align 8 .b8 empty[16];
)";

/// Warp 4 copies rounds of 512 bytes, warps 0 to 3 sum their words.
static const std::string kCopyPipeline = makeBarriers("1") + R"(
    bar.sync 0;
    mov.b32 %r1, 0;
    mov.b32 %r10, 0;
    setp.lt.u32 %p2, %t, 128;
    @%p2 bra CONSUMER;
    setp.ne.u32 %p3, %t, 128;
    @%p3 bra END;
    PRODUCER:
)" + kStage + wait("FREE", "%r4", "%r6") +
                                         R"(
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 512;
    shl.b32 %r8, %r2, 9;
    mov.u32 %r9, data;
    add.u32 %r9, %r9, %r8;
    mad.wide.u32 %q1, %r1, 512, %from;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%q1], 512, [%r3];
)" + kNext +
                                         R"(
    @!%p1 bra PRODUCER;
    bra END;
    CONSUMER:
)" + kStage + wait("FULL", "%r3", "%r5") +
                                         R"(
    shl.b32 %r8, %r2, 9;
    mad.lo.u32 %r8, %t, 4, %r8;
    mov.u32 %r9, data;
    add.u32 %r9, %r9, %r8;
    ld.shared.b32 %r11, [%r9];
    add.u32 %r10, %r10, %r11;
    bar.sync 1, 128; // all have loaded
    @%p0 bra RELEASED;
    mbarrier.arrive.shared.b64 _, [%r4];
    RELEASED:
)" + kNext +
                                         R"(
    @!%p1 bra CONSUMER;
    mad.wide.u32 %q2, %t, 4, %to;
    st.global.b32 [%q2], %r10;
    END:
)";

// The sum over the rounds of word i is 6 i + 128 * 15.
TEST_F(AsyncTest, OneThreadReleasesForAWarpgroup) {
  expectResult(kCopyShared, kCopyPipeline, 160, count(768),
               count(128, 128 * 15, 6));
}

// Other warps may still load when thread 0 releases.
TEST_F(AsyncTest, OneThreadReleasesTooEarly) {
  expectFault(FaultKind::Hazard, "has not waited for it since", kCopyShared,
              without(kCopyPipeline, "bar.sync 1, 128; // all have loaded"),
              160, count(768));
}

// A wait of the other consumers does not wait for the copy.
TEST_F(AsyncTest, WaitOfOtherConsumers) {
  std::string body = replace(kCopyPipeline, wait("FULL", "%r3", "%r5"),
                             "setp.gt.u32 %p4, %t, 31;\n@%p4 bra SKIP;\n" +
                                 wait("FULL", "%r3", "%r5") + "SKIP:\n");
  expectResult(kCopyShared,
               replace(body, "SKIP:\n", "SKIP: bar.sync 2, 128;\n"), 160,
               count(768), count(128, 128 * 15, 6));
  runSchedules(kCopyShared, body, 160, count(768),
               [&] { EXPECT_NE(getFindings(), ""); });
}

//===----------------------------------------------------------------------===//
// wgmma
//===----------------------------------------------------------------------===//

static const std::string kProductShared = R"(
    .shared .align 128 .b8 data[4608];
    .shared .align 8 .b8 full[16];
    .shared .align 8 .b8 empty[16];
)";

/// Warp 4 copies A (64 x 16) and B (8 x 16), the warpgroup adds up their
/// products, its thread 64 releases.
static const std::string kProductPipeline = makeBarriers("1") + R"(
    bar.sync 0;
    mov.b32 %r1, 0;
    mov.b32 %r20, 0;
    mov.b32 %r21, 0;
    mov.b32 %r22, 0;
    mov.b32 %r23, 0;
    setp.lt.u32 %p2, %t, 128;
    @%p2 bra CONSUMER;
    setp.ne.u32 %p3, %t, 128;
    @%p3 bra END;
    PRODUCER:
)" + kStage + wait("FREE", "%r4", "%r6") + R"(
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 2304;
    mov.u32 %r9, data;
    mad.lo.u32 %r9, %r2, 2304, %r9;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%r9], [%from], 2304, [%r3];
)" + kNext +
                                            R"(
    @!%p1 bra PRODUCER;
    bra END;
    CONSUMER:
    setp.ne.u32 %p5, %t, 64;
    setp.eq.u32 %p6, %t, %t;
    AGAIN:
)" + kStage + wait("FULL", "%r3", "%r5") + R"(
    mov.u32 %r9, data;
    mad.lo.u32 %r9, %r2, 2304, %r9;
    shr.u32 %r9, %r9, 4;
    cvt.u64.u32 %q1, %r9;
    or.b64 %q1, %q1, 0x1000080000;
    add.u64 %q2, %q1, 128;
    wgmma.fence.sync.aligned;
    wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%r20, %r21, %r22, %r23}, %q1, %q2, %p6, 1, 1, 0, 0;
    wgmma.commit_group.sync.aligned;
    wgmma.wait_group.sync.aligned 0;
    @%p5 bra RELEASED;
    mbarrier.arrive.shared.b64 _, [%r4];
    RELEASED:
)" + kNext +
                                            R"(
    @!%p1 bra AGAIN;
    mad.wide.u32 %q2, %t, 4, %to;
    st.global.b32 [%q2], %r20;
    END:
)";

// Ones: six rounds of 16 products.
TEST_F(AsyncTest, OneThreadReleasesOperandsOfAWarpgroup) {
  expectResult(kProductShared, kProductPipeline, 160,
               std::vector<uint32_t>(576, 0x3C003C00),
               std::vector<uint32_t>(128, 0x42C00000));
}

// Released while the product of this round still reads.
TEST_F(AsyncTest, ReleasesOperandsTooEarly) {
  std::string body =
      replace(kProductPipeline, "wgmma.wait_group.sync.aligned 0;",
              "wgmma.wait_group.sync.aligned 1;");
  body = replace(body, "mad.wide.u32 %q2, %t, 4, %to;",
                 "wgmma.wait_group.sync.aligned 0;\n"
                 "mad.wide.u32 %q2, %t, 4, %to;");
  expectFault(FaultKind::Hazard, "nobody has waited for it", kProductShared,
              body, 160, std::vector<uint32_t>(576, 0x3C003C00));
}

//===----------------------------------------------------------------------===//
// Multicast in a cluster
//===----------------------------------------------------------------------===//

/// Each CTA's warp 0 copies half of a round into both, warp 1 sums the words
/// and tells both CTAs that the stage is free.
static const std::string kMulticast = makeBarriers("2") + R"(
    barrier.cluster.arrive.relaxed.aligned;
    barrier.cluster.wait.aligned;
    mov.u32 %r20, %cluster_ctarank;
    mov.b32 %r1, 0;
    mov.b32 %r10, 0;
    setp.gt.u32 %p2, %t, 31;
    @%p2 bra CONSUMER;
    @%p0 bra END;
    mov.b16 %h0, 3;
    PRODUCER:
)" + kStage + wait("FREE", "%r4", "%r6") +
                                      R"(
    mbarrier.arrive.expect_tx.shared.b64 _, [%r3], 512;
    shl.b32 %r8, %r2, 9;
    mad.lo.u32 %r8, %r20, 256, %r8;
    mov.u32 %r9, data;
    add.u32 %r9, %r9, %r8;
    mad.wide.u32 %q1, %r1, 512, %from;
    mad.wide.u32 %q1, %r20, 256, %q1;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster [%r9], [%q1], 256, [%r3], %h0;
)" + kNext + R"(
    @!%p1 bra PRODUCER;
)" + kStage + wait("TAIL", "%r4", "%r6") +
                                      R"(
    add.u32 %r1, %r1, 1;
)" + kStage + wait("LAST", "%r4", "%r6") +
                                      R"(
    bra END;
    CONSUMER:
    sub.u32 %r30, %t, 32;
    setp.gt.u32 %p5, %r30, 1;
    AGAIN:
)" + kStage + wait("FULL", "%r3", "%r5") +
                                      R"(
    shl.b32 %r8, %r2, 9;
    mad.lo.u32 %r8, %r30, 16, %r8;
    mov.u32 %r9, data;
    add.u32 %r9, %r9, %r8;
    ld.shared.v4.b32 {%r11, %r12, %r13, %r14}, [%r9];
    add.u32 %r11, %r11, %r12;
    add.u32 %r13, %r13, %r14;
    add.u32 %r10, %r10, %r11;
    add.u32 %r10, %r10, %r13;
    bar.warp.sync -1;
    @%p5 bra RELEASED;
    mapa.shared::cluster.u32 %r31, %r4, %r30;
    mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r31];
    RELEASED:
)" + kNext + R"(
    @!%p1 bra AGAIN;
    mad.lo.u32 %r30, %r20, 32, %r30;
    mad.wide.u32 %q2, %r30, 4, %to;
    st.global.b32 [%q2], %r10;
    END:
)";

/// What the threads i of each of the two CTAs add up: words 4 i to 4 i + 3 of
/// all rounds.
static std::vector<uint32_t> getMulticastSums() {
  std::vector<uint32_t> sums = count(32, 4 * 128 * 15 + 36, 96);
  sums.insert(sums.end(), sums.begin(), sums.begin() + 32);
  return sums;
}

TEST_F(AsyncTest, MulticastPipeline) {
  shape.grid = shape.cluster = {2, 1, 1};
  expectResult(kCopyShared, kMulticast, 64, count(768), getMulticastSums());
}

// A producer that asks its own CTA alone overwrites what the other one reads.
TEST_F(AsyncTest, MulticastWithoutTheOtherCta) {
  shape.grid = shape.cluster = {2, 1, 1};
  std::string body = replace(kMulticast, makeBarriers("2"), makeBarriers("1"));
  body = replace(body, "setp.gt.u32 %p5, %r30, 1;",
                 "setp.ne.u32 %p5, %r30, %r20;");
  runSchedules(kCopyShared, body, 64, count(768), [&] {
    EXPECT_TRUE(hasFinding(FaultKind::Hazard, "has not waited for it since") ||
                hasFinding(FaultKind::Hazard, "nobody has waited for it"))
        << getFindings();
  });
}

// Without the tail a CTA may be gone when the other one's last arrival comes.
TEST_F(AsyncTest, MulticastWithoutTail) {
  shape.grid = shape.cluster = {2, 1, 1};
  std::string body = replace(kMulticast, wait("TAIL", "%r4", "%r6"), "");
  body = replace(body, wait("LAST", "%r4", "%r6"), "");
  expectFault(FaultKind::Hazard, "uses shared memory of the CTA of rank",
              kCopyShared, body, 64, count(768));
}

// Reading from a peer: both must be there until the end.
TEST_F(AsyncTest, PeerThatExits) {
  shape.grid = shape.cluster = {2, 1, 1};
  std::string body = R"(
    st.shared.b32 [data], 5;
    barrier.cluster.arrive.aligned;
    barrier.cluster.wait.aligned;
    mov.u32 %r20, %cluster_ctarank;
    xor.b32 %r21, %r20, 1;
    mov.u32 %r22, data;
    mapa.shared::cluster.u32 %r22, %r22, %r21;
    ld.shared::cluster.b32 %r23, [%r22];
    barrier.cluster.arrive.aligned; // the last one
    barrier.cluster.wait.aligned; // the last one
    mad.wide.u32 %q1, %r20, 4, %to;
    st.global.b32 [%q1], %r23;
)";
  expectResult(kCopyShared, body, 32, count(32), {5, 5});
  expectFault(
      FaultKind::Hazard, "uses shared memory of the CTA of rank", kCopyShared,
      without(without(body, "barrier.cluster.arrive.aligned; // the last one"),
              "barrier.cluster.wait.aligned; // the last one"),
      32, count(32));
}

//===----------------------------------------------------------------------===//
// tcgen05
//===----------------------------------------------------------------------===//

static const std::string kTensorShared = R"(
    .shared .align 128 .b8 a[4096];
    .shared .align 128 .b8 b[512];
    .shared .align 8 .b8 full[16];
    .shared .align 8 .b8 empty[16];
    .shared .align 4 .b8 slot[4];
)";

/// Warp 4 multiplies ones in six rounds and two accumulators, warps 0 to 3 load
/// and add up the results, and tell that the accumulator is free.
static const std::string kTensorPipeline = makeBarriers("128") + R"(
    setp.lt.u32 %p2, %t, 128;
    @!%p2 bra ALLOCATE;
    mov.u32 %r9, a;
    mad.lo.u32 %r9, %t, 32, %r9;
    st.shared.v4.b32 [%r9], {0x3C003C00, 0x3C003C00, 0x3C003C00, 0x3C003C00};
    st.shared.v4.b32 [%r9 + 16], {0x3C003C00, 0x3C003C00, 0x3C003C00, 0x3C003C00};
    setp.gt.u32 %p3, %t, 15;
    @%p3 bra FILLED;
    mov.u32 %r9, b;
    mad.lo.u32 %r9, %t, 32, %r9;
    st.shared.v4.b32 [%r9], {0x3C003C00, 0x3C003C00, 0x3C003C00, 0x3C003C00};
    st.shared.v4.b32 [%r9 + 16], {0x3C003C00, 0x3C003C00, 0x3C003C00, 0x3C003C00};
    FILLED:
    fence.proxy.async.shared::cta;
    bra ALLOCATED;
    ALLOCATE:
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 32;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    ALLOCATED:
    bar.warp.sync -1;
    tcgen05.fence::before_thread_sync;
    bar.sync 0;
    tcgen05.fence::after_thread_sync;
    ld.shared.b32 %r40, [slot];
    mov.b32 %r1, 0;
    mov.b32 %r10, 0;
    @%p2 bra EPILOGUE;
    setp.ne.u32 %p3, %t, 128;
    @%p3 bra DONE;
    mov.u32 %r9, a;
    shr.u32 %r9, %r9, 4;
    cvt.u64.u32 %q1, %r9;
    or.b64 %q1, %q1, 0x401000080000;
    mov.u32 %r9, b;
    shr.u32 %r9, %r9, 4;
    cvt.u64.u32 %q2, %r9;
    or.b64 %q2, %q2, 0x401000080000;
    setp.ne.u32 %p5, %t, %t;
    MULTIPLY:
)" + kStage + wait("FREE", "%r4", "%r6") + R"(
    tcgen05.fence::after_thread_sync;
    mad.lo.u32 %r41, %r2, 16, %r40;
    tcgen05.mma.cta_group::1.kind::f16 [%r41], %q1, %q2, 0x8040010, %p5;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r3];
)" + kNext +
                                           R"(
    @!%p1 bra MULTIPLY;
    bra DONE;
    EPILOGUE:
    shl.b32 %r42, %t, 16;
    and.b32 %r42, %r42, 0x600000;
    AGAIN:
)" + kStage + wait("FULL", "%r3", "%r5") + R"(
    tcgen05.fence::after_thread_sync;
    mad.lo.u32 %r41, %r2, 16, %r40;
    add.u32 %r41, %r41, %r42;
    bar.warp.sync -1;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r43}, [%r41];
    tcgen05.wait::ld.sync.aligned;
    cvt.rzi.u32.f32 %r43, %r43;
    add.u32 %r10, %r10, %r43;
    tcgen05.fence::before_thread_sync;
    mbarrier.arrive.shared.b64 _, [%r4];
)" + kNext +
                                           R"(
    @!%p1 bra AGAIN;
    mad.wide.u32 %q2, %t, 4, %to;
    st.global.b32 [%q2], %r10;
    DONE:
    tcgen05.fence::before_thread_sync;
    bar.warp.sync -1;
    bar.sync 0; // all is done
    tcgen05.fence::after_thread_sync;
    @%p2 bra END;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r40, 32;
    END:
)";

TEST_F(AsyncTest, EpilogueOfItsOwnWarps) {
  expectResult(kTensorShared, kTensorPipeline, 160, count(128),
               std::vector<uint32_t>(128, 96));
}

// Without a wait for the epilogue, an accumulator is overwritten.
TEST_F(AsyncTest, AccumulatorNotReleased) {
  runSchedules(kTensorShared,
               replace(kTensorPipeline, wait("FREE", "%r4", "%r6"), ""), 160,
               count(128), [&] { EXPECT_NE(getFindings(), ""); });
}

// Columns that are freed while the epilogue may still load them.
TEST_F(AsyncTest, FreedBeforeTheEpilogue) {
  runSchedules(kTensorShared,
               without(kTensorPipeline, "bar.sync 0; // all is done"), 160,
               count(128), [&] { EXPECT_NE(getFindings(), ""); });
}

// One thread that tells it for all, with and without a barrier before.
TEST_F(AsyncTest, EpilogueReleasesByOneThread) {
  std::string body =
      replace(kTensorPipeline, makeBarriers("128"), makeBarriers("1"));
  std::string barrier = "bar.warp.sync -1;\nbar.sync 1, 128; // loaded\n";
  body = replace(body, "mbarrier.arrive.shared.b64 _, [%r4];",
                 barrier + "@!%p0 mbarrier.arrive.shared.b64 _, [%r4];");
  expectResult(kTensorShared, body, 160, count(128),
               std::vector<uint32_t>(128, 96));
  expectFault(FaultKind::Hazard, "has not waited for it since", kTensorShared,
              without(body, "bar.sync 1, 128; // loaded"), 160, count(128));
}

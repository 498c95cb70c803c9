//===- TensorKernelTest.cpp - tcgen05 in kernels --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncTest.h"

#include "llvm/ADT/bit.h"

using namespace blockscale::emulator;

static const std::string kMatrixShared = R"(
    .shared .align 128 .b8 a[4096];
    .shared .align 128 .b8 b[512];
    .shared .align 8 .b8 bar[8];
    .shared .align 4 .b8 slot[4];
)";

/// %r10: the thread's row of A, of 32 bytes without a swizzle (8 rows of 16
/// bytes side by side, 256 bytes from one 8 rows to the next); %r11: that of B
/// for the first 16 threads. A[m][0] is m, B[n][0] is 1, all else is 0.
static const std::string kFill = R"(
    shr.u32 %r12, %t, 3;
    and.b32 %r13, %t, 7;
    shl.b32 %r12, %r12, 8;
    mad.lo.u32 %r12, %r13, 16, %r12;
    mov.u32 %r10, a;
    add.u32 %r10, %r10, %r12;
    mov.u32 %r11, b;
    add.u32 %r11, %r11, %r12;
    cvt.rn.f16.u32 %h0, %t;
    mov.b16 %h1, 0;
    mov.b32 %r14, {%h0, %h1};
    st.shared.v4.b32 [%r10], {%r14, 0, 0, 0};
    st.shared.v4.b32 [%r10 + 128], {0, 0, 0, 0};
    setp.gt.u32 %p3, %t, 15;
    @%p3 bra FILLED;
    st.shared.v4.b32 [%r11], {0x3C00, 0, 0, 0};
    st.shared.v4.b32 [%r11 + 128], {0, 0, 0, 0};
    FILLED:
    fence.proxy.async.shared::cta;
)";

/// Warp 0 (%p1 is false) allocates, thread 0 (%p0 is false) makes the barrier;
/// %r0 is the address behind.
static const std::string kAlloc = R"(
    setp.ne.u32 %p0, %t, 0;
    setp.gt.u32 %p1, %t, 31;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 1;
    READY:
    @%p1 bra ALLOCATED;
    bar.warp.sync -1;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 64;
    tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
    ALLOCATED:
)";
static const std::string kSync = R"(
    tcgen05.fence::before_thread_sync; // filled
    bar.sync 0; // filled
    tcgen05.fence::after_thread_sync; // filled
    ld.shared.b32 %r0, [slot];
    shl.b32 %r1, %t, 16;
    and.b32 %r1, %r1, 0x600000;
    add.u32 %r1, %r0, %r1;
)";

/// Thread 0 multiplies, all wait.
static const std::string kMma = R"(
    mov.u32 %r2, a;
    shr.u32 %r2, %r2, 4;
    cvt.u64.u32 %q0, %r2;
    or.b64 %q0, %q0, 0x401000080000;
    mov.u32 %r2, b;
    shr.u32 %r2, %r2, 4;
    cvt.u64.u32 %q1, %r2;
    or.b64 %q1, %q1, 0x401000080000;
    setp.eq.u32 %p2, %t, %t;
    setp.ne.u32 %p5, %t, %t;
    @%p0 bra ISSUED;
    tcgen05.mma.cta_group::1.kind::f16 [%r0], %q0, %q1, 0x8040010, %p5;
    tcgen05.mma.cta_group::1.kind::f16 [%r0], %q0, %q1, 0x8040010, %p2;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    ISSUED:
)";
static const std::string kMatrixWait = R"(
    WAIT: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 0;
    @!%p4 bra WAIT;
    tcgen05.fence::after_thread_sync; // multiplied
)";

/// Each thread leaves columns 0 and 15 of its row.
static const std::string kTensorLoad = R"(
    bar.warp.sync -1;
    tcgen05.ld.sync.aligned.32x32b.x16.b32 {%r20, %r21, %r22, %r23, %r24, %r25, %r26, %r27, %r28, %r29, %r30, %r31, %r32, %r33, %r34, %r35}, [%r1];
    tcgen05.wait::ld.sync.aligned;
)";
static const std::string kRowOut = R"(
    mad.wide.u32 %q2, %t, 8, %to;
    st.global.v2.b32 [%q2], {%r20, %r35};
)";
static const std::string kDealloc = R"(
    tcgen05.fence::before_thread_sync; // loaded
    bar.sync 0; // loaded
    tcgen05.fence::after_thread_sync; // loaded
    @%p1 bra END;
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 64;
    END:
)";

static const std::string kProduct = kAlloc + kFill + kSync + kMma +
                                    kMatrixWait + kTensorLoad + kRowOut +
                                    kDealloc;

/// The bits of 2 * m twice for each row m.
static std::vector<uint32_t> makeRows(unsigned rows = 128) {
  std::vector<uint32_t> values;
  for (unsigned i = 0; i < 2 * rows; ++i)
    values.push_back(llvm::bit_cast<uint32_t>(float(2 * (i / 2))));
  return values;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

// A product whose operands come from the registers of the threads through
// shared memory, and whose result comes back through tensor memory.
TEST_F(AsyncTest, Product) {
  expectResult(kMatrixShared, kProduct, 128, count(256), makeRows());
  EXPECT_EQ(profile.mmas, 2u);
}

// A in tensor memory.
TEST_F(AsyncTest, ProductOfTensorMemory) {
  std::string body = kProduct;
  for (unsigned i = 0; i < 2; ++i)
    body.replace(body.find("[%r0], %q0"), 10, "[%r0], [%r0 + 32]");
  std::string store = R"(
    tcgen05.st.sync.aligned.32x32b.x8.b32 [%r1 + 32], {%r14, %r5, %r5, %r5, %r5, %r5, %r5, %r5};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync; // stored
    bar.sync 0; // stored
    tcgen05.fence::after_thread_sync; // stored
)";
  body.insert(body.find("mov.u32 %r2, a;"),
              "mov.u32 %r5, 0; bar.warp.sync -1;" + store);
  expectResult(kMatrixShared, body, 128, count(256), makeRows());
  expectFault(FaultKind::Hazard, "tcgen05.st of line", kMatrixShared,
              without(body, "tcgen05.wait::st.sync.aligned;"), 128, count(256));
  expectFault(FaultKind::Hazard, "missing tcgen05.fence::before_thread_sync",
              kMatrixShared,
              without(body, "tcgen05.fence::before_thread_sync; // stored"),
              128, count(256));
  expectFault(FaultKind::Hazard, "missing tcgen05.fence::after_thread_sync",
              kMatrixShared,
              without(body, "tcgen05.fence::after_thread_sync; // stored"), 128,
              count(256));
}

// A sparse product, whose metadata the threads have stored: the first two
// values of each four are there. B has 64 bytes a row. What stores metadata
// must be waited for, as what stores A.
TEST_F(AsyncTest, SparseProduct) {
  std::string shared = replace(kMatrixShared, "b[512]", "b[1024]");
  std::string body = replace(kProduct, "add.u32 %r11, %r11, %r12;", R"(
    add.u32 %r11, %r11, %r12;
    and.b32 %r15, %r12, 0xFF00;
    add.u32 %r11, %r11, %r15;
)");
  body = replace(body, "st.shared.v4.b32 [%r11 + 128], {0, 0, 0, 0};", R"(
    st.shared.v4.b32 [%r11 + 128], {0, 0, 0, 0};
    st.shared.v4.b32 [%r11 + 256], {0, 0, 0, 0};
    st.shared.v4.b32 [%r11 + 384], {0, 0, 0, 0};
)");
  body = replace(body, "or.b64 %q1, %q1, 0x401000080000;",
                 "or.b64 %q1, %q1, 0x402000080000;");
  for (unsigned i = 0; i < 2; ++i)
    body =
        replace(body, "mma.cta_group::1.kind::f16 [%r0], %q0, %q1, 0x8040010",
                "mma.sp.cta_group::1.kind::f16 [%r0], %q0, %q1, [%r0 + 32], "
                "0x8040014");
  body.insert(body.find("mov.u32 %r2, a;"), R"(
    mov.b32 %r5, 0x44444444;
    bar.warp.sync -1;
    tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1 + 32], {%r5};
    tcgen05.wait::st.sync.aligned;
    tcgen05.fence::before_thread_sync; // stored
    bar.sync 0; // stored
    tcgen05.fence::after_thread_sync; // stored
)");
  expectResult(shared, body, 128, count(256), makeRows());
  expectFault(FaultKind::Hazard, "tcgen05.st of line", shared,
              without(body, "tcgen05.wait::st.sync.aligned;"), 128, count(256));
  expectFault(FaultKind::TensorMemory, "expected sparsity metadata of 4 values",
              shared, replace(body, "0x44444444", "0x44444440"), 128,
              count(256));
}

static void replaceAll(std::string &text, const std::string &from,
                       const std::string &to) {
  for (size_t at = 0; (at = text.find(from, at)) != std::string::npos;
       at += to.size())
    text.replace(at, from.size(), to);
}

static const std::string kClusterBarrier =
    "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n";

/// The body for a pair of CTAs: each has 128 rows of A and half of B's; one
/// issues, and both are told.
static std::string makePair(std::string body) {
  replaceAll(body, "cta_group::1", "cta_group::2");
  replaceAll(body, "0x8040010", "0x10080010");
  replaceAll(body, ".shared::cluster.b64 [bar];",
             ".shared::cluster.multicast::cluster.b64 [bar], %h2;");
  body.insert(body.find("@%p0 bra ISSUED"), R"(
    mov.b16 %h2, 3;
    mov.u32 %r6, %cluster_ctarank;
    setp.eq.u32 %p7, %r6, 0;
    or.b32 %r6, %r6, %t;
    setp.ne.u32 %p0, %r6, 0;
)");
  body.insert(body.find("ld.shared.b32 %r0"), kClusterBarrier);
  body.insert(body.find("@%p1 bra END"), kClusterBarrier);
  return body;
}

TEST_F(AsyncTest, ProductOfAPair) {
  shape.grid = shape.cluster = {2, 1, 1};
  expectResult(kMatrixShared, makePair(kProduct), 128, count(256), makeRows());
  shape.grid = shape.cluster = {1, 1, 1};
  expectFault(FaultKind::WrongSpace, "to have a peer", kMatrixShared,
              std::string(kProduct).replace(kProduct.find("mma.cta_group::1"),
                                            16, "mma.cta_group::2"),
              128, count(256));
}

// A commit with a mask arrives at each CTA by itself. One that a CTA has not
// seen arrive may still be under way when its threads are gone.
TEST_F(AsyncTest, ArrivalUnderWayToAPeer) {
  shape.grid = shape.cluster = {2, 1, 1};
  std::string init = "mbarrier.init.shared.b64 [bar], 1;\n";
  std::string commit = "tcgen05.commit.cta_group::2.mbarrier::arrive::one."
                       "shared::cluster.multicast::cluster.b64 [bar], %h2;\n";
  std::string body = makePair(kProduct);
  body = replace(body, init, init + "mbarrier.init.shared.b64 [bar + 8], 1;\n");
  body = replace(body, commit, commit + replace(commit, "[bar]", "[bar + 8]"));
  auto makeBody = [&](const std::string &guard) {
    std::string wait = R"( bra SKIP;
    LATE: mbarrier.try_wait.parity.shared.b64 %p4, [bar + 8], 0;
    @!%p4 bra LATE;
    SKIP:
)";
    std::string text = body;
    return text.insert(text.find("@%p1 bra END"), guard + wait);
  };
  std::string shared = replace(kMatrixShared, "bar[8]", "bar[16]");
  // %p7 holds in the CTA that issues; %p5 nowhere.
  expectResult(shared, makeBody("@%p5"), 128, count(256), makeRows());
  expectResult(shared, makeBody("@%p7"), 128, count(256), makeRows());
  expectFault(FaultKind::Hazard,
              "when the CTA of rank 1 ends, tcgen05.commit of the CTA of rank "
              "0 may still arrive at its mbarrier",
              shared, makeBody("@!%p7"), 128, count(256));
}

// The matrix A that stays in the collector for the second product.
TEST_F(AsyncTest, ProductThatKeepsA) {
  std::string mma = "tcgen05.mma.cta_group::1.kind::f16";
  std::string first = mma + " [%r0], %q0, %q1, 0x8040010, %p5;";
  std::string second = mma + " [%r0], %q0, %q1, 0x8040010, %p2;";
  auto makeBody = [&](const std::string &use, const std::string &next) {
    std::string body =
        replace(kProduct, first,
                replace(first, "kind::f16", "kind::f16.collector::a::" + use));
    return replace(
        body, second,
        replace(second, "kind::f16", "kind::f16.collector::a::" + next));
  };
  for (const char *next : {"use", "lastuse", "fill", "discard"})
    expectResult(kMatrixShared, makeBody("fill", next), 128, count(256),
                 makeRows());
  for (const char *next : {"use", "lastuse"})
    expectFault(FaultKind::Hazard, "nothing valid is there", kMatrixShared,
                makeBody("discard", next), 128, count(256));
}

// A second product of the pair overwrites what the warps of both CTAs have
// loaded, who must fence before they say so.
TEST_F(AsyncTest, PairOverwritesWhatThePeerHasLoaded) {
  shape.grid = shape.cluster = {2, 1, 1};
  std::string again =
      "tcgen05.fence::before_thread_sync;\n" + kClusterBarrier + R"(
    tcgen05.fence::after_thread_sync;
    @%p0 bra AGAIN;
    tcgen05.mma.cta_group::1.kind::f16 [%r0], %q0, %q1, 0x8040010, %p5;
    tcgen05.mma.cta_group::1.kind::f16 [%r0], %q0, %q1, 0x8040010, %p2;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    AGAIN:
    WAIT2: mbarrier.try_wait.parity.shared.b64 %p4, [bar], 1;
    @!%p4 bra WAIT2;
    tcgen05.fence::after_thread_sync;
)" + kTensorLoad;
  auto makeBody = [&](const std::string &guard) {
    return makePair(kAlloc + kFill + kSync + kMma + kMatrixWait + kTensorLoad +
                    guard + again + kRowOut + kDealloc);
  };
  expectResult(kMatrixShared, makeBody(""), 128, count(256), makeRows());
  // Only the CTA that issues, only the other one.
  for (const char *guard : {"@%p7 ", "@!%p7 "})
    expectFault(FaultKind::Hazard, "missing tcgen05.fence::before_thread_sync",
                kMatrixShared, makeBody(guard), 128, count(256));
}

// tcgen05.cp spreads 32 rows over all quarters of the lanes.
TEST_F(AsyncTest, CopyToTensorMemory) {
  std::string body = kAlloc + kFill + kSync + R"(
    mov.u32 %r2, a;
    shr.u32 %r2, %r2, 4;
    cvt.u64.u32 %q0, %r2;
    or.b64 %q0, %q0, 0x401000080000;
    @%p0 bra ISSUED;
    tcgen05.cp.cta_group::1.32x128b.warpx4 [%r0], %q0;
    tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bar];
    ISSUED:
)" + kMatrixWait + R"(
    bar.warp.sync -1;
    tcgen05.ld.sync.aligned.32x32b.x2.b32 {%r20, %r35}, [%r1];
    tcgen05.wait::ld.sync.aligned;
)" + kRowOut + kDealloc;
  std::vector<uint32_t> expected(256);
  for (unsigned i = 0; i < 128; ++i) {
    // The half of i % 32.
    unsigned row = i % 32;
    unsigned exponent = row ? 31 - llvm::countl_zero(row) : 0;
    expected[2 * i] =
        row ? (exponent + 15) << 10 | ((row << (10 - exponent)) & 0x3FF) : 0;
  }
  expectResult(kMatrixShared, body, 128, count(256), expected);
  expectFault(FaultKind::Hazard, "tcgen05.cp of line", kMatrixShared,
              without(body, kMatrixWait), 128, count(256));
}

//===----------------------------------------------------------------------===//
// Allocation
//===----------------------------------------------------------------------===//

// An allocation waits until another warp has freed the columns.
TEST_F(AsyncTest, AllocWaits) {
  std::string body = R"(
    setp.gt.u32 %p1, %t, 31;
    @%p1 bra OTHER;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [slot], 512;
    bar.sync 0;
    ld.shared.b32 %r0, [slot];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 512;
    bra END;
    OTHER:
    bar.sync 0;
    tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [a], 256;
    ld.shared.b32 %r0, [a];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 256;
    st.global.b32 [%to], 1;
    END:
)";
  expectResult(kMatrixShared, body, 64, count(1), {1});
  expectFault(
      FaultKind::Deadlock, "no 256 columns of tensor memory", kMatrixShared,
      without(body, "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 512;"),
      64, count(1));
}

// Columns must be freed.
TEST_F(AsyncTest, LeakedColumns) {
  expectFault(FaultKind::TensorMemory, "still allocated", kMatrixShared,
              without(kProduct,
                      "tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 64;"),
              128, count(256));
}

//===----------------------------------------------------------------------===//
// What is missing
//===----------------------------------------------------------------------===//

// A mask of lanes lets the product go on in all others; of 4 words in one CTA.
TEST_F(AsyncTest, ProductWithMaskOfLanes) {
  auto withMask = [&](llvm::StringRef mask) {
    std::string body = kProduct;
    for (llvm::StringRef predicate : {"%p5;", "%p2;"}) {
      std::string old = ("0x8040010, " + predicate).str();
      body.replace(body.find(old), old.size(),
                   ("0x8040010, {" + mask + "}, " + predicate).str());
    }
    return body;
  };
  expectResult(kMatrixShared, withMask("0, 0, 0, 0"), 128, count(256),
               makeRows());
  // Lane 3 was never written.
  expectFault(FaultKind::Uninitialised, "", kMatrixShared,
              withMask("8, 0, 0, 0"), 128, count(256));
}

// Products of what threads stored need the proxy fence.
TEST_F(AsyncTest, ProductWithoutProxyFence) {
  expectFault(FaultKind::Hazard, "missing fence.proxy.async: tcgen05.mma",
              kMatrixShared,
              without(kProduct, "fence.proxy.async.shared::cta;"), 128,
              count(256));
}

// Loads of a product that nobody has waited for.
TEST_F(AsyncTest, ProductWithoutWait) {
  std::string body = kAlloc + kFill + kSync + kMma +
                     "tcgen05.fence::after_thread_sync;" + kTensorLoad +
                     kRowOut + kDealloc;
  expectFault(FaultKind::Hazard, "tcgen05.mma of line", kMatrixShared, body,
              128, count(256));
}

// A product that no barrier is told of.
TEST_F(AsyncTest, ProductWithoutCommit) {
  expectFault(FaultKind::Deadlock, "1 of 1 arrivals pending", kMatrixShared,
              without(kProduct,
                      "tcgen05.commit.cta_group::1.mbarrier::arrive::one"
                      ".shared::cluster.b64 [bar];"),
              128, count(256));
}

// A commit tells of what its own thread has started, not of another thread's
// product.
TEST_F(AsyncTest, CommitByAnotherThread) {
  std::string commit = "    tcgen05.commit.cta_group::1.mbarrier::arrive::one."
                       "shared::cluster.b64 [bar];\n";
  std::string body = without(kProduct, commit);
  std::string label = "    ISSUED:\n";
  body.insert(body.find(label) + label.size(),
              "    setp.ne.u32 %p6, %t, 1;\n    @%p6 bra TOLD;\n" + commit +
                  "    TOLD:\n");
  expectFault(FaultKind::Hazard, "nobody has waited for it", kMatrixShared,
              body, 128, count(256));
}

// Operands may be written again behind the wait, not before.
TEST_F(AsyncTest, OperandsWrittenAgain) {
  std::string write = "st.shared.b32 [%r10], 0;\n";
  std::string late = kProduct, early = kProduct;
  late.insert(late.find(kTensorLoad), write);
  early.insert(early.find(kMatrixWait), "@!%p0 " + write);
  expectResult(kMatrixShared, late, 128, count(256), makeRows());
  expectFault(FaultKind::Hazard, "which the tcgen05.mma of line", kMatrixShared,
              early, 128, count(256));
}

// The fences between the product and the loads of other warps, and between
// these and the end.
TEST_F(AsyncTest, ProductWithoutTensorFences) {
  expectFault(
      FaultKind::Hazard, "missing tcgen05.fence::after_thread_sync",
      kMatrixShared,
      without(kProduct, "tcgen05.fence::after_thread_sync; // multiplied"), 128,
      count(256));
  expectFault(FaultKind::Hazard, "missing tcgen05.fence::before_thread_sync",
              kMatrixShared,
              without(kProduct, "tcgen05.fence::before_thread_sync; // loaded"),
              128, count(256));
  expectFault(FaultKind::Hazard, "missing tcgen05.fence::after_thread_sync",
              kMatrixShared,
              without(kProduct, "tcgen05.fence::after_thread_sync; // loaded"),
              128, count(256));
}

// Code of compilers that use no such fence at all is taken as it is.
TEST_F(AsyncTest, ProductWithoutAnyTensorFence) {
  std::string body = kProduct;
  for (llvm::StringRef what : {"filled", "loaded"})
    body =
        without(body, ("tcgen05.fence::before_thread_sync; // " + what).str());
  for (llvm::StringRef what : {"filled", "multiplied", "loaded"})
    body =
        without(body, ("tcgen05.fence::after_thread_sync; // " + what).str());
  expectResult(kMatrixShared, body, 128, count(256), makeRows());
}

// Registers of a load that was not waited for.
TEST_F(AsyncTest, LoadWithoutWait) {
  expectFault(
      FaultKind::Hazard, "reads a register that the tcgen05.ld", kMatrixShared,
      without(kProduct, "tcgen05.wait::ld.sync.aligned;"), 128, count(256));
}

// A use that a compiler moved in front of the wait of the same block is told
// only to those who want it.
TEST_F(AsyncTest, LoadUsedBeforeItsWait) {
  std::string wait = "tcgen05.wait::ld.sync.aligned;";
  std::string body = without(kProduct, wait);
  body.insert(body.find("mad.wide.u32 %q2"), "mov.b32 %r20, %r20;\n" + wait);
  expectResult(kMatrixShared, body, 128, count(256), makeRows());
  options.strict = true;
  expectFault(FaultKind::Hazard, "reads a register that the tcgen05.ld",
              kMatrixShared, body, 128, count(256));
}

// The next product must not overwrite what is still being loaded, nor may the
// columns be freed.
TEST_F(AsyncTest, ConflictsWithLoads) {
  std::string body = kProduct;
  body.insert(body.find("tcgen05.wait::ld"), R"(
    @!%p0 tcgen05.mma.cta_group::1.kind::f16 [%r0], %q0, %q1, 0x8040010, %p5;
)");
  expectFault(FaultKind::Hazard, "which the tcgen05.ld of line", kMatrixShared,
              body, 128, count(256));
  body =
      kAlloc + kFill + kSync + kMma + kMatrixWait + kTensorLoad + kRowOut + R"(
    @%p1 bra END;
    tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r20}, [%r1];
    tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r0, 64;
    END:
)";
  expectFault(FaultKind::Hazard, "tcgen05.dealloc touches", kMatrixShared, body,
              128, count(256));
}

// A warp has its own quarter of the lanes, and one address.
TEST_F(AsyncTest, WrongLanes) {
  std::string body = kProduct;
  body.replace(body.find("add.u32 %r1, %r0, %r1"), 21,
               "add.u32 %r1, %r0, 0   ");
  expectFault(FaultKind::TensorMemory, "expected tcgen05.ld of warp",
              kMatrixShared, body, 128, count(256));
  body.replace(body.find("add.u32 %r1, %r0, 0   "), 22,
               "add.u32 %r1, %r0, %t  ");
  expectFault(FaultKind::TensorMemory, "one address", kMatrixShared, body, 128,
              count(256));
}

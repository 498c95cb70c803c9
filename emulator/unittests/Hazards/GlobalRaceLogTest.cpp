//===- GlobalRaceLogTest.cpp - Tests of order in global memory ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncTest.h"

using namespace blockscale::emulator;

namespace {
/// Kernels of several CTAs, which find their number in %cta and a flag, 0, at
/// the start of `from`.
struct GlobalRaceLogTest : AsyncTest {
  std::string shared = ".reg .b32 %cta;\n"
                       ".shared .align 128 .b8 data[512];\n"
                       ".shared .align 8 .b64 bar;\n";

  GlobalRaceLogTest() { shape.grid = {2, 1, 1}; }

  void expectGood(const std::string &body, unsigned threads = 1) {
    SCOPED_TRACE(body);
    expectResult(shared, "mov.u32 %cta, %ctaid.x;\n" + body, threads,
                 std::vector<uint32_t>(256), {});
  }
  void expectRace(const std::string &body, unsigned threads = 1,
                  llvm::StringRef text = "has not waited for it since") {
    SCOPED_TRACE(body);
    expectFault(FaultKind::Hazard, text, shared,
                "mov.u32 %cta, %ctaid.x;\n" + body, threads,
                std::vector<uint32_t>(256));
  }
};
} // namespace

/// CTA 0 does `first` and sets the flag by `release`; the others see it by
/// `acquire`, which loads it to %r2, and then do `second`.
static std::string makeHandOver(const std::string &release,
                                const std::string &acquire,
                                const std::string &first,
                                const std::string &second) {
  return R"(
    mov.b32 %r1, 1;
    setp.ne.u32 %p1, %cta, 0;
    @%p1 bra SECOND;
    )" + first +
         "\n" + release + R"(
    bra.uni END;
  SECOND:
    )" + acquire +
         R"(
    setp.eq.u32 %p2, %r2, 0;
    @%p2 bra SECOND;
    )" + second +
         "\nEND:\n";
}

static const std::string kStore = "st.global.b32 [%from+64], 7;";
static const std::string kLoad = "ld.global.b32 %r3, [%from+64];"
                                 "st.global.b32 [%to], %r3;";
static const std::string kStoreRelease =
    "st.release.gpu.global.b32 [%from], 1;";
static const std::string kLoadAcquire =
    "ld.acquire.gpu.global.b32 %r2, [%from];";

// All pairs of what PTX has to release and to acquire in global memory.
TEST_F(GlobalRaceLogTest, ReleaseAndAcquireOrderCtas) {
  const std::string releases[] = {
      kStoreRelease,
      "st.release.sys.global.b32 [%from], 1;",
      "red.release.gpu.global.add.u32 [%from], 1;",
      "atom.acq_rel.gpu.global.exch.b32 %r4, [%from], 1;",
      "fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%from], 1;",
      "membar.gl; st.volatile.global.b32 [%from], 1;",
      "fence.sc.sys; red.global.add.u32 [%from], 1;",
  };
  const std::string acquires[] = {
      kLoadAcquire,
      "atom.acquire.gpu.global.cas.b32 %r2, [%from], 1, 1;",
      "ld.relaxed.gpu.global.b32 %r2, [%from]; fence.acq_rel.gpu;",
      "ld.volatile.global.b32 %r2, [%from]; membar.gl;",
      "atom.global.add.u32 %r2, [%from], 0; membar.sys;",
  };
  for (const std::string &release : releases)
    expectGood(makeHandOver(release, kLoadAcquire, kStore, kLoad));
  for (const std::string &acquire : acquires) {
    expectGood(makeHandOver(kStoreRelease, acquire, kStore, kLoad));
    expectGood(makeHandOver(kStoreRelease, acquire, kLoad, kStore));
  }
}

// Relaxed accesses without a fence, and scopes that do not include the other
// thread.
TEST_F(GlobalRaceLogTest, WeakerOnesDoNot) {
  const std::string releases[] = {
      "st.relaxed.gpu.global.b32 [%from], 1;",
      "st.volatile.global.b32 [%from], 1;",
      "red.global.add.u32 [%from], 1;",
      "st.release.cta.global.b32 [%from], 1;",
      "st.release.cluster.global.b32 [%from], 1;",
      "fence.acq_rel.cta; st.relaxed.gpu.global.b32 [%from], 1;",
      "fence.acq_rel.cluster; red.global.add.u32 [%from], 1;",
      "fence.acq_rel.gpu; st.relaxed.cta.global.b32 [%from], 1;",
      "membar.cta; st.volatile.global.b32 [%from], 1;",
      "fence.proxy.async; st.relaxed.gpu.global.b32 [%from], 1;",
  };
  const std::string acquires[] = {
      "ld.relaxed.gpu.global.b32 %r2, [%from];",
      "ld.acquire.cta.global.b32 %r2, [%from];",
      "ld.acquire.cluster.global.b32 %r2, [%from];",
      "ld.relaxed.gpu.global.b32 %r2, [%from]; fence.acq_rel.cta;",
      "ld.relaxed.cta.global.b32 %r2, [%from]; fence.acq_rel.gpu;",
      "ld.volatile.global.b32 %r2, [%from]; membar.cta;",
  };
  for (const std::string &release : releases)
    expectRace(makeHandOver(release, kLoadAcquire, kStore, kLoad));
  for (const std::string &acquire : acquires) {
    expectRace(makeHandOver(kStoreRelease, acquire, kStore, kLoad));
    expectRace(makeHandOver(kStoreRelease, acquire, kLoad, kStore));
  }
}

// The scope of the cluster is enough in a cluster, that of the CTA is not.
TEST_F(GlobalRaceLogTest, ScopesOfClusters) {
  shape.cluster = {2, 1, 1};
  expectGood(makeHandOver("st.release.cluster.global.b32 [%from], 1;",
                          "ld.acquire.cluster.global.b32 %r2, [%from];", kStore,
                          kLoad));
  expectGood(makeHandOver(
      "fence.acq_rel.cluster; st.relaxed.cluster.global.b32 [%from], 1;",
      "ld.relaxed.gpu.global.b32 %r2, [%from]; fence.acq_rel.cluster;", kStore,
      kLoad));
  expectRace(makeHandOver("st.release.cta.global.b32 [%from], 1;",
                          "ld.acquire.cluster.global.b32 %r2, [%from];", kStore,
                          kLoad));
  expectRace(makeHandOver("st.release.cluster.global.b32 [%from], 1;",
                          "ld.acquire.cta.global.b32 %r2, [%from];", kStore,
                          kLoad));
  expectGood(makeHandOver("barrier.cluster.arrive; barrier.cluster.wait;",
                          "barrier.cluster.arrive; barrier.cluster.wait;"
                          "mov.b32 %r2, 1;",
                          kStore, kLoad));
}

// The scope of the CTA is enough in a CTA, as is a barrier.
TEST_F(GlobalRaceLogTest, WarpsOfOneCta) {
  shape.grid = {1, 1, 1};
  const std::string warp = "shr.u32 %cta, %t, 5;\n";
  expectGood(warp + makeHandOver("st.release.cta.global.b32 [%from], 1;",
                                 "ld.acquire.cta.global.b32 %r2, [%from];",
                                 kStore, kLoad),
             64);
  expectRace(warp + makeHandOver("st.relaxed.gpu.global.b32 [%from], 1;",
                                 "ld.acquire.cta.global.b32 %r2, [%from];",
                                 kStore, kLoad),
             64);
  const std::string exchange = R"(
    mad.wide.u32 %q1, %t, 4, %from;
    xor.b32 %r1, %t, 32;
    mad.wide.u32 %q2, %r1, 4, %from;
    st.global.b32 [%q1], %t;
    bar.sync 0;
    ld.global.b32 %r2, [%q2];
  )";
  // Also without shared memory.
  for (const char *declared : {shared.c_str(), ".reg .b32 %cta;\n"}) {
    shared = declared;
    expectGood(exchange, 64);
    expectRace(without(exchange, "bar.sync 0;"), 64);
  }
}

// It is a race whichever of the two ran first.
TEST_F(GlobalRaceLogTest, NoWaitAtAll) {
  const std::string race = "setp.ne.u32 %p1, %cta, 0; @%p1 bra SECOND;" +
                           kStore + "bra.uni END; SECOND:" + kLoad + "END:";
  expectRace(race);
  expectRace(replace(race, "setp.ne", "setp.eq"));
}

TEST_F(GlobalRaceLogTest, StoresOfTheSameValueDoNotRace) {
  expectGood("st.global.b32 [%from+64], 7;");
  expectRace("st.global.b32 [%from+64], %cta;");
  // Nor do those of neighbours, in whatever sizes.
  const std::string body = R"(
    cvt.u64.u32 %q2, %cta;
    cvt.u16.u32 %h1, %cta;
    mov.b32 %r1, %cta;
    mad.wide.u32 %q1, %r1, SIZE, %from;
  )";
  const std::pair<std::string, std::string> stores[] = {
      {"1", "st.global.b8 [%q1+64], %h1;"},
      {"2", "st.global.b16 [%q1+64], %h1;"},
      {"4", "st.global.b32 [%q1+64], %cta;"},
      {"8", "st.global.b64 [%q1+64], %q2;"},
  };
  for (const auto &[size, store] : stores) {
    std::string neighbours = replace(body, "SIZE", size) + store;
    expectGood(neighbours);
    expectRace(replace(neighbours, "mov.b32 %r1, %cta", "mov.b32 %r1, 0"));
  }
}

// What CTA 1 has waited for, CTA 2 has waited for once it has waited for CTA 1.
TEST_F(GlobalRaceLogTest, OrderIsTransitive) {
  shape.grid = {3, 1, 1};
  const std::string body = R"(
    setp.eq.u32 %p1, %cta, 1;
    setp.eq.u32 %p2, %cta, 2;
    @%p1 bra SECOND;
    @%p2 bra THIRD;
    st.global.b32 [%from+64], 7;
    st.release.gpu.global.b32 [%from], 1;
    bra.uni END;
  SECOND:
    ld.acquire.gpu.global.b32 %r2, [%from];
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra SECOND;
    st.release.gpu.global.b32 [%from+4], 1;
    bra.uni END;
  THIRD:
    ld.acquire.gpu.global.b32 %r2, [%from+4];
    setp.eq.u32 %p3, %r2, 0;
    @%p3 bra THIRD;
    ld.global.b32 %r3, [%from+64];
  END:
  )";
  expectGood(body);
  expectRace(replace(body, "ld.acquire.gpu.global.b32 %r2, [%from];",
                     "ld.relaxed.gpu.global.b32 %r2, [%from];"));
}

// The last of several CTAs to count itself stores what all of them have loaded.
TEST_F(GlobalRaceLogTest, StoreBehindManyLoads) {
  shape.grid = {4, 1, 1};
  const std::string body = R"(
    ld.global.b32 %r1, [%from+64];
    fence.acq_rel.gpu;
    atom.global.add.u32 %r2, [%from], 1;
    setp.ne.u32 %p1, %r2, 3;
    @%p1 bra END;
    fence.acq_rel.gpu;
    st.global.b32 [%from+64], 7;
  END:
  )";
  expectGood(body);
  expectRace(replace(body, "%r2, 3;", "%r2, 2;"));
  expectRace(replace(body, "    fence.acq_rel.gpu;\n    st", "    st"));
}

// Kernels come one after the other.
TEST_F(GlobalRaceLogTest, LaunchesAreOrdered) {
  device = Device();
  ASSERT_EQ(
      load(makeKernel("", kStore, "first") + makeKernel("", kLoad, "second")),
      "");
  uint64_t from = add("from", std::vector<uint32_t>(256));
  uint64_t to = addEmpty("to", 1024);
  shape.grid = {1, 1, 1};
  for (const char *kernel : {"first", "second", "first"}) {
    ASSERT_EQ(run(kernel, from, to), "");
    EXPECT_EQ(getFindings(), "");
  }
}

TEST_F(GlobalRaceLogTest, SaysWhoAndWhere) {
  expectRace(makeHandOver("st.relaxed.gpu.global.b32 [%from], 1;", kLoadAcquire,
                          kStore, kLoad),
             1,
             "warp 0 of CTA (1, 0, 0) loads 0x700000000040, byte 64 of 'from' "
             "in global memory, which warp 0 of CTA (0, 0, 0) has stored, and "
             "has not waited for it since");
}

//===----------------------------------------------------------------------===//
// Bulk copies to global memory
//===----------------------------------------------------------------------===//

static const std::string kBulkStore = R"(
    st.shared.b32 [data], 7;
    st.shared.b32 [data+4], 7;
    st.shared.b32 [data+8], 7;
    st.shared.b32 [data+12], 7;
    fence.proxy.async.shared::cta;
    cp.async.bulk.global.shared::cta.bulk_group [%from+64], [data], 16;
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
)";

static const std::string kReadWait = "cp.async.bulk.wait_group.read 0;";

/// Waits for the reads alone.
static std::string waitForReads(const std::string &body) {
  return replace(body, "cp.async.bulk.wait_group 0;", kReadWait);
}

static std::string makeReduction(const std::string &body) {
  return replace(body, "cp.async.bulk.global.shared::cta.bulk_group",
                 "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32");
}

TEST_F(GlobalRaceLogTest, ReadWaitLeavesTheStorePending) {
  shape.grid = {1, 1, 1};
  const llvm::StringRef text = "may still write: its thread has not waited";
  for (const std::string &store : {kBulkStore, makeReduction(kBulkStore)}) {
    expectGood(store + kLoad);
    expectGood(waitForReads(store));
    expectRace(waitForReads(store) + kLoad, 1, text);
    expectRace(waitForReads(store) + kStore, 1, text);
    // A later full wait ends it, whose groups count those before.
    expectGood(waitForReads(store) + "cp.async.bulk.wait_group 0;" + kLoad);
    expectGood(waitForReads(store) +
               "cp.async.bulk.commit_group; cp.async.bulk.wait_group 1;" +
               kLoad);
    expectRace(waitForReads(store) + "cp.async.bulk.wait_group 1;" + kLoad, 1,
               text);
  }
}

TEST_F(GlobalRaceLogTest, PendingStoreIsNotReleased) {
  for (const std::string &store : {kBulkStore, makeReduction(kBulkStore)}) {
    expectGood(makeHandOver(kStoreRelease, kLoadAcquire, store, kLoad));
    expectRace(
        makeHandOver(kStoreRelease, kLoadAcquire, waitForReads(store), kLoad),
        1, "a bulk copy of warp 0 of CTA (0, 0, 0) may still write");
    // The wait comes too late for those who saw the flag.
    expectRace(makeHandOver(kStoreRelease + "cp.async.bulk.wait_group 0;",
                            kLoadAcquire, waitForReads(store), kLoad));
  }
}

// Copies race as stores do; reductions meet, but not with other accesses.
TEST_F(GlobalRaceLogTest, BulkCopiesRace) {
  expectRace(kBulkStore);
  expectGood(makeReduction(kBulkStore));
  expectRace(makeHandOver("st.relaxed.gpu.global.b32 [%from], 1;", kLoadAcquire,
                          kStore, makeReduction(kBulkStore)));
  expectRace(makeHandOver("st.relaxed.gpu.global.b32 [%from], 1;", kLoadAcquire,
                          kLoad, kBulkStore));
  expectGood(makeHandOver(kStoreRelease, kLoadAcquire, kLoad, kBulkStore));
}

// What the mask leaves out is not stored.
TEST_F(GlobalRaceLogTest, ByteMask) {
  shape.grid = {1, 1, 1};
  std::string body =
      "mov.b16 %h0, 0x00F0;" +
      replace(waitForReads(kBulkStore), ".bulk_group [%from+64], [data], 16",
              ".bulk_group.cp_mask [%from+64], [data], 16, %h0");
  expectGood(body + kLoad);
  expectRace(body + replace(kLoad, "+64", "+68"), 1, "may still write");
}

//===----------------------------------------------------------------------===//
// fence.proxy.async
//===----------------------------------------------------------------------===//

static const std::string kBulkLoad = R"(
    mbarrier.init.shared.b64 [bar], 1;
    fence.mbarrier_init.release.cluster;
    mbarrier.arrive.expect_tx.shared.b64 %q3, [bar], 16;
    cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [data], [%from+64], 16, [bar];
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p3, [bar], 0;
    @!%p3 bra WAIT;
)";

static const llvm::StringRef kMissing =
    "missing fence.proxy.async: the async proxy loads 0x700000000040, byte 64 "
    "of 'from'";

TEST_F(GlobalRaceLogTest, AsyncLoadNeedsAProxyFence) {
  shape.grid = {1, 1, 1};
  expectRace(kStore + kBulkLoad, 1, kMissing);
  expectGood(kStore + "fence.proxy.async;" + kBulkLoad);
  expectGood(kStore + "fence.proxy.async.global;" + kBulkLoad);
  expectRace(kStore + "fence.proxy.async.shared::cta;" + kBulkLoad, 1,
             kMissing);
  expectRace(kStore + "fence.acq_rel.gpu;" + kBulkLoad, 1, kMissing);
  expectRace("fence.proxy.async;" + kStore + kBulkLoad, 1, kMissing);
  // The async proxy sees what it has written itself.
  expectGood(kBulkStore + kBulkLoad);
  expectRace(waitForReads(kBulkStore) + kBulkLoad, 1, "may still write");
}

// The fence may stand on either side of the flag.
TEST_F(GlobalRaceLogTest, ProxyFenceBetweenCtas) {
  auto make = [](const std::string &behindStore, const std::string &beforeLoad,
                 const std::string &acquire = kLoadAcquire) {
    return makeHandOver(kStoreRelease, acquire, kStore + behindStore,
                        beforeLoad + kBulkLoad);
  };
  const std::string all = "fence.proxy.async;";
  const std::string global = "fence.proxy.async.global;";
  expectRace(make("", ""), 1, kMissing);
  expectGood(make(all, ""));
  expectGood(make(global, ""));
  expectGood(make("", all));
  expectGood(make("", global));
  expectRace(make("fence.proxy.async.shared::cta;", ""), 1, kMissing);
  expectRace(make("", "fence.proxy.async.shared::cta;"), 1, kMissing);
  // Before the thread has waited, there is nothing to make visible.
  expectRace(replace(make("", ""), "mov.b32 %r1, 1;", all), 1, kMissing);
  // The fence orders proxies, not threads.
  expectRace(make(all, "", "ld.relaxed.gpu.global.b32 %r2, [%from];"));
}

TEST_F(GlobalRaceLogTest, ProxyFenceAndBarrier) {
  shape.grid = {1, 1, 1};
  const std::string body = "setp.ne.u32 %p4, %t, 32;\n"
                           "setp.ne.u32 %p5, %t, 0;\n@%p4 bra STORED;" +
                           kStore + R"(
    fence.proxy.async.global;
  STORED:
    bar.sync 0;
    @%p5 bra END;
  )" + kBulkLoad + "END:";
  expectGood(body, 64);
  expectRace(without(body, "fence.proxy.async.global;"), 64, kMissing);
  expectRace(without(body, "bar.sync 0;"), 64);
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// A thread that copies the tile of 4 rows of 16 values at column 8, row 2, and
/// accesses value INDEX of the 32 in a row, by `body`.
static std::string makeTileKernel(const std::string &body, unsigned index) {
  return R"(.visible .entry kernel(.param .align 64 .b8 map[128],
                                   .param .b64 data) {
    .reg .b64 %q<8>;
    .reg .b32 %r<8>;
    .reg .pred %p<4>;
    .shared .align 1024 .b8 tile[256];
    .shared .align 8 .b64 bar;
    mov.b64 %q0, map;
    cvta.param.u64 %q0, %q0;
    ld.param.b64 %q1, [data];
    mbarrier.init.shared.b64 [bar], 1;
)" + replace(body, "INDEX", std::to_string(4 * index)) +
         "ret; }\n";
}

static const std::string kLoadTile = R"(
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [%q0, {8, 2}], [bar];
  WAIT:
    mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
)";

static const std::string kStoreTile = kLoadTile + R"(
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%q0, {8, 2}], [tile];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
)";

// The values of a tile, and not their neighbours, are what a copy accesses.
TEST_F(GlobalRaceLogTest, TilesAccessTheirRows) {
  shape.grid = {1, 1, 1};
  auto expect = [&](const std::string &body, unsigned index,
                    llvm::StringRef text) {
    SCOPED_TRACE(body + std::to_string(index));
    device = Device();
    ASSERT_EQ(load(makeTileKernel(body, index)), "");
    uint64_t data = add("data", std::vector<uint32_t>(512));
    TensorMap map;
    map.element = TensorElement::U32;
    map.rank = 2;
    map.address = data;
    map.dims = {32, 16};
    map.strides = {128};
    map.box = {16, 4};
    ASSERT_EQ(run("kernel", encode(map), data), "");
    if (text.empty())
      EXPECT_EQ(getFindings(), "");
    else
      EXPECT_TRUE(hasFinding(FaultKind::Hazard, text)) << getFindings();
  };
  const std::string store = "st.global.b32 [%q1+INDEX], 7;";
  const std::string fence = "fence.proxy.async.global;";
  const std::string load = "ld.global.b32 %r1, [%q1+INDEX];";
  for (unsigned row : {1, 2, 5, 6})
    for (unsigned column : {7, 8, 23, 24}) {
      unsigned index = 32 * row + column;
      bool isInside = row >= 2 && row < 6 && column >= 8 && column < 24;
      expect(store + fence + kLoadTile, index, "");
      expect(store + kLoadTile, index,
             isInside ? "missing fence.proxy.async" : "");
      expect(kStoreTile + load, index, "");
      expect(waitForReads(kStoreTile) + load, index,
             isInside ? "may still write" : "");
    }
}

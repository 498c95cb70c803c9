//===- TensorCopyKernelTest.cpp - Tensor copies in kernels ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "AsyncTest.h"

using namespace blockscale::emulator;

namespace {
/// A tensor of 16 rows of 32 values, copied by boxes of 4 rows of 16.
struct TensorCopyTest : AsyncTest {
  static constexpr unsigned kRows = 16, kColumns = 32;

  /// The map of a buffer.
  virtual TensorMapBytes makeMap(uint64_t address,
                                 TensorElement element = TensorElement::U32) {
    TensorMap map;
    map.element = element;
    map.rank = 2;
    map.address = address;
    map.dims = {kColumns, kRows};
    map.strides = {kColumns * 4};
    map.box = {16, boxRows};
    map.swizzle = Swizzle::Span64;
    return encode(map);
  }

  /// Runs `body` with 32 threads, maps of both buffers as parameters, in every
  /// schedule. %q0 and %q1 are the maps; the barrier `bar` expects one arrival.
  void runMaps(const std::string &body, llvm::function_ref<void()> check) {
    for (unsigned seed = 0; seed <= kSeeds; ++seed) {
      SCOPED_TRACE(seed);
      device = Device();
      options.schedule = seed == 0 ? Schedule::Prompt : Schedule::Adversarial;
      options.seed = seed;
      options.jobs = 1;
      options.maxSteps = 1000000;
      ASSERT_EQ(load(R"(.visible .entry kernel(.param .align 64 .b8 source[128],
    .param .align 64 .b8 target[128], .param .b64 work) {
    .reg .b64 %q<16>;
    .reg .b32 %t, %r<64>;
    .reg .b16 %h<8>;
    .reg .pred %p<16>;
    .shared .align 1024 .b8 tile[1024];
    .shared .align 128 .b8 edited[128];
    .shared .align 8 .b8 bar[8];
    mov.u32 %t, %tid.x;
    mov.b64 %q0, source;
    cvta.param.u64 %q0, %q0;
    mov.b64 %q1, target;
    cvta.param.u64 %q1, %q1;
    ld.param.b64 %q2, [work];
    setp.ne.u32 %p0, %t, 0;
    @%p0 bra READY;
    mbarrier.init.shared.b64 [bar], 1;
    READY: bar.sync 0;
)" + body + "ret; }"),
                "");
      std::vector<uint32_t> values = count(kRows * kColumns);
      uint64_t from = add("from", values), to = add("to", values);
      uint64_t work = add("work", std::vector<uint32_t>(32));
      shape.block = {32, 1, 1};
      ASSERT_EQ(run("kernel", makeMap(from), makeMap(to, targetElement), work),
                "");
      check();
      if (HasFailure())
        return;
    }
  }

  uint32_t boxRows = 4;
  TensorElement targetElement = TensorElement::U32;
};
} // namespace

/// Thread 0 issues a load of 256 bytes, for which all threads wait.
static std::string writeLoad(const std::string &copy) {
  return R"(
    @%p0 bra LOADED;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    )" + copy +
         R"(
    LOADED:
    WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
)";
}

/// Thread 0 issues a store, and waits for it.
static std::string writeStore(const std::string &copy) {
  return R"(
    @%p0 bra STORED;
    )" + copy +
         R"(
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    STORED:
)";
}

/// The box at column 24, row 2; half of it is outside.
static const std::string kTileLoad = R"(
    mov.u32 %r0, 24;
    mov.u32 %r1, 2;)" + writeLoad("cp.async.bulk.tensor.2d.shared::cta.global."
                                  "tile.mbarrier::complete_tx::"
                                  "bytes [tile], [%q0, {%r0, %r1}], [bar];");

/// The tile to column 8, row 13: one row is outside.
static const std::string kTileStore = writeStore(
    "cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%q1, {8, 13}],"
    " [tile];");

// A tile comes in with zeros for what is outside, and goes out again. The async
// proxy reads what it wrote itself: no fence.
TEST_F(TensorCopyTest, LoadAndStore) {
  runMaps(kTileLoad + kTileStore, [&] {
    EXPECT_EQ(getFindings(), "");
    std::vector<uint32_t> expected = count(kRows * kColumns);
    for (unsigned row = 0; row < 3; ++row)
      for (unsigned column = 0; column < 16; ++column)
        expected[(13 + row) * kColumns + 8 + column] =
            column < 8 ? (2 + row) * kColumns + 24 + column : 0;
    EXPECT_EQ(get<uint32_t>("to"), expected);
  });
}

// Values stored by a thread in between need the proxy fence.
TEST_F(TensorCopyTest, StoreOfEditedTile) {
  std::string edit = R"(
    mad.lo.u32 %r2, %t, 8, %r20;
    st.shared.v2.b32 [%r2], {7, 7};
    fence.proxy.async.shared::cta;
    bar.sync 0;
)";
  std::string body = "mov.u32 %r20, tile;\n" + kTileLoad + edit + kTileStore;
  runMaps(body, [&] {
    EXPECT_EQ(getFindings(), "");
    EXPECT_EQ(get<uint32_t>("to")[13 * kColumns + 8], 7u);
  });
  runMaps(without(body, "fence.proxy.async.shared::cta;"), [&] {
    EXPECT_TRUE(hasFinding(FaultKind::Hazard, "missing fence.proxy.async"))
        << getFindings();
  });
}

// Loading before the wait, and over a tile that is still being stored.
TEST_F(TensorCopyTest, ConflictingCopies) {
  std::string again = kTileLoad;
  again = again.substr(0, again.find("LOADED:"));
  again += "LOADED:";
  runMaps(again + "@!%p0 cp.async.bulk.tensor.2d.global.shared::cta.tile"
                  ".bulk_group [%q1, {8, 13}], [tile];\n",
          [&] {
            EXPECT_TRUE(hasFinding(FaultKind::Hazard,
                                   "cp.async.bulk.tensor reads of 0x0"))
                << getFindings();
          });
  runMaps(kTileLoad + R"(
    @%p0 bra STORED;
    cp.async.bulk.tensor.2d.global.shared::cta.tile.bulk_group [%q1, {8, 13}], [tile];
    cp.async.bulk.commit_group;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    cp.async.bulk.tensor.2d.shared::cta.global.tile.mbarrier::complete_tx::bytes [tile], [%q0, {%r0, %r1}], [bar];
    cp.async.bulk.wait_group.read 0;
    AGAIN: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 1;
    @!%p1 bra AGAIN;
    STORED:
)",
          [&] {
            EXPECT_TRUE(hasFinding(FaultKind::Hazard,
                                   "cp.async.bulk.tensor writes of 0x0"))
                << getFindings();
          });
}

// Rows of their own, in and out.
TEST_F(TensorCopyTest, GatherAndScatter) {
  boxRows = 1;
  runMaps(R"(
    @%p0 bra END;
    mbarrier.arrive.expect_tx.shared.b64 _, [bar], 256;
    cp.async.bulk.tensor.2d.shared::cta.global.tile::gather4.mbarrier::complete_tx::bytes [tile], [%q0, {0, 5, 1, 9, 3}], [bar];
    WAIT: mbarrier.try_wait.parity.shared.b64 %p1, [bar], 0;
    @!%p1 bra WAIT;
    cp.async.bulk.tensor.2d.global.shared::cta.tile::scatter4.bulk_group [%q1, {16, 0, 1, 2, 3}], [tile];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    END:
)",
          [&] {
            EXPECT_EQ(getFindings(), "");
            std::vector<uint32_t> to = get<uint32_t>("to");
            const uint32_t rows[] = {5, 1, 9, 3};
            for (unsigned row = 0; row < 4; ++row)
              EXPECT_EQ(to[row * kColumns + 17], rows[row] * kColumns + 1);
          });
}

// A reduction adds the tile to the tensor; its operation must suit the type.
TEST_F(TensorCopyTest, Reduction) {
  std::string body = kTileLoad + R"(
    @%p0 bra END;
    cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.tile.bulk_group [%q1, {24, 2}], [tile];
    cp.async.bulk.commit_group;
    cp.async.bulk.wait_group 0;
    END:
)";
  runMaps(body, [&] {
    EXPECT_EQ(getFindings(), "");
    std::vector<uint32_t> to = get<uint32_t>("to");
    EXPECT_EQ(to[2 * kColumns + 24], 2 * (2 * kColumns + 24));
    EXPECT_EQ(to[5 * kColumns + 31], 2 * (5 * kColumns + 31));
    EXPECT_EQ(to[6 * kColumns + 24], 6 * kColumns + 24);
  });
  body.replace(body.find(".add.tile"), 9, ".and.tile");
  targetElement = TensorElement::F32;
  runMaps(body, [&] {
    EXPECT_TRUE(hasFinding(FaultKind::TensorMap, ".and of tensors"))
        << getFindings();
  });
}

// A map edited in shared memory goes to global memory, and is used from there
// behind the fence.
TEST_F(TensorCopyTest, EditedMap) {
  std::string body = R"(
    mov.u32 %r20, edited;
    mad.lo.u32 %r21, %t, 4, %r20;
    cvt.u64.u32 %q3, %t;
    shl.b64 %q3, %q3, 2;
    add.u64 %q4, %q1, %q3;
    ld.param.b32 %r3, [%q4];
    st.shared.b32 [%r21], %r3;
    bar.warp.sync -1;
    setp.ne.u32 %p0, %t, 0;
    @!%p0 tensormap.replace.tile.global_dim.shared::cta.b1024.b32 [edited], 1, 14;
    bar.warp.sync -1;
    tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%q2], [edited], 128;
    fence.proxy.tensormap::generic.acquire.gpu [%q2], 128;
    mov.b64 %q1, %q2;
)";
  // The target map is a parameter: read it through its generic address.
  body.replace(body.find("ld.param.b32"), 12, "ld.b32");
  std::string all = body + kTileLoad + kTileStore;
  runMaps(all, [&] {
    EXPECT_EQ(getFindings(), "");
    std::vector<uint32_t> to = get<uint32_t>("to");
    EXPECT_EQ(to[13 * kColumns + 8], 2 * kColumns + 24);
    EXPECT_EQ(to[14 * kColumns + 8], 14 * kColumns + 8);
  });
  runMaps(
      without(all, "fence.proxy.tensormap::generic.acquire.gpu [%q2], 128;"),
      [&] {
        EXPECT_TRUE(
            hasFinding(FaultKind::Hazard, "missing fence.proxy.tensormap"))
            << getFindings();
      });
}

// Maps are not in shared memory, and tiles do not lie over barriers.
TEST_F(TensorCopyTest, MisplacedOperands) {
  runMaps(R"(
    mov.b64 %q5, edited;
    cvta.shared.u64 %q5, %q5;
    cp.async.bulk.prefetch.tensor.2d.L2.global.tile [%q5, {0, 0}];
)",
          [&] {
            EXPECT_TRUE(hasFinding(FaultKind::WrongSpace, "tensor map"))
                << getFindings();
          });
  runMaps(R"(
    @%p0 bra END;
    mov.u32 %r2, bar;
    cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [bar], [%q2], 16, [bar];
    END:
)",
          [&] {
            EXPECT_TRUE(hasFinding(FaultKind::Barrier, "touches the barrier"))
                << getFindings();
          });
}

//===----------------------------------------------------------------------===//
// Im2col
//===----------------------------------------------------------------------===//

namespace {
/// Two images of 4 lines of 4 pixels of 32 values, in columns of 4 pixels
/// of 16.
struct Im2colCopyTest : TensorCopyTest {
  TensorMapBytes makeMap(uint64_t address, TensorElement element) override {
    TensorMap map;
    map.mode = TensorMode::Im2col;
    map.element = element;
    map.rank = 4;
    map.address = address;
    map.dims = {kColumns, 2, 4, 2};
    map.strides = {kColumns * 4, kColumns * 8, kColumns * 32};
    map.box = {16, 4};
    map.upperCorner = {0, -1};
    map.swizzle = Swizzle::Span64;
    return encode(map);
  }
};
} // namespace

/// A column, moved by a line.
static const std::string kColumnLoad =
    R"(
    mov.b16 %h0, 0;
    mov.b16 %h1, 1;)" +
    writeLoad("cp.async.bulk.tensor.4d.im2col.shared::cta.global.mbarrier::"
              "complete_tx::"
              "bytes [tile], [%q0, {16, 1, 2, 0}], [bar], {%h0, %h1};");
static const std::string kColumnStore = writeStore(
    "cp.async.bulk.tensor.4d.im2col_no_offs.global.shared::cta.bulk_group [%q1,"
    " {0, 0, 0, 1}], [tile];");

// The column begins with the last pixel of the bounding box of the first image
// and goes on in the second one.
TEST_F(Im2colCopyTest, LoadAndStore) {
  runMaps(kColumnLoad + kColumnStore, [&] {
    EXPECT_EQ(getFindings(), "");
    std::vector<uint32_t> expected = count(kRows * kColumns);
    unsigned from[] = {7, 10, 11, 12};
    for (unsigned i = 0; i < 4; ++i)
      for (unsigned column = 0; column < 16; ++column)
        expected[(8 + i) * kColumns + column] =
            from[i] * kColumns + 16 + column;
    EXPECT_EQ(get<uint32_t>("to"), expected);
  });
}

// Each mode has its maps, and im2col as many offsets as an image has
// dimensions.
TEST_F(Im2colCopyTest, WrongModeAndOffsets) {
  std::string tiled = kColumnLoad;
  tiled.replace(tiled.find(".im2col"), 7, ".tile");
  tiled.erase(tiled.find(", {%h0"), 12);
  runMaps(tiled.substr(0, tiled.find("LOADED:")) + "LOADED:", [&] {
    EXPECT_NE(getFindings().find("expected a tensor map of tiled mode, but got "
                                 "one of im2col mode"),
              std::string::npos);
  });
  std::string few = R"(.visible .entry kernel(.param .b64 map) {
    .reg .b64 %q0; .reg .b16 %h0;
    .shared .align 128 .b8 tile[128];
    .shared .align 8 .b8 bar[8];
    ld.param.b64 %q0, [map];
    mov.b16 %h0, 0;
    cp.async.bulk.tensor.4d.im2col.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%q0, {0, 0, 0, 0}], [bar], {%h0};
    ret; })";
  EXPECT_EQ(load(few), "");
  EXPECT_NE(
      run("kernel", uint64_t(0))
          .find(
              "expected 2 im2col offsets, two less than dimensions, but got 1"),
      std::string::npos);
}

//===- StreamLogTest.cpp - Tests for launches that may overlap ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Hazards/StreamLog.h"
#include "blockscale/Emulator/Stream.h"

#include <gtest/gtest.h>

using namespace blockscale::emulator;

namespace {
/// Launches of a stream, each of which has three instructions in lines 10
/// to 12.
struct StreamLogTest : testing::Test {
  Memory global = makeGlobalMemory();
  uint64_t x = global.allocate("x", 8192, /*alignment=*/256);
  Stream stream;
  std::unique_ptr<LaunchOverlap> launch;
  VectorClock clock;

  void begin(llvm::StringRef kernel, bool isProgrammatic) {
    launch.reset();
    clock = VectorClock(1);
    launch = std::make_unique<LaunchOverlap>(stream.getLog(), kernel,
                                             std::vector<unsigned>{10, 11, 12},
                                             isProgrammatic);
  }
  /// A launch that may begin before the one before it has ended, waits, and
  /// lets others go before that or behind it.
  void beginWaiting(llvm::StringRef kernel, bool startsEarly) {
    begin(kernel, /*isProgrammatic=*/true);
    if (startsEarly)
      launch->noteStart(LaunchOverlap::hasWaited(clock));
    wait();
    if (!startsEarly)
      launch->noteStart(LaunchOverlap::hasWaited(clock));
  }
  void wait() { clock.join(launch->wait()); }

  /// What is said about an access; empty for nothing.
  std::string access(uint64_t offset, uint64_t size, AccessKind kind,
                     uint32_t op = 0) {
    llvm::SmallVector<Fault, 1> faults;
    launch->note(clock, {x + offset, size}, kind, op, global, faults);
    return faults.empty() ? "" : faults.front().what;
  }
  std::string load(uint64_t offset = 0, uint64_t size = 4) {
    return access(offset, size, AccessKind::Load);
  }
  std::string store(uint64_t offset = 0, uint64_t size = 4, uint32_t op = 0) {
    return access(offset, size, AccessKind::Store, op);
  }
};

bool says(const std::string &text, llvm::StringRef part) {
  return llvm::StringRef(text).contains(part);
}
} // namespace

TEST_F(StreamLogTest, OrdinaryLaunchesComeBehindAllOthers) {
  begin("a", false);
  EXPECT_EQ(store(), "");
  begin("b", false);
  EXPECT_EQ(load(), "");
  EXPECT_EQ(store(), "");
  // Waits are none then, and what comes behind does not meet `a`.
  wait();
  begin("c", true);
  EXPECT_TRUE(says(load(), "kernel 'b' of the launch before stores (line 10)"));
}

TEST_F(StreamLogTest, BothAccessesAreNamed) {
  begin("a", false);
  EXPECT_EQ(store(100, 4, /*op=*/2), "");
  begin("b", true);
  std::string text = load(96, 8);
  EXPECT_TRUE(says(text, "byte 100 of 'x'")) << text;
  EXPECT_TRUE(says(text, "kernel 'a' of the launch before stores (line 12)"))
      << text;
}

// Words become as small as accesses are; a load that races with none of them
// may lie beside.
TEST_F(StreamLogTest, BytesAreToldApart) {
  begin("a", false);
  EXPECT_EQ(store(3, 1), "");
  EXPECT_EQ(store(4090, 12), "");
  EXPECT_EQ(load(64, 16), "");
  begin("b", true);
  EXPECT_EQ(load(0, 3), "");
  EXPECT_EQ(load(4, 60), "");
  EXPECT_NE(load(0, 16), "");
  EXPECT_EQ(load(4088, 2), "");
  EXPECT_NE(load(4096, 1), "");
  EXPECT_EQ(load(4102, 2), "");
  EXPECT_EQ(load(64, 16), "");
  EXPECT_TRUE(says(store(79, 1), "loads (line 10)"));
  EXPECT_EQ(store(80, 4), "");
}

TEST_F(StreamLogTest, StrongAccessesMeet) {
  begin("a", false);
  EXPECT_EQ(access(0, 4, AccessKind::StrongStore), "");
  EXPECT_EQ(access(16, 4, AccessKind::StrongLoad), "");
  EXPECT_EQ(access(32, 4, AccessKind::Store), "");
  begin("b", true);
  EXPECT_EQ(access(0, 4, AccessKind::StrongStore), "");
  EXPECT_EQ(access(0, 4, AccessKind::StrongLoad), "");
  EXPECT_NE(load(0), "");
  EXPECT_EQ(load(16), "");
  EXPECT_EQ(access(16, 4, AccessKind::StrongStore), "");
  EXPECT_NE(store(16), "");
  EXPECT_NE(access(32, 4, AccessKind::StrongLoad), "");
}

TEST_F(StreamLogTest, WaitsReachBackThroughLaunchesThatWait) {
  begin("a", false);
  EXPECT_EQ(store(), "");
  beginWaiting("b", /*startsEarly=*/true);
  EXPECT_EQ(store(64), "");
  beginWaiting("c", /*startsEarly=*/true);
  EXPECT_EQ(load(), "");
  begin("d", true);
  // Nobody has waited before it let others go, so all may run still.
  EXPECT_TRUE(says(load(), "kernel 'a' of the launch 3 before"));
  EXPECT_TRUE(says(load(64), "kernel 'b' of the launch 2 before"));
  wait();
  EXPECT_EQ(load(), "");
  EXPECT_EQ(store(64), "");
}

TEST_F(StreamLogTest, LaunchesThatDoNotWaitMayEndEarlier) {
  begin("a", false);
  EXPECT_EQ(store(), "");
  begin("b", true);
  EXPECT_EQ(store(64), "");
  launch->noteStart(LaunchOverlap::hasWaited(clock));
  begin("c", true);
  wait();
  EXPECT_EQ(load(64), "");
  std::string text = load();
  EXPECT_TRUE(says(text, "kernel 'a' of the launch 2 before")) << text;
  EXPECT_TRUE(says(text, "have not waited for it")) << text;
}

// A CTA that lets others go before it has waited is enough.
TEST_F(StreamLogTest, LaunchesBeginBehindWhatAllCtasHaveWaitedFor) {
  for (bool isOneEarly : {false, true}) {
    begin("a", false);
    EXPECT_EQ(store(), "");
    begin("b", true);
    if (isOneEarly)
      launch->noteStart(/*hasWaited=*/false);
    wait();
    launch->noteStart(/*hasWaited=*/true);
    begin("c", true);
    EXPECT_EQ(load() == "", !isOneEarly);
  }
}

TEST_F(StreamLogTest, TheHostMayWait) {
  begin("a", false);
  EXPECT_EQ(store(), "");
  launch.reset();
  stream.synchronize();
  begin("b", true);
  EXPECT_EQ(load(), "");
}

//===- AsyncQueueTest.cpp - The queue of asynchronous work ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/AsyncQueue.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

using namespace blockscale::emulator;

namespace {
struct AsyncQueueTest : testing::Test {
  AsyncQueue queue;
  std::vector<int> done;

  void push(uint64_t stream, int piece) {
    queue.push(stream, [this, piece] { done.push_back(piece); });
  }
};
} // namespace

// All pieces are done, streams in the order they were made.
TEST_F(AsyncQueueTest, RunsAll) {
  uint64_t first = queue.makeStream(), second = queue.makeStream();
  push(second, 3);
  push(first, 1);
  push(first, 2);
  queue.runAll();
  EXPECT_EQ(done, std::vector<int>({1, 2, 3}));
  EXPECT_TRUE(queue.empty());
}

// A piece at a time: streams mix, but each keeps its order.
TEST_F(AsyncQueueTest, KeepsTheOrderOfStreams) {
  std::set<std::vector<int>> orders;
  for (unsigned seed = 0; seed < 50; ++seed) {
    done.clear();
    std::mt19937_64 random(seed);
    uint64_t first = queue.makeStream(), second = queue.makeStream();
    push(first, 1);
    push(first, 2);
    push(second, 3);
    while (queue.runOne(random))
      ;
    EXPECT_LT(std::find(done.begin(), done.end(), 1),
              std::find(done.begin(), done.end(), 2));
    orders.insert(done);
  }
  EXPECT_EQ(orders.size(), 3u);
}

// Work that is done may start more.
TEST_F(AsyncQueueTest, TakesWorkFromWork) {
  uint64_t stream = queue.makeStream();
  queue.push(stream, [&] { push(stream, 1); });
  queue.runAll();
  EXPECT_EQ(done, std::vector<int>({1}));
  std::mt19937_64 random;
  EXPECT_FALSE(queue.runOne(random));
}

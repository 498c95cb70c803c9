//===- AsyncQueue.h - Queue of asynchronous work ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The queue of asynchronous work that is started but not done.
//
// Bulk copies, tensor core products, and loads and stores of tensor memory are
// started by threads and done later. Work of one stream is done in the order in
// which it was started; streams know nothing of each other.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_ASYNC_ASYNCQUEUE_H
#define BLOCKSCALE_LIB_EMULATOR_ASYNC_ASYNCQUEUE_H

#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <random>

namespace blockscale::emulator {

class AsyncQueue {
public:
  using Work = std::function<void()>;

  /// A stream of its own for a piece of work that nothing orders.
  uint64_t makeStream() { return nextStream++; }

  void push(uint64_t stream, Work work);
  bool empty() const { return streams.empty(); }
  /// Pieces of work so far, done or not.
  uint64_t countPushed() const { return pushed; }
  /// Does the first piece of a stream that `random` draws. False where there
  /// is none.
  bool runOne(std::mt19937_64 &random);
  /// Does everything, streams in the order they were made.
  void runAll();

private:
  void runFirst(std::map<uint64_t, std::deque<Work>>::iterator it);

  uint64_t nextStream = 0;
  uint64_t pushed = 0;
  std::map<uint64_t, std::deque<Work>> streams;
};

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_ASYNC_ASYNCQUEUE_H

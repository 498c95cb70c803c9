//===- AsyncQueue.cpp - Queue of asynchronous work ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Emulator/Async/AsyncQueue.h"

#include <iterator>

namespace blockscale::emulator {

void AsyncQueue::push(uint64_t stream, Work work) {
  streams[stream].push_back(std::move(work));
  ++pushed;
}

/// Takes the first piece of a stream out before it is done: it may push more.
void AsyncQueue::runFirst(std::map<uint64_t, std::deque<Work>>::iterator it) {
  Work work = std::move(it->second.front());
  it->second.pop_front();
  if (it->second.empty())
    streams.erase(it);
  work();
}

bool AsyncQueue::runOne(std::mt19937_64 &random) {
  if (streams.empty())
    return false;
  runFirst(std::next(streams.begin(), random() % streams.size()));
  return true;
}

void AsyncQueue::runAll() {
  while (!streams.empty())
    runFirst(streams.begin());
}

} // namespace blockscale::emulator

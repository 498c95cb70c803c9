//===- ThreadPool.h - Persistent worker threads -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_THREADPOOL_H
#define BLOCKSCALE_RUNTIME_THREADPOOL_H

#include "blockscale/Runtime/Result.h"

#include <pthread.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <vector>

namespace blockscale::runtime {

/// Runs loops over contiguous ranges on the calling thread and a fixed set of
/// workers. Any number of threads may call parallelFor at the same time.
class ThreadPool {
public:
  /// Called for the range [begin, end) of a loop.
  using Body = void (*)(void *ctx, int64_t begin, int64_t end);

  /// Calls `function(data)` once on each of `threads` threads, or of as many as
  /// it sees fit for 0, and returns when all calls have: GOMP_parallel of an
  /// OpenMP runtime, whose `flags` are 0.
  using Team = void (*)(void (*function)(void *data), void *data,
                        unsigned threads, unsigned flags);

  static constexpr int kMaxThreads = 1024;

  /// A pool of `numThreads` threads, the caller of parallelFor counted, clamped
  /// to [1, kMaxThreads]. Where the system refuses a thread the pool is
  /// smaller.
  explicit ThreadPool(int numThreads);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int getNumThreads() const { return static_cast<int>(workers.size()) + 1; }

  /// Calls `body` so that each index of [0, n) is in exactly one range, and
  /// returns when all calls have; their writes are then visible. Nothing
  /// happens for n <= 0. A call from inside a parallel body runs inline. All
  /// threads compute in the floating-point environment of the caller.
  void parallelFor(int64_t n, Body body, void *ctx);

  /// The same loop on threads of a team, of which there may be any number.
  static void runOnTeam(Team team, unsigned threads, int64_t n, Body body,
                        void *ctx);

private:
  struct Job;

  static void *runWorker(void *pool);
  void work();
  void removeFromQueue(Job *job);

  std::mutex mutex;
  std::condition_variable jobAvailable;
  /// Jobs that may have unclaimed ranges, oldest first.
  std::deque<Job *> queue;
  bool stopping = false;
  std::vector<pthread_t> workers;
};

/// The thread count the environment asks for: BLOCKSCALE_NUM_THREADS if it is
/// set and not empty, else the number of hardware threads. Fails if the
/// variable is not an integer in [1, ThreadPool::kMaxThreads].
Result<int> getDefaultNumThreads();

/// Sets the size of the pool behind blockscale_parallel_for; loops already
/// running keep the pool they started on. `numThreads` <= 0 restores the
/// default, which is the number of hardware threads where
/// getDefaultNumThreads fails.
void setNumThreads(int numThreads);

/// The size of the pool behind blockscale_parallel_for.
int getNumThreads();

/// Has loops of the process run on a team instead of the pool; null brings the
/// pool back. The team gets the number of threads that setNumThreads or the
/// environment asks for, and 0 where neither does. Children of fork() go back
/// to the pool, as the threads of a team are not theirs.
void setTeam(ThreadPool::Team team);

/// parallelFor on the process's team, or else its pool, which the first use
/// creates.
void parallelFor(int64_t n, ThreadPool::Body body, void *ctx);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_THREADPOOL_H

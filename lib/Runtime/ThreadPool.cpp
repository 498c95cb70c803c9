//===- ThreadPool.cpp - Persistent worker threads -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <charconv>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <thread>

using namespace blockscale::runtime;

/// More ranges than threads, so that one slow thread (a shared core, a page
/// fault) does not hold up the loop.
static constexpr int64_t kRangesPerThread = 4;

/// Whether this thread is inside a body that runs in parallel.
static thread_local bool insideParallelBody = false;

/// UBSan's function check reads the bytes before a function. Compiled code that
/// is only in memory has none: they may be outside its mapping.
#if defined(__clang__)
#define BLOCKSCALE_CALLS_ANY_CODE __attribute__((no_sanitize("function")))
#else
#define BLOCKSCALE_CALLS_ANY_CODE
#endif

BLOCKSCALE_CALLS_ANY_CODE static void callBody(ThreadPool::Body body, void *ctx,
                                               int64_t begin, int64_t end) {
  body(ctx, begin, end);
}

/// A running loop. It lives on the stack of its caller, who leaves only when
/// all ranges are claimed and no worker is inside.
struct ThreadPool::Job {
  Job(int64_t n, Body body, void *ctx, int64_t numThreads)
      : body(body), ctx(ctx), n(n),
        numRanges(std::min(n, numThreads * kRangesPerThread)) {
    std::fegetenv(&environment);
  }

  Body body;
  void *ctx;
  int64_t n;
  int64_t numRanges;
  /// How the caller computes; workers do so, too.
  std::fenv_t environment;
  std::atomic<int64_t> nextRange{0};
  /// Workers that hold a pointer to this job; guarded by the pool's mutex.
  int numWorkers = 0;
  std::condition_variable workersLeft;

  /// Runs ranges until none is unclaimed.
  void run() {
    insideParallelBody = true;
    int64_t size = n / numRanges;
    int64_t numLonger = n % numRanges;
    for (int64_t i; (i = nextRange.fetch_add(1)) < numRanges;) {
      int64_t begin = i * size + std::min(i, numLonger);
      callBody(body, ctx, begin, begin + size + (i < numLonger));
    }
    insideParallelBody = false;
  }
};

ThreadPool::ThreadPool(int numThreads) {
  int numWorkers = std::clamp(numThreads, 1, kMaxThreads) - 1;
  workers.reserve(numWorkers);
  for (int i = 0; i < numWorkers; ++i) {
    // Not std::thread, whose failure is an exception.
    pthread_t worker;
    if (pthread_create(&worker, nullptr, runWorker, this) != 0)
      break;
    workers.push_back(worker);
  }
}

ThreadPool::~ThreadPool() {
  {
    std::lock_guard<std::mutex> lock(mutex);
    stopping = true;
  }
  jobAvailable.notify_all();
  for (pthread_t worker : workers)
    pthread_join(worker, nullptr);
}

void *ThreadPool::runWorker(void *pool) {
  static_cast<ThreadPool *>(pool)->work();
  return nullptr;
}

void ThreadPool::work() {
  std::unique_lock<std::mutex> lock(mutex);
  while (true) {
    jobAvailable.wait(lock, [this] { return stopping || !queue.empty(); });
    if (stopping)
      return;
    Job *job = queue.front();
    ++job->numWorkers;
    lock.unlock();
    std::fesetenv(&job->environment);
    job->run();
    lock.lock();
    removeFromQueue(job);
    // The lock is held here, as the caller destroys the job as soon as it sees
    // zero.
    if (--job->numWorkers == 0)
      job->workersLeft.notify_one();
  }
}

void ThreadPool::removeFromQueue(Job *job) {
  for (auto it = queue.begin(); it != queue.end(); ++it)
    if (*it == job) {
      queue.erase(it);
      return;
    }
}

void ThreadPool::parallelFor(int64_t n, Body body, void *ctx) {
  if (n <= 0)
    return;
  if (n == 1 || workers.empty() || insideParallelBody) {
    callBody(body, ctx, 0, n);
    return;
  }

  Job job(n, body, ctx, getNumThreads());
  {
    std::lock_guard<std::mutex> lock(mutex);
    queue.push_back(&job);
  }
  jobAvailable.notify_all();
  job.run();

  std::unique_lock<std::mutex> lock(mutex);
  removeFromQueue(&job);
  job.workersLeft.wait(lock, [&job] { return job.numWorkers == 0; });
}

void ThreadPool::runOnTeam(Team team, unsigned threads, int64_t n, Body body,
                           void *ctx) {
  if (n <= 0)
    return;
  if (n == 1 || threads == 1 || insideParallelBody) {
    callBody(body, ctx, 0, n);
    return;
  }
  static const unsigned numHardwareThreads =
      std::max(1u, std::thread::hardware_concurrency());
  Job job(n, body, ctx, threads ? threads : numHardwareThreads);
  team(
      [](void *data) {
        // The threads are not ours.
        std::fenv_t saved;
        std::fegetenv(&saved);
        auto *job = static_cast<Job *>(data);
        std::fesetenv(&job->environment);
        job->run();
        std::fesetenv(&saved);
      },
      &job, threads, /*flags=*/0);
}

/// Whether the environment says how many threads there are to be.
static const char *getThreadsVariable() {
  const char *text = std::getenv("BLOCKSCALE_NUM_THREADS");
  return text && *text ? text : nullptr;
}

Result<int> blockscale::runtime::getDefaultNumThreads() {
  const char *text = getThreadsVariable();
  if (!text)
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1,
                      ThreadPool::kMaxThreads);
  int value = 0;
  const char *end = text + std::strlen(text);
  auto [parsed, error] = std::from_chars(text, end, value);
  if (error != std::errc() || parsed != end || value < 1 ||
      value > ThreadPool::kMaxThreads)
    return Status::failure(
        "expected BLOCKSCALE_NUM_THREADS to be an integer from 1 to " +
        std::to_string(ThreadPool::kMaxThreads) + ", but got '" + text + "'");
  return value;
}

namespace {
/// The pool behind blockscale_parallel_for. A loop holds its own reference, so
/// that setNumThreads can replace the pool at any time.
struct ProcessPool {
  std::mutex mutex;
  std::shared_ptr<ThreadPool> pool;
};

/// The team that takes the place of the pool, and its threads.
struct ProcessTeam {
  std::atomic<ThreadPool::Team> team{nullptr};
  std::atomic<int> requested{0};
  std::atomic<unsigned> threads{0};
};
} // namespace

static ProcessTeam processTeam;

/// The pool of the process. It is never destroyed: joining workers at exit
/// would hang in a forked child, which has none, and while another thread is
/// inside a loop.
static ProcessPool &getProcessPool() {
  static auto *processPool = new ProcessPool;
  return *processPool;
}

static int chooseNumThreads(int requested) {
  if (requested > 0)
    return requested;
  Result<int> fromEnvironment = getDefaultNumThreads();
  return fromEnvironment.ok()
             ? *fromEnvironment
             : static_cast<int>(std::thread::hardware_concurrency());
}

static void chooseTeamThreads() {
  int requested = processTeam.requested;
  bool isChosen = requested > 0 || getThreadsVariable();
  processTeam.threads =
      isChosen ? std::min(chooseNumThreads(requested), ThreadPool::kMaxThreads)
               : 0;
}

static std::shared_ptr<ThreadPool> acquirePool() {
  ProcessPool &process = getProcessPool();
  std::lock_guard<std::mutex> lock(process.mutex);
  if (!process.pool)
    process.pool =
        std::make_shared<ThreadPool>(chooseNumThreads(processTeam.requested));
  return process.pool;
}

void blockscale::runtime::setTeam(ThreadPool::Team team) {
  static const int registered =
      pthread_atfork(nullptr, nullptr, [] { processTeam.team = nullptr; });
  chooseTeamThreads();
  // Without the handler a child would wait for threads that it does not have.
  if (registered == 0)
    processTeam.team = team;
}

void blockscale::runtime::setNumThreads(int numThreads) {
  processTeam.requested = numThreads;
  chooseTeamThreads();
  // Loops start a pool of that size when they need one. Swapped, so that the
  // old pool's workers are joined outside the lock.
  std::shared_ptr<ThreadPool> pool;
  ProcessPool &process = getProcessPool();
  std::lock_guard<std::mutex> lock(process.mutex);
  process.pool.swap(pool);
}

int blockscale::runtime::getNumThreads() {
  return acquirePool()->getNumThreads();
}

void blockscale::runtime::parallelFor(int64_t n, ThreadPool::Body body,
                                      void *ctx) {
  if (ThreadPool::Team team = processTeam.team)
    ThreadPool::runOnTeam(team, processTeam.threads, n, body, ctx);
  else
    acquirePool()->parallelFor(n, body, ctx);
}

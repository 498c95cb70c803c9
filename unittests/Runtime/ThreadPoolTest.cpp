//===- ThreadPoolTest.cpp - Persistent worker threads ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/ThreadPool.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <atomic>
#include <cfenv>
#include <condition_variable>
#include <cstdlib>
#include <filesystem>
#include <mutex>
#include <optional>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace blockscale::runtime;

namespace {

/// Calls `body(begin, end)` through the plain function pointer.
template <typename Body>
void run(ThreadPool &pool, int64_t n, Body body) {
  pool.parallelFor(
      n,
      [](void *ctx, int64_t begin, int64_t end) {
        (*static_cast<Body *>(ctx))(begin, end);
      },
      &body);
}

/// How often each index of [0, n) was visited, without synchronisation of its
/// own: the loop's return must order the writes.
std::vector<int> countVisits(ThreadPool &pool, int64_t n) {
  std::vector<int> visits(n);
  run(pool, n, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      ++visits[i];
  });
  return visits;
}

TEST(ThreadPool, VisitsEachIndexOnce) {
  for (int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    EXPECT_EQ(pool.getNumThreads(), threads);
    for (int64_t n : {1, 2, 3, 7, 8, 31, 32, 33, 1000, 100003})
      EXPECT_EQ(countVisits(pool, n), std::vector<int>(n, 1))
          << threads << " threads, n = " << n;
  }
}

TEST(ThreadPool, RangesAreNotEmptyAndOfLikeSize) {
  ThreadPool pool(3);
  for (int64_t n : {2, 11, 12, 13, 1000}) {
    std::mutex mutex;
    std::vector<int64_t> sizes;
    run(pool, n, [&](int64_t begin, int64_t end) {
      std::lock_guard<std::mutex> lock(mutex);
      sizes.push_back(end - begin);
    });
    auto [least, most] = std::minmax_element(sizes.begin(), sizes.end());
    EXPECT_GE(*least, 1);
    EXPECT_LE(*most - *least, 1);
  }
}

// Index arithmetic must not overflow; the ranges are not iterated.
TEST(ThreadPool, SplitsTheLongestLoop) {
  ThreadPool pool(3);
  std::mutex mutex;
  std::set<std::pair<int64_t, int64_t>> ranges;
  run(pool, INT64_MAX, [&](int64_t begin, int64_t end) {
    std::lock_guard<std::mutex> lock(mutex);
    ranges.insert({begin, end});
  });
  int64_t next = 0;
  for (auto [begin, end] : ranges) {
    EXPECT_EQ(begin, next);
    EXPECT_LT(begin, end);
    next = end;
  }
  EXPECT_EQ(next, INT64_MAX);
}

TEST(ThreadPool, DoesNothingForEmptyLoops) {
  ThreadPool pool(2);
  std::atomic<int> calls{0};
  for (int64_t n : {int64_t(0), int64_t(-1), INT64_MIN})
    run(pool, n, [&](int64_t, int64_t) { ++calls; });
  EXPECT_EQ(calls, 0);
}

// Each body waits for the other, so two threads must be inside at once.
TEST(ThreadPool, RunsInParallel) {
  ThreadPool pool(2);
  std::mutex mutex;
  std::condition_variable arrived;
  int inside = 0;
  run(pool, 2, [&](int64_t, int64_t) {
    std::unique_lock<std::mutex> lock(mutex);
    ++inside;
    arrived.notify_all();
    arrived.wait(lock, [&] { return inside == 2; });
  });
  EXPECT_EQ(inside, 2);
}

// Each of both threads runs a range; the worker has the mode of this caller,
// whatever that of callers before was.
TEST(ThreadPool, WorkersComputeAsTheCallerDoes) {
  ThreadPool pool(2);
  int saved = std::fegetround();
  for (int mode : {FE_UPWARD, FE_TONEAREST, FE_DOWNWARD}) {
    std::atomic<int> inside{0};
    int found[2] = {-1, -1};
    ASSERT_EQ(std::fesetround(mode), 0);
    run(pool, 2, [&](int64_t begin, int64_t) {
      ++inside;
      while (inside < 2)
        std::this_thread::yield();
      found[begin] = std::fegetround();
    });
    ASSERT_EQ(std::fesetround(saved), 0);
    EXPECT_EQ(found[0], mode);
    EXPECT_EQ(found[1], mode);
  }
}

TEST(ThreadPool, NestedLoopsRunInline) {
  ThreadPool pool(4);
  ThreadPool other(4);
  std::atomic<int> inner{0};
  std::atomic<int> elsewhere{0};
  run(pool, 16, [&](int64_t begin, int64_t end) {
    auto self = std::this_thread::get_id();
    for (int64_t i = begin; i < end; ++i)
      for (ThreadPool *nested : {&pool, &other})
        run(*nested, 100, [&](int64_t from, int64_t to) {
          EXPECT_EQ(from, 0);
          EXPECT_EQ(to, 100);
          elsewhere += std::this_thread::get_id() != self;
          ++inner;
        });
  });
  EXPECT_EQ(inner, 32);
  EXPECT_EQ(elsewhere, 0);
  // The mark is gone after the loop: the next one is split again.
  std::atomic<int> ranges{0};
  run(pool, 100, [&](int64_t, int64_t) { ++ranges; });
  EXPECT_GT(ranges, 1);
}

TEST(ThreadPool, ServesConcurrentCallers) {
  ThreadPool pool(3);
  std::vector<std::thread> callers;
  callers.reserve(4);
  for (int caller = 0; caller < 4; ++caller)
    callers.emplace_back([&pool, caller] {
      for (int i = 0; i < 200; ++i) {
        int64_t n = 1 + (i * 7 + caller) % 60;
        EXPECT_EQ(countVisits(pool, n), std::vector<int>(n, 1));
      }
    });
  for (std::thread &caller : callers)
    caller.join();
}

TEST(ThreadPool, ClampsItsSize) {
  EXPECT_EQ(ThreadPool(0).getNumThreads(), 1);
  EXPECT_EQ(ThreadPool(-5).getNumThreads(), 1);
  EXPECT_LE(ThreadPool(1 << 30).getNumThreads(), ThreadPool::kMaxThreads);
}

/// Sets BLOCKSCALE_NUM_THREADS for one test.
class DefaultNumThreads : public testing::Test {
protected:
  void SetUp() override {
    if (const char *value = std::getenv(kName))
      before = value;
  }
  void TearDown() override {
    before ? setenv(kName, before->c_str(), 1) : unsetenv(kName);
    setNumThreads(0);
  }
  static std::string reject(const char *value) {
    setenv(kName, value, 1);
    Result<int> count = getDefaultNumThreads();
    return count.ok() ? "accepted" : count.message();
  }

  static constexpr const char *kName = "BLOCKSCALE_NUM_THREADS";
  std::optional<std::string> before;
};

TEST_F(DefaultNumThreads, ReadsTheEnvironment) {
  setenv(kName, "5", 1);
  EXPECT_EQ(*getDefaultNumThreads(), 5);
  setNumThreads(0);
  EXPECT_EQ(getNumThreads(), 5);
}

TEST_F(DefaultNumThreads, IsTheHardwareWithoutIt) {
  int hardware = std::max(1u, std::thread::hardware_concurrency());
  unsetenv(kName);
  EXPECT_EQ(*getDefaultNumThreads(), hardware);
  setenv(kName, "", 1);
  EXPECT_EQ(*getDefaultNumThreads(), hardware);
}

TEST_F(DefaultNumThreads, RejectsOtherValues) {
  for (const char *value :
       {"0", "-1", "1025", "2x", " 2", "two", "2.0", "99999999999999999999"})
    EXPECT_EQ(reject(value), std::string("expected BLOCKSCALE_NUM_THREADS to "
                                         "be an integer from 1 to 1024, but "
                                         "got '") +
                                 value + "'");
  EXPECT_EQ(reject("1024"), "accepted");
  setenv(kName, "two", 1);
  setNumThreads(0);
  EXPECT_GE(getNumThreads(), 1);
}

TEST_F(DefaultNumThreads, IsOverriddenBySetNumThreads) {
  setenv(kName, "5", 1);
  setNumThreads(3);
  EXPECT_EQ(getNumThreads(), 3);
  setNumThreads(1);
  EXPECT_EQ(getNumThreads(), 1);
}

// Loops finish on the pool they started on, whoever replaces it meanwhile.
TEST_F(DefaultNumThreads, MayChangeDuringLoops) {
  std::atomic<int64_t> total{0};
  std::atomic<bool> done{false};
  std::thread changer([&] {
    for (int i = 0; !done; ++i)
      setNumThreads(1 + i % 4);
  });
  for (int i = 0; i < 300; ++i)
    parallelFor(
        50,
        [](void *ctx, int64_t begin, int64_t end) {
          if (begin == 0)
            setNumThreads(2);
          *static_cast<std::atomic<int64_t> *>(ctx) += end - begin;
        },
        &total);
  done = true;
  changer.join();
  EXPECT_EQ(total, 300 * 50);
}

/// A team of `threads` threads, or of three; what it was asked for.
std::atomic<unsigned> askedThreads{0};
void runTeam(void (*function)(void *), void *data, unsigned threads, unsigned) {
  askedThreads = threads;
  std::vector<std::thread> others;
  for (unsigned i = 1; i < (threads ? threads : 3); ++i)
    others.emplace_back(function, data);
  function(data);
  for (std::thread &other : others)
    other.join();
}

/// The threads of this process.
size_t countThreads() {
  std::filesystem::directory_iterator tasks("/proc/self/task");
  return std::distance(begin(tasks), end(tasks));
}

class Team : public DefaultNumThreads {
protected:
  void SetUp() override {
    DefaultNumThreads::SetUp();
    unsetenv(kName);
    askedThreads = kNotAsked;
    setTeam(runTeam);
  }
  void TearDown() override {
    setTeam(nullptr);
    DefaultNumThreads::TearDown();
  }
  static std::vector<int> countVisits(int64_t n) {
    std::vector<int> visits(n);
    parallelFor(
        n,
        [](void *ctx, int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            ++static_cast<int *>(ctx)[i];
        },
        visits.data());
    return visits;
  }

  static constexpr unsigned kNotAsked = 12345;
};

TEST_F(Team, VisitsEachIndexOnce) {
  for (int64_t n : {0, 1, 2, 3, 31, 1000, 100003})
    EXPECT_EQ(countVisits(n), std::vector<int>(n, 1)) << "n = " << n;
  EXPECT_EQ(askedThreads, 0u);
}

TEST_F(Team, HasTheThreadsThatAreAskedFor) {
  setNumThreads(2);
  EXPECT_EQ(countVisits(100), std::vector<int>(100, 1));
  EXPECT_EQ(askedThreads, 2u);
  setenv(kName, "5", 1);
  setNumThreads(0);
  countVisits(100);
  EXPECT_EQ(askedThreads, 5u);
  unsetenv(kName);
  setNumThreads(0);
  countVisits(100);
  EXPECT_EQ(askedThreads, 0u);
}

// No pool waits beside the team. Threads that have ended may be counted yet.
TEST_F(Team, IsAlone) {
  size_t threads = countThreads();
  setNumThreads(4);
  EXPECT_LE(countThreads(), threads);
}

TEST_F(Team, IsNotCalledForOneThreadOrOneIndex) {
  countVisits(1);
  setNumThreads(1);
  EXPECT_EQ(countVisits(100), std::vector<int>(100, 1));
  EXPECT_EQ(askedThreads, kNotAsked);
}

TEST_F(Team, IsNotCalledInsideAnother) {
  std::atomic<int> inner{0};
  parallelFor(
      6,
      [](void *ctx, int64_t, int64_t) {
        askedThreads = kNotAsked;
        parallelFor(
            10,
            [](void *ctx, int64_t begin, int64_t end) {
              *static_cast<std::atomic<int> *>(ctx) +=
                  static_cast<int>(end - begin);
            },
            ctx);
        EXPECT_EQ(askedThreads, kNotAsked);
      },
      &inner);
  EXPECT_GE(inner, 20);
}

TEST_F(Team, GivesItsThreadsTheModeOfTheCallerForALoop) {
  int saved = std::fegetround();
  setTeam([](void (*function)(void *), void *data, unsigned, unsigned) {
    std::thread([&] {
      std::fesetround(FE_TONEAREST);
      function(data);
      EXPECT_EQ(std::fegetround(), FE_TONEAREST);
    }).join();
  });
  std::atomic<int> found{-1};
  ASSERT_EQ(std::fesetround(FE_UPWARD), 0);
  parallelFor(
      2,
      [](void *ctx, int64_t, int64_t) {
        *static_cast<std::atomic<int> *>(ctx) = std::fegetround();
      },
      &found);
  ASSERT_EQ(std::fesetround(saved), 0);
  EXPECT_EQ(found, FE_UPWARD);
}

TEST_F(Team, IsNotThatOfAForkedChild) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer does not support threads after fork";
#endif
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    bool isRight = countVisits(100) == std::vector<int>(100, 1);
    std::exit(isRight && askedThreads == kNotAsked ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
}

// A forked child has no workers; its loops must end all the same, and so must
// the child.
TEST_F(DefaultNumThreads, SurvivesFork) {
#if __has_feature(thread_sanitizer)
  GTEST_SKIP() << "the thread sanitizer does not support threads after fork";
#endif
  setNumThreads(3);
  pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    std::atomic<int64_t> total{0};
    parallelFor(
        100,
        [](void *ctx, int64_t begin, int64_t end) {
          *static_cast<std::atomic<int64_t> *>(ctx) += end - begin;
        },
        &total);
    std::exit(total == 100 ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

} // namespace

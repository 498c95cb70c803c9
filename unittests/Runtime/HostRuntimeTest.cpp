//===- HostRuntimeTest.cpp - Functions that compiled CPU code calls -------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/HostRuntime.h"
#include "blockscale/Runtime/ThreadPool.h"

#include "gtest/gtest.h"

#include <atomic>
#include <thread>
#include <vector>

using namespace blockscale::runtime;

namespace {

struct Visits {
  std::vector<int> counts;
};

void visit(void *ctx, int64_t begin, int64_t end) {
  for (int64_t i = begin; i < end; ++i)
    ++static_cast<Visits *>(ctx)->counts[i];
}

TEST(ParallelFor, VisitsEachIndexOnce) {
  for (int threads : {1, 4}) {
    setNumThreads(threads);
    for (int64_t n : {1, 5, 1024}) {
      Visits visits{std::vector<int>(n)};
      blockscale_parallel_for(n, visit, &visits);
      EXPECT_EQ(visits.counts, std::vector<int>(n, 1));
    }
  }
  setNumThreads(0);
}

TEST(ParallelFor, DoesNothingForEmptyLoops) {
  std::atomic<int> calls{0};
  auto count = [](void *ctx, int64_t, int64_t) {
    ++*static_cast<std::atomic<int> *>(ctx);
  };
  blockscale_parallel_for(0, count, &calls);
  blockscale_parallel_for(-3, count, &calls);
  EXPECT_EQ(calls, 0);
}

TEST(ReportError, NothingReported) {
  EXPECT_EQ(takeReportedError(), std::nullopt);
}

TEST(ReportError, KeepsTheFirstUntilTaken) {
  std::string message = "expected dimension 1 to be a multiple of 16";
  blockscale_report_error(message.c_str(), 40);
  message.assign(message.size(), '?');
  blockscale_report_error("expected something else", 7);
  EXPECT_EQ(takeReportedError(),
            "expected dimension 1 to be a multiple of 16, but got 40");
  EXPECT_EQ(takeReportedError(), std::nullopt);
  blockscale_report_error("expected a size", INT64_MIN);
  EXPECT_EQ(takeReportedError(),
            "expected a size, but got -9223372036854775808");
}

TEST(ReportError, WorkersMayReport) {
  setNumThreads(4);
  blockscale_parallel_for(
      1000,
      [](void *, int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          blockscale_report_error("expected no index", i);
      },
      nullptr);
  setNumThreads(0);
  std::string error = takeReportedError().value_or("");
  EXPECT_EQ(error.rfind("expected no index, but got ", 0), 0u) << error;
  EXPECT_EQ(takeReportedError(), std::nullopt);
}

// At least one of many simultaneous reports is kept, and taking takes it away.
TEST(ReportError, KeepsOneOfMany) {
  std::atomic<int> taken{0};
  std::vector<std::thread> threads;
  threads.reserve(4);
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&taken, i] {
      blockscale_report_error("expected one", i);
      taken += takeReportedError().has_value();
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_GE(taken, 1);
  EXPECT_EQ(takeReportedError(), std::nullopt);
}

// What compiled code asks for goes to the function, and what that says is told.
TEST(RankScope, ReducesOverRanks) {
  float values[] = {1, 2, 3};
  RankFunction overRanks = [](const RankReduction &reduction) {
    if (reduction.count != 3)
      return Status::failure("expected 3 amaxes");
    // NOLINTNEXTLINE(performance-no-int-to-ptr)
    auto *amaxes = reinterpret_cast<float *>(reduction.address);
    amaxes[1] = 7;
    EXPECT_EQ(reduction.type, NpyType::Float32);
    EXPECT_EQ(reduction.kind, ReductionKind::Max);
    EXPECT_EQ(reduction.stream, nullptr);
    return Status::success();
  };
  RankScope scope(overRanks);
  constexpr auto kFloat32 = static_cast<int32_t>(NpyType::Float32);
  blockscale_reduce_over_ranks(values, 3, kFloat32, 0);
  EXPECT_EQ(values[1], 7);
  EXPECT_EQ(takeReportedError(), std::nullopt);
  blockscale_reduce_over_ranks(values, 2, kFloat32, 0);
  EXPECT_EQ(takeReportedError(), "expected 3 amaxes");
}

} // namespace

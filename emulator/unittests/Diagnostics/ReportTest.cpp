//===- ReportTest.cpp - What a run found wrong ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Emulator/Report.h"

#include <gtest/gtest.h>

#include <thread>

using namespace blockscale::emulator;

static std::string print(const Report &report) {
  std::string text;
  llvm::raw_string_ostream os(text);
  report.print(os);
  return text;
}

// A finding names kernel, line, CTA, thread, what is wrong and what to do.
TEST(Report, NamesPlaceAndAdvice) {
  Report report;
  EXPECT_TRUE(report.empty());
  report.add({"gemm", 41, {1, 2, 3}, 7},
             {FaultKind::Misaligned, "expected 16, but got 4", "align it"});
  EXPECT_FALSE(report.empty());
  EXPECT_EQ(print(report),
            "kernel 'gemm', line 41, cta (1, 2, 3), thread 7: misaligned: "
            "expected 16, but got 4\n  help: align it\n");
}

// What asynchronous work or the end of a CTA finds has no thread.
TEST(Report, NoThread) {
  Report report;
  report.add({"k", 1, {0, 0, 0}, std::nullopt},
             {FaultKind::TensorMemory, "32 columns are leaked", "free them"});
  EXPECT_EQ(print(report), "kernel 'k', line 1, cta (0, 0, 0): tensor-memory: "
                           "32 columns are leaked\n  help: free them\n");
}

// Faults of one line and kind are one finding, told for the first thread in
// launch order (x of the grid fastest); other lines and kinds are other ones.
TEST(Report, MergesByLineAndKind) {
  Report report;
  report.add({"k", 5, {0, 1, 0}, 0}, {FaultKind::Hazard, "late", "wait"});
  report.add({"k", 5, {3, 0, 0}, 9}, {FaultKind::Hazard, "early", "wait"});
  report.add({"k", 5, {3, 0, 0}, 10}, {FaultKind::Hazard, "middle", "wait"});
  report.add({"k", 5, {0, 0, 0}, 0}, {FaultKind::Limit, "other kind", "stop"});
  report.add({"k", 4, {0, 0, 0}, 0}, {FaultKind::Hazard, "other line", "wait"});
  report.add({"a", 9, {0, 0, 0}, 0}, {FaultKind::Hazard, "other", "wait"});

  auto findings = report.getFindings();
  ASSERT_EQ(findings.size(), 4u);
  EXPECT_EQ(findings[0].place.kernel, "a");
  EXPECT_EQ(findings[1].place.line, 4u);
  EXPECT_EQ(findings[2].fault.what, "early");
  EXPECT_EQ(findings[2].count, 3u);
  EXPECT_EQ(findings[2].place.thread, 9u);
  EXPECT_EQ(findings[3].fault.kind, FaultKind::Limit);
  EXPECT_NE(print(report).find("hazard: early (3 times)"), std::string::npos);
}

// Threads of the host add at once; nothing is lost and the text is the same.
TEST(Report, ManyHostThreads) {
  Report report;
  auto add = [&](unsigned first) {
    for (unsigned i = first; i < 4000; i += 4)
      report.add({"k", 1 + i % 3, {i, 0, 0}, i},
                 {FaultKind::Hazard, std::to_string(i), "wait"});
  };
  std::thread threads[] = {std::thread(add, 3), std::thread(add, 2),
                           std::thread(add, 1), std::thread(add, 0)};
  for (std::thread &thread : threads)
    thread.join();
  auto findings = report.getFindings();
  ASSERT_EQ(findings.size(), 3u);
  EXPECT_EQ(findings[0].fault.what, "0");
  EXPECT_EQ(findings[1].fault.what, "1");
  EXPECT_EQ(findings[2].fault.what, "2");
  EXPECT_EQ(findings[0].count + findings[1].count + findings[2].count, 4000u);
}

// Each kind has a name of its own.
TEST(Report, KindNames) {
  std::vector<llvm::StringRef> names;
  for (unsigned i = 0; i <= static_cast<unsigned>(FaultKind::Limit); ++i)
    names.push_back(getName(static_cast<FaultKind>(i)));
  EXPECT_EQ(names.front(), "out-of-bounds");
  EXPECT_EQ(names.back(), "limit");
  std::sort(names.begin(), names.end());
  EXPECT_EQ(std::unique(names.begin(), names.end()), names.end());
}

//===- ErrorRecordTest.cpp - Texts of error records -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/ErrorRecord.h"

#include "gtest/gtest.h"

#include <algorithm>
#include <cstddef>

using namespace blockscale::runtime;

namespace {

TEST(ErrorRecordTest, HasTheTextOfEachRule) {
  auto format = [](ErrorRule rule, ErrorOp op) {
    return formatErrorRecord({packRuleAndOp(rule, op), 1, 16, -20});
  };
  EXPECT_EQ(format(ErrorRule::EndBeforeBegin, ErrorOp::Amax),
            "amax: expected the end of group 1 to be at least 16, but got -20");
  EXPECT_EQ(format(ErrorRule::EndBeyondExtent, ErrorOp::Quantize),
            "quantize: expected the end of group 1 to be at most 16, but got "
            "-20");
  EXPECT_EQ(format(ErrorRule::EndWithinBlock, ErrorOp::Swizzle),
            "swizzle: expected the end of group 1 to be a multiple of 16, but "
            "got -20");
  EXPECT_EQ(format(ErrorRule::BeginBetweenCopies, ErrorOp::ScaledGroupedMM),
            "scaled_grouped_mm: expected the begin of group 1 to be a multiple "
            "of 16, but got -20");
}

// An assertion has a text of its own, which ends at a 0 or at the record's end.
TEST(ErrorRecordTest, HasTheTextOfAnAssertion) {
  ErrorRecord record{packRuleAndOp(ErrorRule::Assertion, ErrorOp::None), 0, 3,
                     -20, "tensor.extract: expected index 0 to be below 3"};
  EXPECT_EQ(formatErrorRecord(record),
            "tensor.extract: expected index 0 to be below 3, but got -20");
  std::fill(std::begin(record.text), std::end(record.text), 'x');
  EXPECT_EQ(formatErrorRecord(record),
            std::string(kErrorTextBytes, 'x') + ", but got -20");
}

// A record of kernels of a newer version is no text of a known rule.
TEST(ErrorRecordTest, NamesARuleThatItDoesNotKnow) {
  EXPECT_EQ(formatErrorRecord({0xfff0fff0, 2, 3, 4}),
            "kernel: expected group 2 to keep a rule of a newer version with "
            "3, but got 4");
}

// The layout that kernels write and hosts of other languages read.
TEST(ErrorRecordTest, HasItsLayout) {
  EXPECT_EQ(offsetof(ErrorRecordVariable, record), 8u);
  EXPECT_EQ(offsetof(ErrorRecord, group), 8u);
  EXPECT_EQ(offsetof(ErrorRecord, expected), 16u);
  EXPECT_EQ(offsetof(ErrorRecord, found), 24u);
  EXPECT_EQ(offsetof(ErrorRecord, text), 32u);
  EXPECT_EQ(sizeof(ErrorRecord), 512u);
  EXPECT_EQ(kShortErrorVariableBytes, 40u);
  ErrorRecord record;
  record.ruleAndOp = packRuleAndOp(ErrorRule::EndWithinBlock, ErrorOp::Swizzle);
  EXPECT_EQ(record.ruleAndOp, 0x30003u);
  EXPECT_EQ(record.getRule(), ErrorRule::EndWithinBlock);
  EXPECT_EQ(record.getOp(), ErrorOp::Swizzle);
}

} // namespace

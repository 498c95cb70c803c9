//===- ErrorRecord.h - The rule that a kernel found broken ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Ends of groups, and indices and divisors that are data, are known to the
// device alone, so that a kernel checks what they have to keep. The kernel that
// finds a broken rule writes an error record in global memory and goes on: the
// results of a group are zero, an index is that of the nearest element, and a
// divisor is 1. Whoever waits for the call reads the record.
//
// Each module of PTX whose kernels can find a broken rule has a variable of the
// layout of ErrorRecordVariable. The first kernel that swaps its rule into a
// record whose rule is 0 writes the record, so that a host that has waited for
// the kernels reads a whole one. Whoever reads it sets the rule to 0 again.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_ERRORRECORD_H
#define BLOCKSCALE_RUNTIME_ERRORRECORD_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace blockscale::runtime {

/// The variable of a module of PTX that has the layout of ErrorRecordVariable.
inline constexpr const char *kErrorRecordSymbol = "blockscale_error_record";

/// What a record is about. The numbers are part of the layout.
enum class ErrorRule : uint16_t {
  None = 0,
  /// A group ends before it begins; `expected` is the least end.
  EndBeforeBegin = 1,
  /// A group ends behind the dimension; `expected` is the size of that.
  EndBeyondExtent = 2,
  /// A group ends within a block; `expected` is the size of a block.
  EndWithinBlock = 3,
  /// A group begins where copies cannot; `expected` is the distance of places
  /// where they can.
  BeginBetweenCopies = 4,
  /// An assertion of the program does not hold, for example that an index is
  /// one of an element; `text` says which. `expected` is what `found` was
  /// compared with.
  Assertion = 5,
};

/// The op whose rule is broken. The numbers are part of the layout.
enum class ErrorOp : uint16_t {
  None = 0,
  Amax = 1,
  Quantize = 2,
  Swizzle = 3,
  ScaledGroupedMM = 4,
  PadGroups = 5,
};

/// Bytes of the text of an assertion, its 0 included.
inline constexpr size_t kErrorTextBytes = 480;

/// The record, in the byte order of the device.
struct ErrorRecord {
  /// The rule in bits 0 to 15, and the op in bits 16 to 31; 0 where no rule was
  /// found broken.
  uint64_t ruleAndOp = 0;
  /// The number of the group.
  int64_t group = 0;
  /// The bound or the divisor of the rule.
  int64_t expected = 0;
  int64_t found = 0;
  /// What an assertion expects, up to a 0: "tensor.extract at m.mlir:3:8:
  /// expected index 0 to be below 3". Other rules leave it as it is.
  char text[kErrorTextBytes] = {};

  ErrorRule getRule() const { return static_cast<ErrorRule>(ruleAndOp); }
  ErrorOp getOp() const { return static_cast<ErrorOp>(ruleAndOp >> 16); }
};

/// The variable kErrorRecordSymbol. It begins as zeros. Where no kernel of the
/// module asserts anything, it ends before the text.
struct ErrorRecordVariable {
  /// The address on the device of the record that kernels write to, which the
  /// host sets; 0 is `record`.
  uint64_t address = 0;
  ErrorRecord record;
};

/// Bytes of the variable in modules without assertions.
inline constexpr size_t kShortErrorVariableBytes =
    offsetof(ErrorRecordVariable, record) + offsetof(ErrorRecord, text);

static_assert(sizeof(ErrorRecord) == 512 &&
                  sizeof(ErrorRecordVariable) == 520 &&
                  kShortErrorVariableBytes == 40,
              "the layout is part of the interface");

constexpr uint64_t packRuleAndOp(ErrorRule rule, ErrorOp op) {
  return static_cast<uint64_t>(rule) | static_cast<uint64_t>(op) << 16;
}

/// The name of an op in a text.
inline const char *getErrorOpName(ErrorOp op) {
  switch (op) {
  case ErrorOp::None:
    break;
  case ErrorOp::Amax:
    return "amax";
  case ErrorOp::Quantize:
    return "quantize";
  case ErrorOp::Swizzle:
    return "swizzle";
  case ErrorOp::ScaledGroupedMM:
    return "scaled_grouped_mm";
  case ErrorOp::PadGroups:
    return "pad_groups";
  }
  return "kernel";
}

/// The text of a rule: what stands before the number of the group, and what
/// stands between that and the expected number.
struct ErrorText {
  const char *beforeGroup;
  const char *beforeExpected;
};

inline ErrorText getErrorText(ErrorRule rule) {
  switch (rule) {
  case ErrorRule::None:
    break;
  case ErrorRule::EndBeforeBegin:
    return {"the end of group ", " to be at least "};
  case ErrorRule::EndBeyondExtent:
    return {"the end of group ", " to be at most "};
  case ErrorRule::EndWithinBlock:
    return {"the end of group ", " to be a multiple of "};
  case ErrorRule::BeginBetweenCopies:
    return {"the begin of group ", " to be a multiple of "};
  case ErrorRule::Assertion:
    break;
  }
  return {"group ", " to keep a rule of a newer version with "};
}

/// The rule of a record without what was found, with the two numbers as texts:
/// "scaled_grouped_mm: expected the end of group 1 to be a multiple of 16".
inline std::string formatErrorRule(ErrorRule rule, ErrorOp op,
                                   const std::string &group,
                                   const std::string &expected) {
  auto [beforeGroup, beforeExpected] = getErrorText(rule);
  return std::string(getErrorOpName(op)) + ": expected " + beforeGroup + group +
         beforeExpected + expected;
}

/// The whole text of a record, as the CPU reports the same error.
inline std::string formatErrorRecord(const ErrorRecord &record) {
  std::string found = ", but got " + std::to_string(record.found);
  if (record.getRule() == ErrorRule::Assertion) {
    std::string text(record.text, sizeof(record.text));
    return text.substr(0, text.find('\0')) + found;
  }
  return formatErrorRule(record.getRule(), record.getOp(),
                         std::to_string(record.group),
                         std::to_string(record.expected)) +
         found;
}

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_ERRORRECORD_H

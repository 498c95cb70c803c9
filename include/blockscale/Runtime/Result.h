//===- Result.h - Errors as return values -----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_RESULT_H
#define BLOCKSCALE_RUNTIME_RESULT_H

#include <optional>
#include <string>
#include <utility>

namespace blockscale::runtime {

/// What went wrong, for callers that act on it.
enum class ErrorKind {
  /// What the caller gave is not what is expected.
  InvalidArgument,
  InvalidBundle,
  NotFound,
  File,
  NoDriver,
  DriverTooOld,
  NoDevice,
  WrongChip,
  Misaligned,
  OutOfMemory,
  /// Any other error of the driver.
  Driver,
  /// The module cannot be compiled; its diagnostics say why.
  Compilation,
  /// Whoever watched the work ended it.
  Cancelled,
  /// The bytes are no file of tensors, or contradict themselves.
  InvalidCheckpoint,
  /// A kernel found a rule broken by values of a call that it ran for.
  InvalidData,
};

/// Success, or a message that names the rule, the expected and the found.
class [[nodiscard]] Status {
public:
  static Status success() { return Status(); }
  static Status failure(std::string message,
                        ErrorKind kind = ErrorKind::InvalidArgument) {
    Status status;
    status.text = std::move(message);
    status.errorKind = kind;
    return status;
  }

  bool ok() const { return !text.has_value(); }
  /// The message of a failure, empty on success.
  std::string message() const { return text.value_or(std::string()); }
  /// The kind of a failure.
  ErrorKind kind() const { return errorKind; }

private:
  std::optional<std::string> text;
  ErrorKind errorKind = ErrorKind::InvalidArgument;
};

/// A value, or the failed Status that stands in its place.
template <typename T>
class [[nodiscard]] Result {
public:
  Result(T value) : value(std::move(value)) {}
  /// `status` must be a failure.
  Result(Status status) : failed(std::move(status)) {}

  bool ok() const { return value.has_value(); }
  const Status &status() const { return failed; }
  std::string message() const { return failed.message(); }

  // Only after ok(), which the callers check.
  // NOLINTBEGIN(bugprone-unchecked-optional-access)
  T &operator*() { return *value; }
  const T &operator*() const { return *value; }
  T *operator->() { return &*value; }
  const T *operator->() const { return &*value; }
  // NOLINTEND(bugprone-unchecked-optional-access)

private:
  std::optional<T> value;
  Status failed = Status::success();
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_RESULT_H

//===- HostRuntime.cpp - Functions that compiled CPU code calls -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/HostRuntime.h"

#include "blockscale/Runtime/ThreadPool.h"

#include <mutex>
#include <utility>

using namespace blockscale::runtime;

namespace {
struct ErrorSlot {
  std::mutex mutex;
  std::optional<std::string> message;
};
} // namespace

/// The slot of the reported error. It is never destroyed: a thread may still
/// report while the process exits.
static ErrorSlot &getErrorSlot() {
  static auto *slot = new ErrorSlot;
  return *slot;
}

void blockscale_parallel_for(
    int64_t n, void (*body)(void *ctx, int64_t begin, int64_t end), void *ctx) {
  parallelFor(n, body, ctx);
}

void blockscale_report_error(const char *message, int64_t found) {
  ErrorSlot &slot = getErrorSlot();
  std::lock_guard<std::mutex> lock(slot.mutex);
  if (!slot.message)
    slot.message = std::string(message) + ", but got " + std::to_string(found);
}

std::optional<std::string> blockscale::runtime::takeReportedError() {
  ErrorSlot &slot = getErrorSlot();
  std::lock_guard<std::mutex> lock(slot.mutex);
  return std::exchange(slot.message, std::nullopt);
}

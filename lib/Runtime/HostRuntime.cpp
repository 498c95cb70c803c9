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

static void record(const std::string &message) {
  ErrorSlot &slot = getErrorSlot();
  std::lock_guard<std::mutex> lock(slot.mutex);
  if (!slot.message)
    slot.message = message;
}

void blockscale_report_error(const char *message, int64_t found) {
  record(std::string(message) + ", but got " + std::to_string(found));
}

/// That of the RankScope that lives; null where there is none.
static const RankFunction *rankFunction = nullptr;

void blockscale_reduce_over_ranks(void *values, int64_t count, int32_t dtype,
                                  int32_t kind) {
  RankReduction reduction;
  reduction.address = reinterpret_cast<uint64_t>(values);
  reduction.count = static_cast<uint64_t>(count);
  reduction.type = static_cast<NpyType>(dtype);
  reduction.kind = static_cast<ReductionKind>(kind);
  Status status = (*rankFunction)(reduction);
  if (!status.ok())
    record(status.message());
}

RankScope::RankScope(const RankFunction &overRanks) {
  rankFunction = &overRanks;
}

RankScope::~RankScope() { rankFunction = nullptr; }

std::optional<std::string> blockscale::runtime::takeReportedError() {
  ErrorSlot &slot = getErrorSlot();
  std::lock_guard<std::mutex> lock(slot.mutex);
  return std::exchange(slot.message, std::nullopt);
}

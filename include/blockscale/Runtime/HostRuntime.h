//===- HostRuntime.h - Functions that compiled CPU code calls ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The C ABI between generated CPU code and the process that runs it. The JIT
// binds these definitions; an object file carries weak serial ones.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_HOSTRUNTIME_H
#define BLOCKSCALE_RUNTIME_HOSTRUNTIME_H

#include "blockscale/Runtime/RankReduction.h"

#include <optional>

// C names.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

/// Calls `body(ctx, begin, end)` for contiguous ranges that cover [0, n) once,
/// on several threads, and returns when all calls have. Nothing happens for
/// n <= 0. Nested calls run inline.
void blockscale_parallel_for(
    int64_t n, void (*body)(void *ctx, int64_t begin, int64_t end), void *ctx);

/// Records that a run-time check failed: `message` (NUL-terminated, copied)
/// states the rule and `found` is the value that broke it. Any thread may call
/// it; the first report since takeReportedError is kept.
void blockscale_report_error(const char *message, int64_t found);

/// Reduces `count` elements over ranks, in place. `dtype` and `kind` are those
/// of Runtime.h in C. Only the thread that called the code calls it.
void blockscale_reduce_over_ranks(void *values, int64_t count, int32_t dtype,
                                  int32_t kind);
}
// NOLINTEND(readability-identifier-naming)

namespace blockscale::runtime {

/// The recorded error as `<message>, but got <found>`, and forgets it.
std::optional<std::string> takeReportedError();

/// While it lives, `overRanks` reduces over ranks what compiled code asks for;
/// what fails is a recorded error. The process has one at a time.
class RankScope {
public:
  explicit RankScope(const RankFunction &overRanks);
  RankScope(const RankScope &) = delete;
  RankScope &operator=(const RankScope &) = delete;
  ~RankScope();
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_HOSTRUNTIME_H

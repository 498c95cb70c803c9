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

#include <cstdint>
#include <optional>
#include <string>

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
}
// NOLINTEND(readability-identifier-naming)

namespace blockscale::runtime {

/// The recorded error as `<message>, but got <found>`, and forgets it.
std::optional<std::string> takeReportedError();

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_HOSTRUNTIME_H

//===- Parallel.h - Loops on all threads ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CHECKPOINT_PARALLEL_H
#define BLOCKSCALE_LIB_CHECKPOINT_PARALLEL_H

#include "blockscale/Runtime/ThreadPool.h"

#include <algorithm>
#include <vector>

namespace blockscale::checkpoint {

/// Blocks of MXFP4 or of GGUF that a thread takes at a time.
inline constexpr int64_t kBlockGrain = int64_t(1) << 12;

/// The number of chunks of `grain` that cover `count`.
constexpr int64_t countChunks(int64_t count, int64_t grain) {
  return count / grain + (count % grain != 0);
}

/// Calls body(chunk, begin, end) for each chunk of `grain` of [0, count), on
/// the threads of the process. Chunks do not depend on the number of threads,
/// so that what is summed up by chunks does not either.
template <typename Body>
void forEachChunk(int64_t count, int64_t grain, Body body) {
  struct Context {
    int64_t count, grain;
    Body &body;
  } context = {count, grain, body};
  runtime::parallelFor(
      countChunks(count, grain),
      [](void *opaque, int64_t first, int64_t last) {
        auto &context = *static_cast<Context *>(opaque);
        for (int64_t chunk = first; chunk < last; ++chunk) {
          int64_t begin = chunk * context.grain;
          context.body(chunk, begin,
                       begin + std::min(context.grain, context.count - begin));
        }
      },
      &context);
}

/// The values of compute(begin, end) for each chunk, in their order.
template <typename Value, typename Compute>
std::vector<Value> mapChunks(int64_t count, int64_t grain, Compute compute) {
  std::vector<Value> values(countChunks(count, grain));
  forEachChunk(count, grain, [&](int64_t chunk, int64_t begin, int64_t end) {
    values[chunk] = compute(begin, end);
  });
  return values;
}

} // namespace blockscale::checkpoint

#endif // BLOCKSCALE_LIB_CHECKPOINT_PARALLEL_H

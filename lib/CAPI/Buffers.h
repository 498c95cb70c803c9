//===- Buffers.h - Which memory a call may be given -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CAPI_BUFFERS_H
#define BLOCKSCALE_LIB_CAPI_BUFFERS_H

#include "blockscale/Runtime/PlanExecution.h"

#include <vector>

namespace blockscale::capi {

/// Memory that a call reads or writes, by the name of its parameter.
struct CallBuffer {
  const char *name;
  const void *address;
  size_t bytes;
};

/// Checks that what a call writes overlaps nothing else: it would read what it
/// has written already.
inline runtime::Status checkApart(std::initializer_list<CallBuffer> read,
                                  std::initializer_list<CallBuffer> written) {
  std::vector<runtime::CallMemory> memory;
  std::vector<const char *> names;
  auto add = [&](const CallBuffer &buffer, bool isWritten) {
    memory.push_back({reinterpret_cast<uint64_t>(buffer.address), buffer.bytes,
                      isWritten, std::nullopt});
    names.push_back(buffer.name);
  };
  for (const CallBuffer &buffer : read)
    add(buffer, /*isWritten=*/false);
  for (const CallBuffer &buffer : written)
    add(buffer, /*isWritten=*/true);
  auto found = runtime::findOverlap(memory.data(), memory.size());
  if (!found)
    return runtime::Status::success();
  return runtime::Status::failure(
      "expected " + std::string(names[found->first]) +
      " in memory of its own, but it overlaps " + names[found->second]);
}

} // namespace blockscale::capi

#endif // BLOCKSCALE_LIB_CAPI_BUFFERS_H

//===- AlignedBuffer.h - Cache-line aligned bytes ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_ALIGNEDBUFFER_H
#define BLOCKSCALE_RUNTIME_ALIGNEDBUFFER_H

#include "blockscale/Runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>

namespace blockscale::runtime {

/// Owned memory aligned to 64 bytes, the widest vector the CPU path loads.
/// Unlike std::vector it neither fills the bytes nor throws when memory is
/// short.
class AlignedBuffer {
public:
  static constexpr size_t kAlignment = 64;

  AlignedBuffer() = default;

  /// `size` uninitialised bytes; data() is not null even for size 0.
  static Result<AlignedBuffer> allocate(size_t size) {
    void *memory = nullptr;
    if (posix_memalign(&memory, kAlignment, size ? size : 1) != 0)
      return Status::failure("cannot allocate " + std::to_string(size) +
                             " bytes");
    AlignedBuffer buffer;
    buffer.bytes.reset(static_cast<uint8_t *>(memory));
    buffer.numBytes = size;
    return buffer;
  }

  uint8_t *data() { return bytes.get(); }
  const uint8_t *data() const { return bytes.get(); }
  size_t size() const { return numBytes; }

private:
  struct Free {
    void operator()(uint8_t *memory) const { std::free(memory); }
  };
  std::unique_ptr<uint8_t, Free> bytes;
  size_t numBytes = 0;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_ALIGNEDBUFFER_H

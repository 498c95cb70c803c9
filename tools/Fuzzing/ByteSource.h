//===- ByteSource.h - Decisions drawn from an input -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_FUZZING_BYTESOURCE_H
#define BLOCKSCALE_TOOLS_FUZZING_BYTESOURCE_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/StringRef.h"

#include <cstdint>
#include <initializer_list>

namespace blockscale {

/// Reads decisions off the bytes of an input, one byte each, so that a mutated
/// byte changes one decision. Past the end every decision is number 0.
class ByteSource {
public:
  explicit ByteSource(llvm::StringRef bytes) : bytes(bytes) {}

  uint8_t next() {
    if (bytes.empty())
      return 0;
    uint8_t byte = bytes.front();
    bytes = bytes.drop_front();
    return byte;
  }

  /// A number below `count`, which is at most 256.
  unsigned choose(unsigned count) { return next() % count; }

  bool flag() { return next() & 1; }

  /// A decision that is true for one byte in `count`.
  bool rarely(unsigned count) { return next() % count == count - 1; }

  template <typename T>
  T pick(std::initializer_list<T> values) {
    return values.begin()[choose(values.size())];
  }

  template <typename T>
  const T &pick(llvm::ArrayRef<T> values) {
    return values[choose(values.size())];
  }

private:
  llvm::StringRef bytes;
};

} // namespace blockscale

#endif // BLOCKSCALE_TOOLS_FUZZING_BYTESOURCE_H

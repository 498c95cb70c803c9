//===- SharedMemory.h - Shared memory of a CTA ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SHAREDMEMORY_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SHAREDMEMORY_H

#include "DeviceEmission/DeviceCode.h"

namespace blockscale::products {

/// Bytes of shared memory that a CTA takes: places follow each other.
struct SharedBytes {
  /// The place of the next `count` bytes.
  int64_t take(int64_t count) {
    int64_t begin = bytes;
    bytes += count;
    return begin;
  }

  int64_t bytes = 0;
};

/// Places in the shared memory of a kernel, in whose code it is made.
struct SharedMemory {
  explicit SharedMemory(KernelBuilder &b) : memory(getDynamicSharedMemory(b)) {}

  /// `offset` bytes from the beginning.
  mlir::Value getShared(KernelBuilder &b, int64_t offset) const {
    return b.offset(memory, b.getI8Type(), b.i32(offset));
  }
  /// Element `slot` of an array of elements of `bytes` bytes there.
  mlir::Value getShared(KernelBuilder &b, int64_t offset, mlir::Value slot,
                        int64_t bytes) const {
    return b.offset(memory, b.getI8Type(),
                    emit::Lanes(b, slot) * bytes + offset);
  }

  mlir::Value memory;
};

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SHAREDMEMORY_H

//===- CudaErrorRecord.h - What kernels on a GPU find wrong -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The error record (ErrorRecord.h) that all kernels of this process on a GPU
// write to. It is in page-locked memory of the host that the GPU can write, so
// that a look at it takes no copy and no wait, also while a graph that holds
// the kernels is replayed. Where the driver gives no such memory, it is in the
// GPU's and copied by those who have waited.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_RUNTIME_CUDAERRORRECORD_H
#define BLOCKSCALE_LIB_RUNTIME_CUDAERRORRECORD_H

#include "blockscale/Runtime/CudaContext.h"
#include "blockscale/Runtime/ErrorRecord.h"

#include <atomic>
#include <mutex>

namespace blockscale::runtime {

class CudaErrorRecord {
public:
  /// The record of a GPU, one for all who open that. It has no memory before a
  /// module is connected.
  static std::shared_ptr<CudaErrorRecord>
  find(std::shared_ptr<const CudaDriver> driver, int device);
  CudaErrorRecord(const CudaErrorRecord &) = delete;
  CudaErrorRecord &operator=(const CudaErrorRecord &) = delete;
  /// The context of the GPU must be current.
  ~CudaErrorRecord();

  Status connect(const CudaContext &context, void *module);
  Status take(const CudaContext &context, bool mayCopy);

private:
  explicit CudaErrorRecord(std::shared_ptr<const CudaDriver> driver)
      : driver(std::move(driver)) {}
  Status allocate(const CudaContext &context);
  bool allocateOnHost();
  Result<ErrorRecord> readAndClear(const CudaContext &context);

  std::shared_ptr<const CudaDriver> driver;
  std::mutex mutex;
  /// Where the host reads it; null before there is memory, and where that is
  /// the GPU's.
  std::atomic<ErrorRecord *> onHost = nullptr;
  /// Where kernels write it; 0 before there is memory.
  std::atomic<uint64_t> onDevice = 0;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_CUDAERRORRECORD_H

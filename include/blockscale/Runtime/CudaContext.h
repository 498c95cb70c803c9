//===- CudaContext.h - A GPU, through its driver ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_CUDACONTEXT_H
#define BLOCKSCALE_RUNTIME_CUDACONTEXT_H

#include "blockscale/Runtime/ChipMatch.h"

#include <cstdint>
#include <memory>

namespace blockscale::runtime {

struct CudaDriver;
class CudaErrorRecord;

/// The primary context of a device, which the CUDA runtime and what is built
/// on it use, too. Any thread may use it.
class CudaContext {
public:
  /// `library` is that of the driver; where it is empty, $BLOCKSCALE_LIBCUDA,
  /// and where there is none, libcuda.so.1 from where it usually is.
  static Result<std::shared_ptr<const CudaContext>>
  open(int ordinal = 0, const std::string &library = {});
  CudaContext(const CudaContext &) = delete;
  CudaContext &operator=(const CudaContext &) = delete;
  ~CudaContext();

  /// Makes the context the thread's current one while it lives.
  class Scope {
  public:
    explicit Scope(const CudaContext &context);
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;
    ~Scope();
    const Status &getStatus() const { return status; }

  private:
    const CudaContext &context;
    Status status;
  };

  const CudaDriver &getDriver() const { return *driver; }
  /// The name of the GPU, as "NVIDIA H200".
  const std::string &getName() const { return name; }
  ComputeCapability getCapability() const { return capability; }
  /// The driver's version as it gives it: 13000 for CUDA 13.0.
  int getDriverVersion() const;
  /// The most bytes of shared memory that a block can have.
  int getMaxSharedBytes() const { return maxSharedBytes; }
  int getMultiprocessors() const { return multiprocessors; }
  /// The GPU as messages name it: "NVIDIA H200 (compute capability 9.0)".
  std::string describe() const;

  /// Memory at a multiple of 256; 0 for no bytes. `what` is for the message.
  Result<uint64_t> allocate(uint64_t bytes, const std::string &what) const;
  /// Errors are not told: there is nothing to be done.
  void release(uint64_t address) const;
  Status fill(uint64_t address, uint8_t value, uint64_t bytes) const;
  /// What they return after, has been done.
  Status upload(uint64_t to, const uint8_t *from, uint64_t bytes) const;
  Status download(uint8_t *to, uint64_t from, uint64_t bytes) const;
  /// Waits for the work on a stream; null is the default stream.
  Status synchronize(void *stream) const;

  /// Makes the kernels of a module that was loaded write the errors that they
  /// find to the record of the GPU. Modules without such kernels are left
  /// alone.
  Status connectErrors(void *module) const;
  /// The error that kernels of this process found first on the GPU since one
  /// was taken last. What was launched must have been waited for to be told for
  /// sure. Unless `mayCopy`, it is told only where that takes no copy and no
  /// wait, which is so with nearly all drivers.
  Status takeError(bool mayCopy) const;

private:
  CudaContext() = default;
  Status initialize(int ordinal);

  std::shared_ptr<const CudaDriver> driver;
  int device = 0;
  void *context = nullptr;
  std::string name;
  ComputeCapability capability;
  int maxSharedBytes = 0;
  int multiprocessors = 0;
  std::shared_ptr<CudaErrorRecord> errors;
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_CUDACONTEXT_H

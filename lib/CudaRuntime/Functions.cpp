//===- Functions.cpp - Attributes of kernels, occupancy -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Registers are not modelled, nor how multiprocessors are grouped, so occupancy
// is what threads and shared memory allow, which is at least that of hardware.
//
//===----------------------------------------------------------------------===//

#include "DeviceLimits.h"
#include "Kernels.h"
#include "Status.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace blockscale::emulator;

namespace blockscale::cuda {

/// The kernel of a symbol, and its code; null after an error.
static const ProgramFunction *find(Session &session, const void *symbol,
                                   llvm::StringRef function, Kernel *&kernel,
                                   Error &error) {
  kernel = findKernel(symbol);
  if (kernel)
    return loadKernel(session, *kernel, function, error);
  error = fail(function, Error::InvalidDeviceFunction,
               "expected a kernel that the program registered");
  return nullptr;
}

/// The most threads of a block, by the kernel's .maxntid.
static int getMaxThreads(const ProgramFunction &code) {
  const PerformanceDirective *limit = code.function->getDirective("maxntid");
  if (!limit)
    return kMaxThreads;
  uint64_t threads = 1;
  for (uint64_t value : limit->values)
    threads *= value;
  return static_cast<int>(std::min<uint64_t>(threads, kMaxThreads));
}

/// Blocks that fit into a multiprocessor at once, by threads and shared memory.
static int getResidentBlocks(const ProgramFunction &code, int threads,
                             uint64_t dynamicSharedBytes) {
  uint64_t shared =
      code.staticSharedBytes + dynamicSharedBytes + kReservedSharedBytes;
  if (threads < 1 || threads > getMaxThreads(code) ||
      shared > kSharedBytesOptIn + kReservedSharedBytes)
    return 0;
  uint64_t warps = (threads + kWarpSize - 1) / kWarpSize;
  uint64_t byThreads = kMaxThreadsOfMultiprocessor / (warps * kWarpSize);
  uint64_t byShared = kSharedBytesOfMultiprocessor / shared;
  return static_cast<int>(
      std::min({byThreads, byShared, uint64_t(kMaxBlocksOfMultiprocessor)}));
}

extern "C" {

Error cudaFuncSetAttribute(const void *symbol, FunctionAttribute attribute,
                           int value) {
  constexpr llvm::StringLiteral kName = "cudaFuncSetAttribute";
  Session &session = getSession();
  std::lock_guard<std::mutex> lock(session.mutex);
  Kernel *kernel = nullptr;
  Error error = Error::Success;
  const ProgramFunction *code = find(session, symbol, kName, kernel, error);
  if (!code)
    return error;
  switch (attribute) {
  case FunctionAttribute::MaxDynamicSharedBytes: {
    int64_t limit = int64_t(kSharedBytesOptIn) - code->staticSharedBytes;
    if (value < 0 || value > limit)
      return fail(kName, Error::InvalidValue,
                  llvm::formatv("expected at most {0} bytes of dynamic shared "
                                "memory for kernel '{1}', but got {2}",
                                limit, kernel->name, value)
                      .str());
    kernel->maxDynamicSharedBytes = value;
    return Error::Success;
  }
  case FunctionAttribute::NonPortableCluster:
    kernel->allowsNonPortableCluster = value != 0;
    return Error::Success;
  case FunctionAttribute::SharedCarveout:
  case FunctionAttribute::ClusterPolicy:
    return Error::Success;
  }
  return failNotModelled(kName, "attribute " +
                                    llvm::Twine(static_cast<int>(attribute)));
}

Error cudaFuncGetAttributes(FunctionAttributes *attributes,
                            const void *symbol) {
  Session &session = getSession();
  std::lock_guard<std::mutex> lock(session.mutex);
  Kernel *kernel = nullptr;
  Error error = Error::Success;
  const ProgramFunction *code =
      find(session, symbol, "cudaFuncGetAttributes", kernel, error);
  if (!code)
    return error;
  *attributes = {};
  attributes->sharedBytes = code->staticSharedBytes;
  attributes->localBytes = code->localBytes;
  attributes->maxThreads = getMaxThreads(*code);
  attributes->registers = kRegistersOfThread;
  int version = session.capability.major * 10 + session.capability.minor;
  attributes->ptxVersion = version;
  attributes->binaryVersion = version;
  attributes->maxDynamicSharedBytes =
      static_cast<int>(kernel->maxDynamicSharedBytes);
  attributes->allowsNonPortableCluster = kernel->allowsNonPortableCluster;
  return Error::Success;
}

Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *symbol, int threads, size_t sharedBytes,
    unsigned /*flags*/) {
  Session &session = getSession();
  std::lock_guard<std::mutex> lock(session.mutex);
  Kernel *kernel = nullptr;
  Error error = Error::Success;
  const ProgramFunction *code =
      find(session, symbol, "cudaOccupancyMaxActiveBlocksPerMultiprocessor",
           kernel, error);
  if (!code)
    return error;
  *blocks = getResidentBlocks(*code, threads, sharedBytes);
  return Error::Success;
}

Error cudaOccupancyMaxActiveBlocksPerMultiprocessor(int *blocks,
                                                    const void *symbol,
                                                    int threads,
                                                    size_t sharedBytes) {
  return cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
      blocks, symbol, threads, sharedBytes, /*flags=*/0);
}

Error cudaOccupancyMaxActiveClusters(int *clusters, const void *symbol,
                                     const LaunchConfig *config) {
  Session &session = getSession();
  std::lock_guard<std::mutex> lock(session.mutex);
  Kernel *kernel = nullptr;
  Error error = Error::Success;
  const ProgramFunction *code =
      find(session, symbol, "cudaOccupancyMaxActiveClusters", kernel, error);
  if (!code)
    return error;
  uint64_t ctas = 1;
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (config->attributes[i].id == LaunchAttributeId::Cluster) {
      const Extent &extent = config->attributes[i].value.extent;
      ctas = uint64_t(extent.x) * extent.y * extent.z;
    }
  if (ctas == 0 || ctas > kMaxCluster)
    return fail("cudaOccupancyMaxActiveClusters", Error::InvalidClusterSize,
                llvm::formatv("expected 1 to {0} CTAs in a cluster, but got "
                              "{1}",
                              kMaxCluster, ctas)
                    .str());
  uint64_t threads =
      uint64_t(config->block.x) * config->block.y * config->block.z;
  uint64_t blocks = getResidentBlocks(
      *code, static_cast<int>(std::min<uint64_t>(threads, kMaxThreads + 1)),
      config->dynamicSharedBytes);
  *clusters = static_cast<int>(session.multiprocessors * blocks / ctas);
  return Error::Success;
}

} // extern "C"

} // namespace blockscale::cuda

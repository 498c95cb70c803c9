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
static int getResidentBlocks(const KernelCall &call, int threads,
                             uint64_t dynamicSharedBytes) {
  const target::MultiprocessorLimits &limits = call.session.limits;
  uint64_t shared =
      call.code->staticSharedBytes + dynamicSharedBytes + limits.kReservedBytes;
  if (threads < 1 || threads > getMaxThreads(*call.code) ||
      shared > uint64_t(limits.sharedBytes))
    return 0;
  uint64_t warps = (threads + kWarpSize - 1) / kWarpSize;
  uint64_t byThreads = limits.threads / (warps * kWarpSize);
  uint64_t byShared = limits.sharedBytes / shared;
  return static_cast<int>(
      std::min({byThreads, byShared, uint64_t(limits.blocks)}));
}

/// The sizes of the clusters that the kernel was compiled for; zeros where it
/// runs in any.
static void setRequiredCluster(const ProgramFunction &code,
                               FunctionAttributes &attributes) {
  if (std::optional<Dim3> required = getRequiredCluster(code))
    llvm::copy(*required, attributes.requiredCluster);
  attributes.mustSetCluster =
      code.function->getDirective("explicitcluster") != nullptr;
}

static FunctionAttributes describe(const KernelCall &call) {
  FunctionAttributes attributes = {};
  attributes.sharedBytes = call.code->staticSharedBytes;
  attributes.localBytes = call.code->localBytes;
  attributes.maxThreads = getMaxThreads(*call.code);
  attributes.registers = kRegistersOfThread;
  runtime::ComputeCapability capability = call.session.capability;
  int version = capability.major * 10 + capability.minor;
  attributes.ptxVersion = version;
  attributes.binaryVersion = version;
  attributes.maxDynamicSharedBytes =
      static_cast<int>(call.kernel->maxDynamicSharedBytes);
  // The driver chooses it.
  attributes.sharedCarveout = -1;
  setRequiredCluster(*call.code, attributes);
  attributes.allowsNonPortableCluster = call.kernel->allowsNonPortableCluster;
  return attributes;
}

static Error set(llvm::StringRef function, const void *symbol,
                 FunctionAttribute attribute, int value) {
  KernelCall call(function, symbol);
  if (call.error != Error::Success)
    return call.error;
  switch (attribute) {
  case FunctionAttribute::MaxDynamicSharedBytes: {
    int64_t limit = int64_t(call.session.limits.getSharedBytesOfBlock()) -
                    call.code->staticSharedBytes;
    if (value < 0 || value > limit)
      return fail(function, Error::InvalidValue,
                  llvm::formatv("expected at most {0} bytes of dynamic shared "
                                "memory for kernel '{1}', but got {2}",
                                limit, call.kernel->name, value)
                      .str());
    call.kernel->maxDynamicSharedBytes = value;
    return Error::Success;
  }
  case FunctionAttribute::NonPortableCluster:
    call.kernel->allowsNonPortableCluster = value != 0;
    return Error::Success;
  case FunctionAttribute::SharedCarveout:
  case FunctionAttribute::ClusterPolicy:
    return Error::Success;
  default:
    return failNotModelled(function,
                           "to set attribute " +
                               llvm::Twine(static_cast<int>(attribute)));
  }
}

static std::optional<size_t> find(const FunctionAttributes &attributes,
                                  FunctionAttribute attribute) {
  switch (attribute) {
  case FunctionAttribute::MaxThreads:
    return attributes.maxThreads;
  case FunctionAttribute::SharedBytes:
    return attributes.sharedBytes;
  case FunctionAttribute::ConstBytes:
    return attributes.constBytes;
  case FunctionAttribute::LocalBytes:
    return attributes.localBytes;
  case FunctionAttribute::Registers:
    return attributes.registers;
  case FunctionAttribute::PtxVersion:
    return attributes.ptxVersion;
  case FunctionAttribute::BinaryVersion:
    return attributes.binaryVersion;
  case FunctionAttribute::CacheMode:
    return attributes.cacheMode;
  case FunctionAttribute::MaxDynamicSharedBytes:
    return attributes.maxDynamicSharedBytes;
  case FunctionAttribute::SharedCarveout:
    return attributes.sharedCarveout;
  case FunctionAttribute::MustSetCluster:
    return attributes.mustSetCluster;
  case FunctionAttribute::RequiredClusterX:
    return attributes.requiredCluster[0];
  case FunctionAttribute::RequiredClusterY:
    return attributes.requiredCluster[1];
  case FunctionAttribute::RequiredClusterZ:
    return attributes.requiredCluster[2];
  case FunctionAttribute::NonPortableCluster:
    return attributes.allowsNonPortableCluster;
  case FunctionAttribute::ClusterPolicy:
    return attributes.clusterPolicy;
  }
  return std::nullopt;
}

extern "C" {

Error cudaFuncSetAttribute(const void *symbol, FunctionAttribute attribute,
                           int value) {
  return set("cudaFuncSetAttribute", symbol, attribute, value);
}

Error cuFuncSetAttribute(Kernel *kernel, FunctionAttribute attribute,
                         int value) {
  return set("cuFuncSetAttribute", kernel, attribute, value);
}

Error cudaFuncGetAttributes(FunctionAttributes *attributes,
                            const void *symbol) {
  KernelCall call("cudaFuncGetAttributes", symbol);
  if (call.error == Error::Success)
    *attributes = describe(call);
  return call.error;
}

Error cuFuncGetAttribute(int *value, FunctionAttribute attribute,
                         Kernel *kernel) {
  KernelCall call("cuFuncGetAttribute", kernel);
  if (call.error != Error::Success)
    return call.error;
  std::optional<size_t> found = find(describe(call), attribute);
  if (!found)
    return failNotModelled(
        call.function, "attribute " + llvm::Twine(static_cast<int>(attribute)));
  *value = static_cast<int>(*found);
  return Error::Success;
}

Error cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
    int *blocks, const void *symbol, int threads, size_t sharedBytes,
    unsigned /*flags*/) {
  KernelCall call("cudaOccupancyMaxActiveBlocksPerMultiprocessor", symbol);
  if (call.error == Error::Success)
    *blocks = getResidentBlocks(call, threads, sharedBytes);
  return call.error;
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
  KernelCall call("cudaOccupancyMaxActiveClusters", symbol);
  if (call.error != Error::Success)
    return call.error;
  uint64_t ctas = 1;
  for (unsigned i = 0; i < config->attributeCount; ++i)
    if (config->attributes[i].id == LaunchAttributeId::Cluster) {
      const Extent &extent = config->attributes[i].value.extent;
      ctas = uint64_t(extent.x) * extent.y * extent.z;
    }
  if (ctas == 0 || ctas > kMaxCluster)
    return fail(call.function, Error::InvalidClusterSize,
                llvm::formatv("expected 1 to {0} CTAs in a cluster, but got "
                              "{1}",
                              kMaxCluster, ctas)
                    .str());
  uint64_t threads =
      uint64_t(config->block.x) * config->block.y * config->block.z;
  uint64_t blocks = getResidentBlocks(
      call, static_cast<int>(std::min<uint64_t>(threads, kMaxThreads + 1)),
      config->dynamicSharedBytes);
  *clusters = static_cast<int>(call.session.multiprocessors * blocks / ctas);
  return Error::Success;
}

} // extern "C"

} // namespace blockscale::cuda

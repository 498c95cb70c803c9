//===- Abi.h - Types of CUDA ------------------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What programs pass to the functions of the runtime and of the driver and get
// from them, laid out as the documentation of CUDA 13 says, for x86-64 and
// AArch64. Handles (streams, events, kernels, modules) are pointers to classes
// of this library.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CUDARUNTIME_ABI_H
#define BLOCKSCALE_LIB_CUDARUNTIME_ABI_H

#include <cstddef>
#include <cstdint>

namespace blockscale::cuda {

/// The codes that the functions here return: cudaError_t, and CUresult, which
/// has the same numbers for the errors that both have.
enum class Error : int {
#define BLOCKSCALE_CUDA_ERROR(NAME, CODE, DRIVER_NAME, TEXT) NAME = CODE,
#define BLOCKSCALE_CUDA_RUNTIME_ERROR(NAME, CODE, DRIVER, TEXT) NAME = CODE,
#include "Errors.def"
};

/// dim3.
struct Extent {
  uint32_t x, y, z;
};

/// cudaMemcpyKind.
enum class CopyKind : int {
  HostToHost,
  HostToDevice,
  DeviceToHost,
  DeviceToDevice,
  Default
};

/// cudaMemoryType.
enum class MemoryType : int { Unregistered, Host, Device };

/// cudaPointerAttributes.
struct PointerAttributes {
  MemoryType type;
  int device;
  void *devicePointer;
  void *hostPointer;
  long reserved[8];
};

/// cudaFuncAttributes.
struct FunctionAttributes {
  size_t sharedBytes;
  size_t constBytes;
  size_t localBytes;
  int maxThreads;
  int registers;
  int ptxVersion;
  int binaryVersion;
  int cacheMode;
  int maxDynamicSharedBytes;
  int sharedCarveout;
  int mustSetCluster;
  int requiredCluster[3];
  int clusterPolicy;
  int allowsNonPortableCluster;
  int reserved[16];
};

/// CUfunction_attribute; cudaFuncAttribute has those that can be set.
enum class FunctionAttribute : int {
  MaxThreads = 0,
  SharedBytes = 1,
  ConstBytes = 2,
  LocalBytes = 3,
  Registers = 4,
  PtxVersion = 5,
  BinaryVersion = 6,
  CacheMode = 7,
  MaxDynamicSharedBytes = 8,
  SharedCarveout = 9,
  MustSetCluster = 10,
  RequiredClusterX = 11,
  RequiredClusterY = 12,
  RequiredClusterZ = 13,
  NonPortableCluster = 14,
  ClusterPolicy = 15,
};

/// cudaLaunchAttributeID and CUlaunchAttributeID, those that have a meaning
/// here.
enum class LaunchAttributeId : int {
  Ignore = 0,
  AccessPolicy = 1,
  Cooperative = 2,
  Cluster = 4,
  ClusterPolicy = 5,
  ProgrammaticSerialization = 6,
  Priority = 8,
  PreferredCluster = 11,
  SharedCarveout = 14,
};

/// cudaLaunchAttribute and CUlaunchAttribute.
struct LaunchAttribute {
  LaunchAttributeId id;
  uint32_t padding;
  union {
    Extent extent;
    int number;
    uint64_t bytes[8];
  } value;
};

/// cudaLaunchConfig_t.
struct LaunchConfig {
  Extent grid;
  Extent block;
  size_t dynamicSharedBytes;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// CUlaunchConfig.
struct DriverLaunchConfig {
  Extent grid;
  Extent block;
  unsigned dynamicSharedBytes;
  void *stream;
  const LaunchAttribute *attributes;
  unsigned attributeCount;
};

/// CUjit_option, those that have a meaning here.
enum class JitOption : int {
  InfoLog = 3,
  InfoLogBytes = 4,
  ErrorLog = 5,
  ErrorLogBytes = 6,
};

/// cudaDeviceProp of CUDA 13. What is not named is zero.
struct DeviceProperties {
  char name[256];
  char uuid[16];
  char luid[8];
  unsigned luidNodeMask;
  size_t globalBytes;
  size_t sharedBytesOfBlock;
  int registersOfBlock;
  int warpSize;
  size_t maxPitch;
  int maxThreads;
  int maxBlock[3];
  int maxGrid[3];
  size_t constBytes;
  int major;
  int minor;
  size_t textureAlignment;
  size_t texturePitchAlignment;
  int multiprocessors;
  int isIntegrated;
  int canMapHostMemory;
  int textures[39];
  size_t surfaceAlignment;
  int concurrentKernels;
  int hasEcc;
  int pciBus;
  int pciDevice;
  int pciDomain;
  int tccDriver;
  int asyncEngines;
  int unifiedAddressing;
  int busBits;
  int l2Bytes;
  int persistingL2Bytes;
  int maxThreadsOfMultiprocessor;
  int hasStreamPriorities;
  int cachesGlobals;
  int cachesLocals;
  size_t sharedBytesOfMultiprocessor;
  int registersOfMultiprocessor;
  int managedMemory;
  int boards[2];
  int hostAtomics;
  int pageableAccess;
  int concurrentManagedAccess;
  int preemption;
  int hostPointersOfRegistered;
  int cooperativeLaunch;
  size_t sharedBytesOptIn;
  int pageTables;
  int directManagedAccess;
  int maxBlocksOfMultiprocessor;
  int accessPolicyBytes;
  size_t reservedSharedBytes;
  int others[11];
  int clusterLaunch;
  int unifiedFunctionPointers;
  int tail[7 + 56];
};
static_assert(sizeof(DeviceProperties) == 1008 &&
                  offsetof(DeviceProperties, multiprocessors) == 384 &&
                  offsetof(DeviceProperties, sharedBytesOfMultiprocessor) ==
                      624 &&
                  offsetof(DeviceProperties, sharedBytesOptIn) == 672 &&
                  offsetof(DeviceProperties, clusterLaunch) == 748,
              "the layout of CUDA 13");

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_ABI_H

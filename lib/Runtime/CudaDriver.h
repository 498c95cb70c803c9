//===- CudaDriver.h - Functions of libcuda ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The part of NVIDIA's driver API that runs plans, found by dlopen: neither
// headers nor libraries of CUDA are needed to build, nor a driver to start.
// Types and numbers are those of the API's binary interface.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_RUNTIME_CUDADRIVER_H
#define BLOCKSCALE_LIB_RUNTIME_CUDADRIVER_H

#include "blockscale/Runtime/Result.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <type_traits>

namespace blockscale::runtime {

/// CUresult, where it is looked at.
enum CudaResult : int {
  kCudaSuccess = 0,
  kCudaOutOfMemory = 2,
  kCudaNoDevice = 100,
  kCudaInvalidDevice = 101,
  kCudaInvalidPtx = 218,
  kCudaUnsupportedPtxVersion = 222,
  kCudaNotFound = 500,
};

/// CUdevice_attribute.
inline constexpr int kCudaMultiprocessors = 16;
inline constexpr int kCudaCapabilityMajor = 75;
inline constexpr int kCudaCapabilityMinor = 76;
inline constexpr int kCudaMaxSharedBytes = 97; // a block may opt in to
/// CUfunction_attribute.
inline constexpr int kCudaStaticSharedBytes = 1;
inline constexpr int kCudaMaxDynamicSharedBytes = 8;
inline constexpr int kCudaAnyClusterSize = 14;
/// CUjit_option.
inline constexpr int kCudaErrorLog = 5;
inline constexpr int kCudaErrorLogBytes = 6;
/// CUlaunchAttributeID.
inline constexpr int kCudaClusterDimension = 4;
inline constexpr int kCudaProgrammaticSerialization = 6;

/// CUlaunchAttribute, of whose values a cluster's dimensions are used, and
/// whether a launch is programmatic.
struct CudaLaunchAttribute {
  int id;
  char pad[4];
  union {
    unsigned cluster[3];
    int isProgrammatic;
    char bytes[64];
  };
};

/// CUlaunchConfig.
struct CudaLaunchConfig {
  unsigned grid[3];
  unsigned block[3];
  unsigned sharedBytes;
  void *stream;
  CudaLaunchAttribute *attributes;
  unsigned numAttributes;
};

/// CUtensorMap.
struct alignas(64) CudaTensorMap {
  uint8_t bytes[128];
};

struct CudaDriver {
  /// Loads `library`; where that is empty, $BLOCKSCALE_LIBCUDA, and where there
  /// is none, libcuda.so.1 from where it usually is. Initializes the driver.
  static Result<std::shared_ptr<const CudaDriver>>
  load(const std::string &library);

  /// Whether it can capture work into graphs and replay it.
  bool hasGraphs() const;

  /// Success, or a failure that says what failed and names the driver's error.
  Status check(int result, const std::string &what) const;
  /// The same with what `describe` gives, which takes long and is not called
  /// where nothing failed.
  template <typename Describe>
  std::enable_if_t<std::is_invocable_v<Describe>, Status>
  check(int result, Describe describe) const {
    return result == kCudaSuccess ? Status::success()
                                  : check(result, std::string(describe()));
  }
  /// "CUDA 13.0", the newest that the driver supports.
  std::string formatVersion() const;

  /// The version as cuDriverGetVersion gives it: 13000.
  int version = 0;

  // The driver's names, in its order of arguments.
  int (*cuInit)(unsigned flags);
  int (*cuDriverGetVersion)(int *version);
  int (*cuGetErrorName)(int result, const char **text);
  int (*cuGetErrorString)(int result, const char **text);
  int (*cuDeviceGetCount)(int *count);
  int (*cuDeviceGet)(int *device, int ordinal);
  int (*cuDeviceGetName)(char *name, int size, int device);
  int (*cuDeviceGetAttribute)(int *value, int attribute, int device);
  int (*cuDevicePrimaryCtxRetain)(void **context, int device);
  int (*cuDevicePrimaryCtxRelease)(int device);
  int (*cuCtxPushCurrent)(void *context);
  int (*cuCtxPopCurrent)(void **context);
  int (*cuCtxSynchronize)();
  int (*cuMemAlloc)(uint64_t *address, size_t bytes);
  int (*cuMemFree)(uint64_t address);
  int (*cuMemHostAlloc)(void **memory, size_t bytes, unsigned flags);
  int (*cuMemHostGetDevicePointer)(uint64_t *address, void *memory,
                                   unsigned flags);
  int (*cuMemFreeHost)(void *memory);
  int (*cuMemsetD8)(uint64_t address, unsigned char value, size_t bytes);
  int (*cuMemcpyHtoD)(uint64_t to, const void *from, size_t bytes);
  int (*cuMemcpyDtoH)(void *to, uint64_t from, size_t bytes);
  int (*cuMemcpyDtoDAsync)(uint64_t to, uint64_t from, size_t bytes,
                           void *stream);
  int (*cuModuleLoadDataEx)(void **module, const void *image, unsigned count,
                            int *options, void **values);
  int (*cuModuleUnload)(void *module);
  int (*cuModuleGetFunction)(void **function, void *module, const char *name);
  int (*cuModuleGetGlobal)(uint64_t *address, size_t *bytes, void *module,
                           const char *name);
  int (*cuFuncGetAttribute)(int *value, int attribute, void *function);
  int (*cuFuncSetAttribute)(void *function, int attribute, int value);
  int (*cuLaunchKernel)(void *function, unsigned gridX, unsigned gridY,
                        unsigned gridZ, unsigned blockX, unsigned blockY,
                        unsigned blockZ, unsigned sharedBytes, void *stream,
                        void **parameters, void **extra);
  int (*cuStreamCreate)(void **stream, unsigned flags);
  int (*cuStreamDestroy)(void *stream);
  int (*cuStreamSynchronize)(void *stream);
  int (*cuEventCreate)(void **event, unsigned flags);
  int (*cuEventDestroy)(void *event);
  int (*cuEventRecord)(void *event, void *stream);
  int (*cuEventSynchronize)(void *event);
  int (*cuEventElapsedTime)(float *milliseconds, void *start, void *end);
  // Null where the driver is older than these.
  int (*cuMemsetD8Async)(uint64_t address, unsigned char value, size_t bytes,
                         void *stream);
  int (*cuStreamBeginCapture)(void *stream, int mode);
  int (*cuStreamEndCapture)(void *stream, void **graph);
  int (*cuGraphInstantiateWithFlags)(void **executable, void *graph,
                                     unsigned long long flags);
  int (*cuGraphLaunch)(void *executable, void *stream);
  int (*cuGraphExecDestroy)(void *executable);
  int (*cuGraphDestroy)(void *graph);
  int (*cuLaunchKernelEx)(const CudaLaunchConfig *config, void *function,
                          void **parameters, void **extra);
  int (*cuTensorMapEncodeTiled)(CudaTensorMap *map, int element, unsigned rank,
                                void *address, const uint64_t *dims,
                                const uint64_t *strides, const uint32_t *box,
                                const uint32_t *elementStrides, int interleave,
                                int swizzle, int l2Promotion, int fill);
};

} // namespace blockscale::runtime

#endif // BLOCKSCALE_LIB_RUNTIME_CUDADRIVER_H

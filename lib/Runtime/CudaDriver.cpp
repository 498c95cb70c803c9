//===- CudaDriver.cpp - Functions of libcuda ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaDriver.h"

#include <cstdlib>
#include <dlfcn.h>
#include <vector>

using namespace blockscale::runtime;

static constexpr const char *kLibraryVariable = "BLOCKSCALE_LIBCUDA";

/// Where libcuda is: on the loader's path, or where containers mount it.
static std::vector<std::string> getLibraries(const std::string &library) {
  if (!library.empty())
    return {library};
  const char *variable = std::getenv(kLibraryVariable);
  if (variable && *variable)
    return {variable};
  return {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1",
          "/usr/lib/wsl/lib/libcuda.so.1"};
}

static Result<void *> openLibrary(const std::string &library) {
  std::string tried;
  for (const std::string &name : getLibraries(library)) {
    // The library is never closed: a driver's threads outlive its users.
    if (void *handle = dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL))
      return handle;
    const char *error = dlerror();
    tried += (tried.empty() ? "" : ", ") + name + " (" +
             (error ? error : "no reason given") + ")";
  }
  return Status::failure("expected the library of a CUDA driver, but none "
                         "could be loaded: tried " +
                             tried,
                         ErrorKind::NoDriver);
}

namespace {
struct Symbol {
  /// The name as the library exports it: _v2 for what once had smaller types.
  const char *name;
  void **slot;
};
} // namespace

/// Pointers to functions and to objects are one, as dlsym needs them to be.
template <typename Function>
static void **toSlot(Function *&function) {
  return reinterpret_cast<void **>(&function);
}

static std::vector<Symbol> getSymbols(CudaDriver &driver) {
  return {{"cuInit", toSlot(driver.cuInit)},
          {"cuDriverGetVersion", toSlot(driver.cuDriverGetVersion)},
          {"cuGetErrorName", toSlot(driver.cuGetErrorName)},
          {"cuGetErrorString", toSlot(driver.cuGetErrorString)},
          {"cuDeviceGetCount", toSlot(driver.cuDeviceGetCount)},
          {"cuDeviceGet", toSlot(driver.cuDeviceGet)},
          {"cuDeviceGetName", toSlot(driver.cuDeviceGetName)},
          {"cuDeviceGetAttribute", toSlot(driver.cuDeviceGetAttribute)},
          {"cuDevicePrimaryCtxRetain", toSlot(driver.cuDevicePrimaryCtxRetain)},
          {"cuDevicePrimaryCtxRelease_v2",
           toSlot(driver.cuDevicePrimaryCtxRelease)},
          {"cuCtxPushCurrent_v2", toSlot(driver.cuCtxPushCurrent)},
          {"cuCtxPopCurrent_v2", toSlot(driver.cuCtxPopCurrent)},
          {"cuCtxSynchronize", toSlot(driver.cuCtxSynchronize)},
          {"cuMemAlloc_v2", toSlot(driver.cuMemAlloc)},
          {"cuMemFree_v2", toSlot(driver.cuMemFree)},
          {"cuMemHostAlloc", toSlot(driver.cuMemHostAlloc)},
          {"cuMemHostGetDevicePointer_v2",
           toSlot(driver.cuMemHostGetDevicePointer)},
          {"cuMemFreeHost", toSlot(driver.cuMemFreeHost)},
          {"cuMemsetD8_v2", toSlot(driver.cuMemsetD8)},
          {"cuMemcpyHtoD_v2", toSlot(driver.cuMemcpyHtoD)},
          {"cuMemcpyDtoH_v2", toSlot(driver.cuMemcpyDtoH)},
          {"cuMemcpyDtoDAsync_v2", toSlot(driver.cuMemcpyDtoDAsync)},
          {"cuModuleLoadDataEx", toSlot(driver.cuModuleLoadDataEx)},
          {"cuModuleUnload", toSlot(driver.cuModuleUnload)},
          {"cuModuleGetFunction", toSlot(driver.cuModuleGetFunction)},
          {"cuModuleGetGlobal_v2", toSlot(driver.cuModuleGetGlobal)},
          {"cuFuncGetAttribute", toSlot(driver.cuFuncGetAttribute)},
          {"cuFuncSetAttribute", toSlot(driver.cuFuncSetAttribute)},
          {"cuLaunchKernel", toSlot(driver.cuLaunchKernel)},
          {"cuStreamCreate", toSlot(driver.cuStreamCreate)},
          {"cuStreamDestroy_v2", toSlot(driver.cuStreamDestroy)},
          {"cuStreamSynchronize", toSlot(driver.cuStreamSynchronize)},
          {"cuEventCreate", toSlot(driver.cuEventCreate)},
          {"cuEventDestroy_v2", toSlot(driver.cuEventDestroy)},
          {"cuEventRecord", toSlot(driver.cuEventRecord)},
          {"cuEventSynchronize", toSlot(driver.cuEventSynchronize)},
          {"cuEventElapsedTime", toSlot(driver.cuEventElapsedTime)}};
}

/// Those that only timing needs.
static std::vector<Symbol> getGraphSymbols(CudaDriver &driver) {
  return {{"cuMemsetD8Async", toSlot(driver.cuMemsetD8Async)},
          {"cuStreamBeginCapture_v2", toSlot(driver.cuStreamBeginCapture)},
          {"cuStreamEndCapture", toSlot(driver.cuStreamEndCapture)},
          {"cuGraphInstantiateWithFlags",
           toSlot(driver.cuGraphInstantiateWithFlags)},
          {"cuGraphLaunch", toSlot(driver.cuGraphLaunch)},
          {"cuGraphExecDestroy", toSlot(driver.cuGraphExecDestroy)},
          {"cuGraphDestroy", toSlot(driver.cuGraphDestroy)}};
}

static void *find(void *library, const Symbol &symbol) {
  *symbol.slot = dlsym(library, symbol.name);
  return *symbol.slot;
}

Result<std::shared_ptr<const CudaDriver>>
CudaDriver::load(const std::string &library) {
  Result<void *> handle = openLibrary(library);
  if (!handle.ok())
    return handle.status();
  auto driver = std::make_shared<CudaDriver>();
  for (const Symbol &symbol : getSymbols(*driver))
    if (!find(*handle, symbol))
      return Status::failure("expected the CUDA driver's library to have " +
                                 std::string(symbol.name) + ", but it has not",
                             ErrorKind::NoDriver);
  find(*handle, {"cuLaunchKernelEx", toSlot(driver->cuLaunchKernelEx)});
  for (const Symbol &symbol : getGraphSymbols(*driver))
    find(*handle, symbol);
  find(*handle,
       {"cuTensorMapEncodeTiled", toSlot(driver->cuTensorMapEncodeTiled)});
  Status status = driver->check(driver->cuInit(0), "cuInit");
  if (status.ok())
    status = driver->check(driver->cuDriverGetVersion(&driver->version),
                           "cuDriverGetVersion");
  if (!status.ok())
    return status;
  return std::shared_ptr<const CudaDriver>(std::move(driver));
}

static ErrorKind getKind(int result) {
  switch (result) {
  case kCudaOutOfMemory:
    return ErrorKind::OutOfMemory;
  case kCudaNoDevice:
  case kCudaInvalidDevice:
    return ErrorKind::NoDevice;
  default:
    return ErrorKind::Driver;
  }
}

Status CudaDriver::check(int result, const std::string &what) const {
  if (result == kCudaSuccess)
    return Status::success();
  const char *name = nullptr;
  const char *text = nullptr;
  cuGetErrorName(result, &name);
  cuGetErrorString(result, &text);
  std::string message = what + ": ";
  message += name ? name : "error " + std::to_string(result);
  if (text)
    message += " (" + std::string(text) + ")";
  return Status::failure(message, getKind(result));
}

bool CudaDriver::hasGraphs() const {
  return cuMemsetD8Async && cuStreamBeginCapture && cuStreamEndCapture &&
         cuGraphInstantiateWithFlags && cuGraphLaunch && cuGraphExecDestroy &&
         cuGraphDestroy;
}

std::string CudaDriver::formatVersion() const {
  return "CUDA " + std::to_string(version / 1000) + "." +
         std::to_string(version % 1000 / 10);
}

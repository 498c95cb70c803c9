//===- DeviceProperties.cpp - What the device is --------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "DeviceLimits.h"
#include "Status.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

namespace blockscale::cuda {

/// Version 13.0 of CUDA, as cudaRuntimeGetVersion has it.
static constexpr int kRuntimeVersion = 13000;

static std::string getName(const Session &session) {
  return "BlockScale emulator of " + session.chip;
}

static bool hasClusters(const Session &session) {
  return session.capability.major >= 9;
}

/// The numbers of cudaDeviceAttr that have an answer; CUdevice_attribute has
/// the same numbers.
static std::optional<int> getAttribute(const Session &session, int attribute) {
  switch (attribute) {
  case 1:
    return kMaxThreads;
  case 2:
  case 3:
    return kMaxThreads;
  case 4:
    return 64;
  case 5:
    return 0x7FFFFFFF;
  case 6:
  case 7:
    return 0xFFFF;
  case 8:
    return kSharedBytes;
  case 9:
    return kConstBytes;
  case 10:
    return 32;
  case 11:
    return kMaxPitch;
  case 12:
  case 82:
    return kRegisters;
  case 16:
    return session.multiprocessors;
  case 38:
    return kL2Bytes;
  case 39:
    return session.limits.threads;
  case 41: // Unified addresses.
    return 1;
  case 75:
    return session.capability.major;
  case 76:
    return session.capability.minor;
  case 81:
    return session.limits.sharedBytes;
  case 97:
    return session.limits.getSharedBytesOfBlock();
  case 106:
    return session.limits.blocks;
  case 111:
    return session.limits.kReservedBytes;
  case 120:
    return hasClusters(session);
  case 17: // A limit of run time.
  case 18: // An integrated device.
  case 19: // Mapped host memory.
  case 20: // The default compute mode.
  case 83: // Managed memory.
  case 88: // Pageable memory.
  case 89:
  case 95:  // Cooperative launches.
  case 115: // Memory pools.
    return 0;
  default:
    return std::nullopt;
  }
}

static Error getAttribute(llvm::StringRef function, int *value, int attribute,
                          int device) {
  if (Error error = checkDevice(device, function); error != Error::Success)
    return error;
  std::optional<int> found = getAttribute(getSession(), attribute);
  if (!found)
    return failNotModelled(function, "attribute " + llvm::Twine(attribute));
  *value = *found;
  return Error::Success;
}

extern "C" {

Error cudaGetDeviceCount(int *count) {
  *count = 1;
  return Error::Success;
}

Error cudaGetDevice(int *device) {
  *device = 0;
  return Error::Success;
}

Error cudaSetDevice(int device) { return checkDevice(device, "cudaSetDevice"); }

Error cudaDriverGetVersion(int *version) {
  *version = kRuntimeVersion;
  return Error::Success;
}

Error cudaRuntimeGetVersion(int *version) {
  *version = kRuntimeVersion;
  return Error::Success;
}

Error cudaDeviceGetAttribute(int *value, int attribute, int device) {
  return getAttribute("cudaDeviceGetAttribute", value, attribute, device);
}

Error cudaGetDeviceProperties(DeviceProperties *properties, int device) {
  if (Error error = checkDevice(device, "cudaGetDeviceProperties");
      error != Error::Success)
    return error;
  Session &session = getSession();
  *properties = {};
  std::string name = getName(session);
  std::memcpy(properties->name, name.data(),
              std::min(name.size(), sizeof(properties->name) - 1));
  properties->globalBytes = uint64_t(16) << 30;
  properties->sharedBytesOfBlock = kSharedBytes;
  properties->registersOfBlock = kRegisters;
  properties->warpSize = 32;
  properties->maxPitch = kMaxPitch;
  properties->maxThreads = kMaxThreads;
  llvm::copy(std::initializer_list<int>{kMaxThreads, kMaxThreads, 64},
             properties->maxBlock);
  llvm::copy(std::initializer_list<int>{0x7FFFFFFF, 0xFFFF, 0xFFFF},
             properties->maxGrid);
  properties->constBytes = kConstBytes;
  properties->major = session.capability.major;
  properties->minor = session.capability.minor;
  properties->multiprocessors = session.multiprocessors;
  properties->unifiedAddressing = 1;
  properties->l2Bytes = kL2Bytes;
  properties->maxThreadsOfMultiprocessor = session.limits.threads;
  properties->sharedBytesOfMultiprocessor = session.limits.sharedBytes;
  properties->registersOfMultiprocessor = kRegisters;
  properties->sharedBytesOptIn = session.limits.getSharedBytesOfBlock();
  properties->maxBlocksOfMultiprocessor = session.limits.blocks;
  properties->reservedSharedBytes = session.limits.kReservedBytes;
  properties->clusterLaunch = hasClusters(session);
  return Error::Success;
}

// The driver's forms.

Error cuDriverGetVersion(int *version) { return cudaDriverGetVersion(version); }

Error cuDeviceGetCount(int *count) {
  Call call("cuDeviceGetCount", Needs::Driver);
  return call.error == Error::Success ? cudaGetDeviceCount(count) : call.error;
}

Error cuDeviceGet(int *device, int ordinal) {
  Call call("cuDeviceGet", Needs::Driver);
  if (call.error != Error::Success)
    return call.error;
  *device = ordinal;
  return checkDevice(ordinal, call.function);
}

Error cuDeviceGetName(char *text, int size, int device) {
  Call call("cuDeviceGetName", Needs::Driver);
  if (call.error != Error::Success)
    return call.error;
  if (Error error = checkDevice(device, call.function); error != Error::Success)
    return error;
  if (!text || size < 1)
    return fail(call.function, Error::InvalidValue,
                "expected room for 1 character at least");
  std::string name = getName(call.session);
  name.resize(std::min<size_t>(name.size(), size - 1));
  std::memcpy(text, name.c_str(), name.size() + 1);
  return Error::Success;
}

Error cuDeviceGetAttribute(int *value, int attribute, int device) {
  Call call("cuDeviceGetAttribute", Needs::Driver);
  if (call.error != Error::Success)
    return call.error;
  return getAttribute(call.function, value, attribute, device);
}

} // extern "C"

} // namespace blockscale::cuda

//===- Contexts.cpp - The primary context ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The device has one context, its primary one. The driver's users retain it and
// make it current on a thread; the runtime does both by itself, here for all
// threads at once. Its codes are those of NVIDIA's driver 580, also after a
// fault: the context stays broken even when it is retained anew.
//
//===----------------------------------------------------------------------===//

#include "Call.h"
#include "Kernels.h"
#include "Status.h"

namespace blockscale::cuda {

namespace {
/// CUcontext points to it. The address is all there is to it.
struct Context {};
} // namespace

static Context primary;
/// How often the context is on this thread's stack of contexts.
static thread_local unsigned timesPushed = 0;

/// What is missing for a function of the driver.
static Error checkNeeds(const Session &session, llvm::StringRef function,
                        Needs needs) {
  if (!session.isInitialized && !session.isUsedByRuntime)
    return fail(function, Error::InitializationError,
                "expected a call of cuInit before");
  if (needs == Needs::Driver || session.isUsedByRuntime)
    return Error::Success;
  if (timesPushed == 0)
    return fail(function, Error::DeviceUninitialized,
                "expected a context that is current on this thread "
                "(cuCtxPushCurrent)");
  if (session.contextUsers == 0)
    return fail(function, Error::ContextIsDestroyed,
                "expected a context that is retained "
                "(cuDevicePrimaryCtxRetain)");
  return Error::Success;
}

static Error check(Session &session, llvm::StringRef function, Needs needs) {
  bool ofDriver = isOfDriver(function);
  if (!ofDriver)
    session.isUsedByRuntime = true;
  else if (Error error = checkNeeds(session, function, needs);
           error != Error::Success)
    return error;
  if (needs == Needs::Driver)
    return Error::Success;
  return ofDriver ? session.deviceError : setLastError(session.deviceError);
}

Call::Call(llvm::StringRef function, Needs needs)
    : session(getSession()), lock(session.mutex), function(function),
      error(check(session, function, needs)) {}

// The names are those of the driver's library.
// NOLINTBEGIN(readability-identifier-naming)
extern "C" {

Error cuInit(unsigned flags) {
  if (flags != 0)
    return fail("cuInit", Error::InvalidValue,
                "expected flags of 0, but got " + llvm::Twine(flags));
  Session &session = getSession();
  std::lock_guard<std::mutex> lock(session.mutex);
  session.isInitialized = true;
  return Error::Success;
}

Error cuDevicePrimaryCtxRetain(void **context, int device) {
  Call call("cuDevicePrimaryCtxRetain", Needs::Driver);
  if (call.error != Error::Success)
    return call.error;
  if (Error error = checkDevice(device, call.function); error != Error::Success)
    return error;
  if (!context)
    return fail(call.function, Error::InvalidValue,
                "expected a pointer to set");
  if (call.session.contextUsers == 0 &&
      call.session.deviceError != Error::Success)
    return call.session.deviceError;
  ++call.session.contextUsers;
  *context = &primary;
  return Error::Success;
}

Error cuDevicePrimaryCtxRelease_v2(int device) {
  Call call("cuDevicePrimaryCtxRelease", Needs::Driver);
  if (call.error != Error::Success)
    return call.error;
  if (Error error = checkDevice(device, call.function); error != Error::Success)
    return error;
  if (call.session.contextUsers == 0)
    return fail(call.function, Error::DeviceUninitialized,
                "expected a context that was retained");
  // The memory and the modules of a context go with it.
  if (--call.session.contextUsers == 0 && !call.session.isUsedByRuntime) {
    removeModules(call.session);
    call.session.device = emulator::Device();
  }
  return Error::Success;
}

Error cuCtxPushCurrent_v2(void *context) {
  Call call("cuCtxPushCurrent", Needs::Driver);
  if (call.error != Error::Success)
    return call.error;
  if (context != &primary)
    return fail(call.function, Error::InvalidValue,
                "expected what cuDevicePrimaryCtxRetain gave");
  ++timesPushed;
  return Error::Success;
}

Error cuCtxPopCurrent_v2(void **context) {
  Call call("cuCtxPopCurrent", Needs::Driver);
  if (call.error != Error::Success)
    return call.error;
  if (timesPushed == 0)
    return fail(call.function, Error::DeviceUninitialized,
                "expected a context that is current on this thread");
  --timesPushed;
  if (context)
    *context = &primary;
  return Error::Success;
}

} // extern "C"
// NOLINTEND(readability-identifier-naming)

} // namespace blockscale::cuda

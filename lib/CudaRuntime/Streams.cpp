//===- Streams.cpp - Streams and events -----------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Kernels and copies are done when they are called for, so that every order
// that streams and events ask for holds. Times are those of the host.
//
//===----------------------------------------------------------------------===//

#include "Session.h"
#include "Status.h"

#include <chrono>

namespace blockscale::cuda {

namespace {
/// A stream has nothing: what is put into it is done at once.
struct Stream {};

struct Event {
  std::optional<std::chrono::steady_clock::time_point> recorded;
};
} // namespace

/// What the kernels before it did to the device.
static Error synchronize() {
  Session &session = getSession();
  std::lock_guard<std::mutex> lock(session.mutex);
  return setLastError(session.deviceError);
}

extern "C" {

Error cudaStreamCreate(Stream **stream) {
  *stream = new Stream;
  return Error::Success;
}

Error cudaStreamCreateWithFlags(Stream **stream, unsigned /*flags*/) {
  return cudaStreamCreate(stream);
}

Error cudaStreamCreateWithPriority(Stream **stream, unsigned /*flags*/,
                                   int /*priority*/) {
  return cudaStreamCreate(stream);
}

Error cudaStreamDestroy(Stream *stream) {
  delete stream;
  return Error::Success;
}

Error cudaStreamSynchronize(Stream * /*stream*/) { return synchronize(); }

Error cudaStreamQuery(Stream * /*stream*/) { return synchronize(); }

Error cudaStreamWaitEvent(Stream * /*stream*/, Event * /*event*/,
                          unsigned /*flags*/) {
  return Error::Success;
}

Error cudaDeviceSynchronize() { return synchronize(); }

Error cudaEventCreate(Event **event) {
  *event = new Event;
  return Error::Success;
}

Error cudaEventCreateWithFlags(Event **event, unsigned /*flags*/) {
  return cudaEventCreate(event);
}

Error cudaEventDestroy(Event *event) {
  delete event;
  return Error::Success;
}

Error cudaEventRecord(Event *event, Stream * /*stream*/) {
  event->recorded = std::chrono::steady_clock::now();
  return Error::Success;
}

Error cudaEventSynchronize(Event * /*event*/) { return synchronize(); }

Error cudaEventQuery(Event * /*event*/) { return synchronize(); }

Error cudaEventElapsedTime(float *milliseconds, const Event *from,
                           const Event *to) {
  if (!from->recorded || !to->recorded)
    return fail("cudaEventElapsedTime", Error::InvalidResourceHandle,
                "expected two events that were recorded");
  *milliseconds =
      std::chrono::duration<float, std::milli>(*to->recorded - *from->recorded)
          .count();
  return Error::Success;
}

} // extern "C"

} // namespace blockscale::cuda

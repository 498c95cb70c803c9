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

#include "Call.h"
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
static Error synchronize(llvm::StringRef function) {
  Call call(function);
  call.session.synchronizeStreams();
  return call.error;
}

template <typename T>
static Error create(T **made, llvm::StringRef function) {
  Call call(function);
  if (call.error == Error::Success)
    *made = new T;
  return call.error;
}

template <typename T>
static Error destroy(T *made, llvm::StringRef function) {
  delete made;
  return Call(function).error;
}

static Error record(Event *event, llvm::StringRef function) {
  Call call(function);
  call.session.synchronizeStreams();
  if (call.error == Error::Success)
    event->recorded = std::chrono::steady_clock::now();
  return call.error;
}

static Error measure(float *milliseconds, const Event *from, const Event *to,
                     llvm::StringRef function) {
  Call call(function);
  if (call.error != Error::Success)
    return call.error;
  if (!from->recorded || !to->recorded)
    return fail(function, Error::InvalidResourceHandle,
                "expected two events that were recorded");
  *milliseconds =
      std::chrono::duration<float, std::milli>(*to->recorded - *from->recorded)
          .count();
  return Error::Success;
}

extern "C" {

Error cudaStreamCreate(Stream **stream) {
  return create(stream, "cudaStreamCreate");
}

Error cudaStreamCreateWithFlags(Stream **stream, unsigned /*flags*/) {
  return create(stream, "cudaStreamCreateWithFlags");
}

Error cudaStreamCreateWithPriority(Stream **stream, unsigned /*flags*/,
                                   int /*priority*/) {
  return create(stream, "cudaStreamCreateWithPriority");
}

Error cudaStreamDestroy(Stream *stream) {
  return destroy(stream, "cudaStreamDestroy");
}

Error cudaStreamSynchronize(Stream * /*stream*/) {
  return synchronize("cudaStreamSynchronize");
}

Error cudaStreamQuery(Stream * /*stream*/) {
  return synchronize("cudaStreamQuery");
}

Error cudaStreamWaitEvent(Stream * /*stream*/, Event * /*event*/,
                          unsigned /*flags*/) {
  return synchronize("cudaStreamWaitEvent");
}

Error cudaDeviceSynchronize() { return synchronize("cudaDeviceSynchronize"); }

Error cudaEventCreate(Event **event) {
  return create(event, "cudaEventCreate");
}

Error cudaEventCreateWithFlags(Event **event, unsigned /*flags*/) {
  return create(event, "cudaEventCreateWithFlags");
}

Error cudaEventDestroy(Event *event) {
  return destroy(event, "cudaEventDestroy");
}

Error cudaEventRecord(Event *event, Stream * /*stream*/) {
  return record(event, "cudaEventRecord");
}

Error cudaEventSynchronize(Event * /*event*/) {
  return synchronize("cudaEventSynchronize");
}

Error cudaEventQuery(Event * /*event*/) {
  return synchronize("cudaEventQuery");
}

Error cudaEventElapsedTime(float *milliseconds, const Event *from,
                           const Event *to) {
  return measure(milliseconds, from, to, "cudaEventElapsedTime");
}

// The driver's forms, by the names of its library.
// NOLINTBEGIN(readability-identifier-naming)

Error cuCtxSynchronize() { return synchronize("cuCtxSynchronize"); }

Error cuStreamCreate(Stream **stream, unsigned /*flags*/) {
  return create(stream, "cuStreamCreate");
}

Error cuStreamDestroy_v2(Stream *stream) {
  return destroy(stream, "cuStreamDestroy");
}

Error cuStreamSynchronize(Stream * /*stream*/) {
  return synchronize("cuStreamSynchronize");
}

Error cuEventCreate(Event **event, unsigned /*flags*/) {
  return create(event, "cuEventCreate");
}

Error cuEventDestroy_v2(Event *event) {
  return destroy(event, "cuEventDestroy");
}

Error cuEventRecord(Event *event, Stream * /*stream*/) {
  return record(event, "cuEventRecord");
}

Error cuEventSynchronize(Event * /*event*/) {
  return synchronize("cuEventSynchronize");
}

Error cuEventElapsedTime(float *milliseconds, const Event *from,
                         const Event *to) {
  return measure(milliseconds, from, to, "cuEventElapsedTime");
}
// NOLINTEND(readability-identifier-naming)

} // extern "C"

} // namespace blockscale::cuda

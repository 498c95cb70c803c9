//===- DeviceMemory.cpp - Memory of the device, copies --------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Kernels.h"
#include "Status.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"

#include <cstdlib>
#include <cstring>

using namespace blockscale::emulator;

namespace blockscale::cuda {

namespace {
/// What the device has. The emulator holds two bytes for each.
constexpr uint64_t kDeviceBytes = uint64_t(16) << 30;
/// What cudaMalloc and cuMemAlloc give.
constexpr uint64_t kAlignment = 256;

/// Bytes of the host, or of a buffer of the device.
struct Range {
  uint8_t *bytes;
  /// One for each byte of the device that was written; null for the host.
  uint8_t *written;
};
} // namespace

static uint64_t toAddress(const void *pointer) {
  return reinterpret_cast<uint64_t>(pointer);
}

static bool isOnDevice(Session &session, const void *pointer) {
  return session.device.global.findAt(toAddress(pointer)) != nullptr;
}

static std::optional<Range> findRange(Session &session, const void *pointer,
                                      uint64_t size, llvm::StringRef function) {
  uint64_t address = toAddress(pointer);
  Buffer *buffer = session.device.global.findAt(address);
  if (!buffer)
    return Range{static_cast<uint8_t *>(const_cast<void *>(pointer)), nullptr};
  uint64_t offset = address - buffer->base;
  uint64_t rest = buffer->bytes.size() - offset;
  if (size > rest) {
    fail(function, Error::InvalidValue,
         llvm::formatv("expected at most the {0} bytes that follow {1:x} in "
                       "its buffer, but got {2}",
                       rest, address, size)
             .str());
    return std::nullopt;
  }
  return Range{buffer->bytes.data() + offset, buffer->written.data() + offset};
}

static Error copyRow(Session &session, void *to, const void *from,
                     uint64_t size, llvm::StringRef function) {
  std::optional<Range> target = findRange(session, to, size, function);
  std::optional<Range> source = findRange(session, from, size, function);
  if (!target || !source)
    return Error::InvalidValue;
  std::memmove(target->bytes, source->bytes, size);
  if (target->written && source->written)
    std::memmove(target->written, source->written, size);
  else if (target->written)
    std::memset(target->written, 1, size);
  return Error::Success;
}

/// Whether the pointers are of the kinds that the caller says.
static Error checkKind(Session &session, const void *to, const void *from,
                       CopyKind kind, llvm::StringRef function) {
  if (kind < CopyKind::HostToHost || kind > CopyKind::Default)
    return fail(function, Error::InvalidMemcpyDirection,
                llvm::formatv("expected a copy kind of 0 to 4, but got {0}",
                              static_cast<int>(kind))
                    .str());
  if (kind == CopyKind::Default)
    return Error::Success;
  bool toDevice =
      kind == CopyKind::HostToDevice || kind == CopyKind::DeviceToDevice;
  bool fromDevice =
      kind == CopyKind::DeviceToHost || kind == CopyKind::DeviceToDevice;
  if (isOnDevice(session, to) != toDevice)
    return fail(function, Error::InvalidValue,
                llvm::formatv("expected the target {0:x} to be memory of the "
                              "{1}",
                              toAddress(to), toDevice ? "device" : "host")
                    .str());
  if (isOnDevice(session, from) != fromDevice)
    return fail(function, Error::InvalidValue,
                llvm::formatv("expected the source {0:x} to be memory of the "
                              "{1}",
                              toAddress(from), fromDevice ? "device" : "host")
                    .str());
  return Error::Success;
}

/// Rows of `width` bytes, each a pitch behind the one before.
static Error copyRows(void *to, size_t toPitch, const void *from,
                      size_t fromPitch, size_t width, size_t height,
                      CopyKind kind, llvm::StringRef function) {
  Call call(function);
  if (call.error != Error::Success)
    return call.error;
  Session &session = call.session;
  session.synchronizeStreams();
  if (width == 0 || height == 0)
    return Error::Success;
  if (Error error = checkKind(session, to, from, kind, function);
      error != Error::Success)
    return error;
  for (size_t row = 0; row < height; ++row)
    if (Error error =
            copyRow(session, static_cast<uint8_t *>(to) + row * toPitch,
                    static_cast<const uint8_t *>(from) + row * fromPitch, width,
                    function);
        error != Error::Success)
      return error;
  return Error::Success;
}

/// Sets `count` elements of `size` bytes to the low bytes of `value`.
static Error fill(void *to, uint32_t value, size_t count, size_t size,
                  llvm::StringRef function) {
  Call call(function);
  if (call.error != Error::Success)
    return call.error;
  Session &session = call.session;
  session.synchronizeStreams();
  if (count == 0)
    return Error::Success;
  if (!isOnDevice(session, to))
    return fail(function, Error::InvalidValue, "expected memory of the device");
  if (reinterpret_cast<uint64_t>(to) % size != 0)
    return fail(function, Error::InvalidValue,
                "expected an address that is a multiple of " +
                    llvm::Twine(size));
  // More than any memory has; the product could wrap.
  size_t bytes = count > kDeviceBytes ? kDeviceBytes + 1 : count * size;
  std::optional<Range> range = findRange(session, to, bytes, function);
  if (!range)
    return Error::InvalidValue;
  for (size_t i = 0; i < bytes; i += size)
    std::memcpy(range->bytes + i, &value, size);
  std::memset(range->written, 1, bytes);
  return Error::Success;
}

static uint64_t countUsed(const Session &session) {
  uint64_t used = 0;
  for (const Buffer &buffer : session.device.global.getBuffers())
    used += buffer.bytes.size();
  return used;
}

static Error allocate(void **pointer, size_t bytes, llvm::StringRef function) {
  if (!pointer)
    return fail(function, Error::InvalidValue, "expected a pointer to set");
  *pointer = nullptr;
  Call call(function);
  if (call.error != Error::Success)
    return call.error;
  Session &session = call.session;
  if (bytes == 0 && isOfDriver(function))
    return fail(function, Error::InvalidValue, "expected 1 byte at least");
  if (bytes == 0)
    return Error::Success;
  uint64_t used = countUsed(session);
  if (bytes > kDeviceBytes - std::min(kDeviceBytes, used))
    return fail(function, Error::MemoryAllocation,
                llvm::formatv("expected at most {0} bytes in use, but {1} are "
                              "and {2} more are asked for",
                              kDeviceBytes, used, bytes)
                    .str());
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the device.
  *pointer = reinterpret_cast<void *>(
      session.device.global.allocate(function, bytes, kAlignment));
  return Error::Success;
}

static Error release(void *pointer, llvm::StringRef function) {
  Call call(function);
  if (call.error != Error::Success)
    return call.error;
  Session &session = call.session;
  session.synchronizeStreams();
  if (pointer && !session.device.global.deallocate(toAddress(pointer)))
    return fail(function, Error::InvalidValue,
                llvm::formatv("expected the start of a buffer, but got {0:x}",
                              toAddress(pointer))
                    .str());
  return Error::Success;
}

/// Page-locked memory of the host that the device sees: a buffer of the device,
/// whose bytes the host accesses in place.
static Buffer *findMapped(Session &session, const void *memory) {
  for (const Buffer &buffer : session.device.global.getBuffers())
    if (buffer.bytes.data() == memory)
      return session.device.global.findAt(buffer.base);
  return nullptr;
}

static Error allocateMapped(void **memory, size_t bytes,
                            llvm::StringRef function) {
  void *address = nullptr;
  if (!memory)
    return fail(function, Error::InvalidValue, "expected a pointer to set");
  if (Error error = allocate(&address, bytes, function);
      error != Error::Success)
    return error;
  Call call(function);
  Buffer *buffer = call.session.device.global.findAt(toAddress(address));
  // What the host stores there is seen by no one, so all counts as written.
  llvm::fill(buffer->written, 1);
  *memory = buffer->bytes.data();
  return Error::Success;
}

/// The device's address of a buffer that the host knows by its bytes.
static Error getMappedAddress(void **address, const void *memory,
                              llvm::StringRef function) {
  Call call(function);
  if (call.error != Error::Success)
    return call.error;
  if (!address)
    return fail(function, Error::InvalidValue, "expected a pointer to set");
  const Buffer *buffer = findMapped(call.session, memory);
  if (!buffer)
    return fail(function, Error::InvalidValue,
                "expected what cuMemHostAlloc gave");
  // NOLINTNEXTLINE(performance-no-int-to-ptr): an address of the device.
  *address = reinterpret_cast<void *>(buffer->base);
  return Error::Success;
}

static Error releaseMapped(const void *memory, llvm::StringRef function) {
  Call call(function);
  if (call.error != Error::Success)
    return call.error;
  call.session.synchronizeStreams();
  const Buffer *buffer = findMapped(call.session, memory);
  if (!buffer)
    return fail(function, Error::InvalidValue,
                "expected what cuMemHostAlloc gave");
  call.session.device.global.deallocate(buffer->base);
  return Error::Success;
}

/// Copies between a variable of the device and the host or another buffer.
static Error copySymbol(const void *symbol, void *other, size_t bytes,
                        size_t offset, bool toSymbol,
                        llvm::StringRef function) {
  Call call(function);
  if (call.error != Error::Success)
    return call.error;
  Session &session = call.session;
  session.synchronizeStreams();
  Error error = Error::Success;
  Buffer *buffer = findSymbol(session, symbol, function, error);
  if (!buffer)
    return error;
  uint64_t size = buffer->bytes.size();
  if (offset > size || bytes > size - offset)
    return fail(function, Error::InvalidValue,
                llvm::formatv("expected at most the {0} bytes of '{1}', but "
                              "got {2} at {3}",
                              size, buffer->name, bytes, offset)
                    .str());
  std::optional<Range> range = findRange(session, other, bytes, function);
  if (!range)
    return Error::InvalidValue;
  uint8_t *variable = buffer->bytes.data() + offset;
  uint8_t *written = buffer->written.data() + offset;
  std::memmove(toSymbol ? variable : range->bytes,
               toSymbol ? range->bytes : variable, bytes);
  if (range->written)
    std::memmove(toSymbol ? written : range->written,
                 toSymbol ? range->written : written, bytes);
  return Error::Success;
}

extern "C" {

Error cudaMalloc(void **pointer, size_t bytes) {
  return allocate(pointer, bytes, "cudaMalloc");
}

Error cudaMallocAsync(void **pointer, size_t bytes, void * /*stream*/) {
  return allocate(pointer, bytes, "cudaMallocAsync");
}

Error cudaFree(void *pointer) { return release(pointer, "cudaFree"); }

Error cudaFreeAsync(void *pointer, void * /*stream*/) {
  return release(pointer, "cudaFreeAsync");
}

Error cudaMallocHost(void **pointer, size_t bytes) {
  *pointer = std::aligned_alloc(4096, llvm::alignTo(bytes, 4096));
  return *pointer ? Error::Success
                  : fail("cudaMallocHost", Error::MemoryAllocation,
                         "the host has no such memory");
}

Error cudaHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  constexpr unsigned kMapped = 2;
  if (flags & kMapped)
    return failNotModelled("cudaHostAlloc", "memory that is mapped");
  return cudaMallocHost(pointer, bytes);
}

Error cudaFreeHost(void *pointer) {
  std::free(pointer);
  return Error::Success;
}

Error cudaMemcpy(void *to, const void *from, size_t bytes, CopyKind kind) {
  return copyRows(to, 0, from, 0, bytes, 1, kind, "cudaMemcpy");
}

Error cudaMemcpyAsync(void *to, const void *from, size_t bytes, CopyKind kind,
                      void * /*stream*/) {
  return copyRows(to, 0, from, 0, bytes, 1, kind, "cudaMemcpyAsync");
}

Error cudaMemcpy2D(void *to, size_t toPitch, const void *from, size_t fromPitch,
                   size_t width, size_t height, CopyKind kind) {
  return copyRows(to, toPitch, from, fromPitch, width, height, kind,
                  "cudaMemcpy2D");
}

Error cudaMemcpy2DAsync(void *to, size_t toPitch, const void *from,
                        size_t fromPitch, size_t width, size_t height,
                        CopyKind kind, void * /*stream*/) {
  return copyRows(to, toPitch, from, fromPitch, width, height, kind,
                  "cudaMemcpy2DAsync");
}

Error cudaMemset(void *to, int value, size_t bytes) {
  return fill(to, static_cast<uint32_t>(value), bytes, 1, "cudaMemset");
}

Error cudaMemsetAsync(void *to, int value, size_t bytes, void * /*stream*/) {
  return fill(to, static_cast<uint32_t>(value), bytes, 1, "cudaMemsetAsync");
}

// The driver's forms, by the names that its header gives them.
// NOLINTBEGIN(readability-identifier-naming)

Error cuMemAlloc_v2(void **address, size_t bytes) {
  return allocate(address, bytes, "cuMemAlloc");
}

Error cuMemFree_v2(void *address) { return release(address, "cuMemFree"); }

Error cuMemHostAlloc(void **memory, size_t bytes, unsigned flags) {
  constexpr unsigned kMapped = 2;
  if (!(flags & kMapped))
    return failNotModelled("cuMemHostAlloc", "memory that is not mapped");
  return allocateMapped(memory, bytes, "cuMemHostAlloc");
}

Error cuMemHostGetDevicePointer_v2(void **address, void *memory,
                                   unsigned /*flags*/) {
  return getMappedAddress(address, memory, "cuMemHostGetDevicePointer");
}

Error cuMemFreeHost(void *memory) {
  return releaseMapped(memory, "cuMemFreeHost");
}

Error cuMemcpyHtoD_v2(void *to, const void *from, size_t bytes) {
  return copyRows(to, 0, from, 0, bytes, 1, CopyKind::HostToDevice,
                  "cuMemcpyHtoD");
}

Error cuMemcpyDtoH_v2(void *to, const void *from, size_t bytes) {
  return copyRows(to, 0, from, 0, bytes, 1, CopyKind::DeviceToHost,
                  "cuMemcpyDtoH");
}

Error cuMemcpyDtoDAsync_v2(void *to, const void *from, size_t bytes,
                           void * /*stream*/) {
  return copyRows(to, 0, from, 0, bytes, 1, CopyKind::DeviceToDevice,
                  "cuMemcpyDtoDAsync");
}

Error cuMemsetD8_v2(void *to, unsigned char value, size_t count) {
  return fill(to, value, count, 1, "cuMemsetD8");
}

Error cuMemsetD16_v2(void *to, unsigned short value, size_t count) {
  return fill(to, value, count, 2, "cuMemsetD16");
}

Error cuMemsetD32_v2(void *to, unsigned value, size_t count) {
  return fill(to, value, count, 4, "cuMemsetD32");
}

Error cuMemsetD8Async(void *to, unsigned char value, size_t count,
                      void * /*stream*/) {
  return fill(to, value, count, 1, "cuMemsetD8Async");
}

Error cuMemsetD16Async(void *to, unsigned short value, size_t count,
                       void * /*stream*/) {
  return fill(to, value, count, 2, "cuMemsetD16Async");
}

Error cuMemsetD32Async(void *to, unsigned value, size_t count,
                       void * /*stream*/) {
  return fill(to, value, count, 4, "cuMemsetD32Async");
}
// NOLINTEND(readability-identifier-naming)

Error cudaMemcpyToSymbol(const void *symbol, const void *from, size_t bytes,
                         size_t offset, CopyKind /*kind*/) {
  return copySymbol(symbol, const_cast<void *>(from), bytes, offset,
                    /*toSymbol=*/true, "cudaMemcpyToSymbol");
}

Error cudaMemcpyFromSymbol(void *to, const void *symbol, size_t bytes,
                           size_t offset, CopyKind /*kind*/) {
  return copySymbol(symbol, to, bytes, offset, /*toSymbol=*/false,
                    "cudaMemcpyFromSymbol");
}

Error cudaMemGetInfo(size_t *free, size_t *total) {
  Call call("cudaMemGetInfo");
  if (call.error != Error::Success)
    return call.error;
  uint64_t used = countUsed(call.session);
  *total = kDeviceBytes;
  *free = kDeviceBytes - std::min(kDeviceBytes, used);
  return Error::Success;
}

Error cudaPointerGetAttributes(PointerAttributes *attributes,
                               const void *pointer) {
  Call call("cudaPointerGetAttributes");
  if (call.error != Error::Success)
    return call.error;
  *attributes = {};
  auto *address = const_cast<void *>(pointer);
  if (isOnDevice(call.session, pointer)) {
    attributes->type = MemoryType::Device;
    attributes->devicePointer = address;
    return Error::Success;
  }
  attributes->device = -2;
  attributes->hostPointer = address;
  return Error::Success;
}

} // extern "C"

} // namespace blockscale::cuda

//===- CudaContext.cpp - A GPU, through its driver ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/CudaContext.h"

#include "CudaDriver.h"
#include "CudaErrorRecord.h"

using namespace blockscale::runtime;

CudaContext::Scope::Scope(const CudaContext &context)
    : context(context), status(context.driver->check(
                            context.driver->cuCtxPushCurrent(context.context),
                            "cuCtxPushCurrent")) {}

CudaContext::Scope::~Scope() {
  void *popped = nullptr;
  if (status.ok())
    context.driver->cuCtxPopCurrent(&popped);
}

Status CudaContext::initialize(int ordinal) {
  int count = 0;
  Status status =
      driver->check(driver->cuDeviceGetCount(&count), "cuDeviceGetCount");
  if (!status.ok())
    return status;
  if (ordinal < 0 || ordinal >= count)
    return Status::failure("expected the number of a GPU below " +
                               std::to_string(count) + ", but got " +
                               std::to_string(ordinal),
                           ErrorKind::NoDevice);
  char text[256] = "";
  const std::pair<int, const char *> calls[] = {
      {driver->cuDeviceGet(&device, ordinal), "cuDeviceGet"},
      {driver->cuDeviceGetName(text, sizeof(text), device), "cuDeviceGetName"},
      {driver->cuDeviceGetAttribute(&capability.major, kCudaCapabilityMajor,
                                    device),
       "cuDeviceGetAttribute"},
      {driver->cuDeviceGetAttribute(&capability.minor, kCudaCapabilityMinor,
                                    device),
       "cuDeviceGetAttribute"},
      {driver->cuDeviceGetAttribute(&maxSharedBytes, kCudaMaxSharedBytes,
                                    device),
       "cuDeviceGetAttribute"},
      {driver->cuDeviceGetAttribute(&multiprocessors, kCudaMultiprocessors,
                                    device),
       "cuDeviceGetAttribute"},
      {driver->cuDevicePrimaryCtxRetain(&context, device),
       "cuDevicePrimaryCtxRetain"}};
  for (auto [result, call] : calls)
    if (status.ok())
      status = driver->check(result, call);
  name = text;
  errors = CudaErrorRecord::find(driver, device);
  return status;
}

Result<std::shared_ptr<const CudaContext>>
CudaContext::open(int ordinal, const std::string &library) {
  Result<std::shared_ptr<const CudaDriver>> driver = CudaDriver::load(library);
  if (!driver.ok())
    return driver.status();
  std::shared_ptr<CudaContext> context(new CudaContext());
  context->driver = *driver;
  Status status = context->initialize(ordinal);
  if (!status.ok())
    return status;
  return std::shared_ptr<const CudaContext>(std::move(context));
}

CudaContext::~CudaContext() {
  if (!context)
    return;
  {
    Scope scope(*this);
    errors.reset();
  }
  driver->cuDevicePrimaryCtxRelease(device);
}

int CudaContext::getDriverVersion() const { return driver->version; }

std::string CudaContext::describe() const {
  return name + " (compute capability " + capability.format() + ")";
}

Result<uint64_t> CudaContext::allocate(uint64_t bytes,
                                       const std::string &what) const {
  uint64_t address = 0;
  // The driver refuses 0 bytes.
  if (bytes == 0)
    return address;
  Scope scope(*this);
  if (!scope.getStatus().ok())
    return scope.getStatus();
  Status status =
      driver->check(driver->cuMemAlloc(&address, bytes),
                    "cannot allocate " + std::to_string(bytes) + " bytes for " +
                        what + " on " + name + ": cuMemAlloc");
  if (!status.ok())
    return status;
  return address;
}

void CudaContext::release(uint64_t address) const {
  if (address == 0)
    return;
  Scope scope(*this);
  driver->cuMemFree(address);
}

Status CudaContext::fill(uint64_t address, uint8_t value,
                         uint64_t bytes) const {
  Scope scope(*this);
  if (!scope.getStatus().ok() || bytes == 0)
    return scope.getStatus();
  return driver->check(driver->cuMemsetD8(address, value, bytes), "cuMemsetD8");
}

Status CudaContext::upload(uint64_t to, const uint8_t *from,
                           uint64_t bytes) const {
  Scope scope(*this);
  if (!scope.getStatus().ok() || bytes == 0)
    return scope.getStatus();
  Status status =
      driver->check(driver->cuMemcpyHtoD(to, from, bytes), "cuMemcpyHtoD");
  if (!status.ok())
    return status;
  // A copy from pageable memory returns when that has been read; streams that
  // do not wait for the default one must see its end.
  return driver->check(driver->cuStreamSynchronize(nullptr),
                       "cuStreamSynchronize");
}

Status CudaContext::download(uint8_t *to, uint64_t from, uint64_t bytes) const {
  Scope scope(*this);
  if (!scope.getStatus().ok() || bytes == 0)
    return scope.getStatus();
  return driver->check(driver->cuMemcpyDtoH(to, from, bytes), "cuMemcpyDtoH");
}

Status CudaContext::synchronize(void *stream) const {
  Scope scope(*this);
  if (!scope.getStatus().ok())
    return scope.getStatus();
  return driver->check(driver->cuStreamSynchronize(stream),
                       "cuStreamSynchronize");
}

Status CudaContext::connectErrors(void *module) const {
  return errors->connect(*this, module);
}

Status CudaContext::takeError(bool mayCopy) const {
  return errors->take(*this, mayCopy);
}

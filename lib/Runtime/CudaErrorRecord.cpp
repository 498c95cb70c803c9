//===- CudaErrorRecord.cpp - What kernels on a GPU find wrong -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CudaErrorRecord.h"

#include "CudaDriver.h"

#include <map>
#include <new>

using namespace blockscale::runtime;

/// The rule of a record that kernels may write meanwhile.
static uint64_t loadRule(const ErrorRecord &record) {
  return __atomic_load_n(&record.ruleAndOp, __ATOMIC_ACQUIRE);
}

std::shared_ptr<CudaErrorRecord>
CudaErrorRecord::find(std::shared_ptr<const CudaDriver> driver, int device) {
  // A driver is known by one of its functions. Both are never destroyed: those
  // who use them may live until the process ends.
  using Key = std::pair<decltype(driver->cuMemHostAlloc), int>;
  static auto *const mutex = new std::mutex;
  static auto *const records =
      new std::map<Key, std::weak_ptr<CudaErrorRecord>>;
  std::lock_guard<std::mutex> lock(*mutex);
  std::weak_ptr<CudaErrorRecord> &slot =
      (*records)[{driver->cuMemHostAlloc, device}];
  std::shared_ptr<CudaErrorRecord> record = slot.lock();
  if (!record) {
    record.reset(new CudaErrorRecord(std::move(driver)));
    slot = record;
  }
  return record;
}

CudaErrorRecord::~CudaErrorRecord() {
  if (ErrorRecord *memory = onHost)
    driver->cuMemFreeHost(memory);
  else if (onDevice)
    driver->cuMemFree(onDevice);
}

bool CudaErrorRecord::allocateOnHost() {
  constexpr unsigned kPortable = 1, kMapped = 2;
  void *memory = nullptr;
  if (driver->cuMemHostAlloc(&memory, sizeof(ErrorRecord),
                             kPortable | kMapped) != kCudaSuccess)
    return false;
  uint64_t address = 0;
  if (driver->cuMemHostGetDevicePointer(&address, memory, 0) != kCudaSuccess) {
    driver->cuMemFreeHost(memory);
    return false;
  }
  onHost = new (memory) ErrorRecord();
  onDevice = address;
  return true;
}

Status CudaErrorRecord::allocate(const CudaContext &context) {
  std::lock_guard<std::mutex> lock(mutex);
  if (onDevice || allocateOnHost())
    return Status::success();
  Result<uint64_t> address =
      context.allocate(sizeof(ErrorRecord), "the error record");
  if (!address.ok())
    return address.status();
  onDevice = *address;
  return context.fill(*address, 0, sizeof(ErrorRecord));
}

Status CudaErrorRecord::connect(const CudaContext &context, void *module) {
  uint64_t variable = 0;
  size_t bytes = 0;
  int result =
      driver->cuModuleGetGlobal(&variable, &bytes, module, kErrorRecordSymbol);
  if (result == kCudaNotFound)
    return Status::success();
  std::string name = kErrorRecordSymbol;
  Status status = driver->check(result, "cuModuleGetGlobal of " + name);
  if (status.ok() && bytes != kShortErrorVariableBytes &&
      bytes != sizeof(ErrorRecordVariable))
    status = Status::failure(
        "expected the variable " + name + " of the kernels to have " +
            std::to_string(kShortErrorVariableBytes) + " or " +
            std::to_string(sizeof(ErrorRecordVariable)) + " bytes, but got " +
            std::to_string(bytes),
        ErrorKind::InvalidBundle);
  if (status.ok())
    status = allocate(context);
  if (!status.ok())
    return status;
  uint64_t address = onDevice;
  return context.upload(variable, reinterpret_cast<const uint8_t *>(&address),
                        sizeof(address));
}

/// All of a record whose first word was seen: the kernel that wrote that writes
/// the others behind it, so they are there when the kernel has ended. What the
/// wait returns does not matter, a context that is broken says so later.
Result<ErrorRecord> CudaErrorRecord::readAndClear(const CudaContext &context) {
  if (ErrorRecord *memory = onHost) {
    driver->cuCtxSynchronize();
    ErrorRecord found = *memory;
    __atomic_store_n(&memory->ruleAndOp, 0, __ATOMIC_RELEASE);
    return found;
  }
  ErrorRecord found;
  Status status = context.download(reinterpret_cast<uint8_t *>(&found),
                                   onDevice, sizeof(found));
  if (status.ok() && found.ruleAndOp)
    status = context.fill(onDevice, 0, sizeof(found));
  if (!status.ok())
    return status;
  return found;
}

Status CudaErrorRecord::take(const CudaContext &context, bool mayCopy) {
  // Nearly always that is all.
  const ErrorRecord *memory = onHost;
  if (memory ? loadRule(*memory) == 0 : !mayCopy || !onDevice)
    return Status::success();
  CudaContext::Scope scope(context);
  if (!scope.getStatus().ok())
    return scope.getStatus();
  // Another thread may take it first.
  std::lock_guard<std::mutex> lock(mutex);
  Result<ErrorRecord> found = readAndClear(context);
  if (!found.ok())
    return found.status();
  if (found->ruleAndOp == 0)
    return Status::success();
  return Status::failure(formatErrorRecord(*found), ErrorKind::InvalidData);
}

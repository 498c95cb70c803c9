//===- CudaRun.cpp - Calls of a function on arrays ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/CudaRun.h"

#include "CudaDriver.h"

#include <algorithm>

using namespace blockscale::runtime;
using Role = PlanBuffer::Role;

namespace {

/// Everything that a call needs, released at the end.
class CudaRun {
public:
  CudaRun(const CudaModule &module, const ResolvedFunction &function,
          const RankFunction &overRanks)
      : module(module), context(module.getContext()),
        driver(context.getDriver()), function(function), overRanks(overRanks),
        addresses(module.getConstants(*function.function)) {}
  CudaRun(const CudaRun &) = delete;
  CudaRun &operator=(const CudaRun &) = delete;
  ~CudaRun();

  Status prepare(const std::vector<NpyArray> &arguments);
  Status call(const std::vector<NpyArray> &arguments, int repeat,
              CudaTimes &times);
  Result<std::vector<NpyArray>> download() const;

private:
  Status allocate(size_t number);
  Status upload(const std::vector<NpyArray> &arguments, bool isAgain);
  Result<double> timeCall();

  const CudaModule &module;
  const CudaContext &context;
  const CudaDriver &driver;
  const ResolvedFunction &function;
  const RankFunction &overRanks;
  BufferAddresses addresses;
  std::vector<uint64_t> allocated;
  void *stream = nullptr;
  void *start = nullptr;
  void *end = nullptr;
};

} // namespace

CudaRun::~CudaRun() {
  for (uint64_t address : allocated)
    context.release(address);
  CudaContext::Scope scope(context);
  for (void *event : {start, end})
    if (event)
      driver.cuEventDestroy(event);
  if (stream)
    driver.cuStreamDestroy(stream);
}

Status CudaRun::allocate(size_t number) {
  const PlanBuffer &buffer = function.function->buffers[number];
  uint64_t bytes = function.buffers[number].bytes;
  if (buffer.isScalar || buffer.role == Role::Constant)
    return Status::success();
  if (buffer.argument) {
    addresses[number] = addresses[*buffer.argument];
    return Status::success();
  }
  Result<uint64_t> address = context.allocate(bytes, buffer.name);
  if (!address.ok())
    return address.status();
  allocated.push_back(*address);
  addresses[number] = *address;
  if (buffer.role == Role::Argument)
    return Status::success();
  return context.fill(*address, 0xA5, bytes);
}

Status CudaRun::prepare(const std::vector<NpyArray> &arguments) {
  Status status = Status::success();
  for (size_t i = 0; i < addresses.size() && status.ok(); ++i)
    status = allocate(i);
  if (status.ok())
    status = upload(arguments, /*isAgain=*/false);
  // The fills are done, too, where another stream looks.
  if (status.ok())
    status = context.synchronize(nullptr);
  if (!status.ok())
    return status;
  CudaContext::Scope scope(context);
  constexpr unsigned kNonBlocking = 1;
  const std::pair<int, const char *> calls[] = {
      {driver.cuStreamCreate(&stream, kNonBlocking), "cuStreamCreate"},
      {driver.cuEventCreate(&start, 0), "cuEventCreate"},
      {driver.cuEventCreate(&end, 0), "cuEventCreate"}};
  for (auto [result, what] : calls)
    if (status.ok())
      status = driver.check(result, what);
  return status;
}

/// Brings the arguments to the device, or again those that a call may have
/// written to. Arguments are the first buffers.
Status CudaRun::upload(const std::vector<NpyArray> &arguments, bool isAgain) {
  Status status = Status::success();
  for (size_t i = 0; i < arguments.size() && status.ok(); ++i) {
    const PlanBuffer &buffer = function.function->buffers[i];
    if (!buffer.isScalar && (!isAgain || buffer.isWritable))
      status = context.upload(addresses[i], arguments[i].data.data(),
                              arguments[i].data.size());
  }
  return status;
}

Result<double> CudaRun::timeCall() {
  CudaContext::Scope scope(context);
  Status status =
      driver.check(driver.cuEventRecord(start, stream), "cuEventRecord");
  if (status.ok())
    status = module.launch(function, addresses, stream, overRanks);
  // A kernel that failed shows at the end of the run, or already before.
  std::string run = "@" + function.function->name + ": the run";
  if (status.ok())
    status = driver.check(driver.cuEventRecord(end, stream), run);
  if (status.ok())
    status = driver.check(driver.cuEventSynchronize(end), run);
  if (status.ok())
    status = context.takeError(/*mayCopy=*/true);
  float milliseconds = 0;
  if (status.ok())
    status = driver.check(driver.cuEventElapsedTime(&milliseconds, start, end),
                          "cuEventElapsedTime");
  if (!status.ok())
    return status;
  return milliseconds / 1000.0;
}

Status CudaRun::call(const std::vector<NpyArray> &arguments, int repeat,
                     CudaTimes &times) {
  std::vector<double> seconds;
  for (int i = 0; i < repeat; ++i) {
    Status status =
        i > 0 ? upload(arguments, /*isAgain=*/true) : Status::success();
    if (!status.ok())
      return status;
    Result<double> one = timeCall();
    if (!one.ok())
      return one.status();
    seconds.push_back(*one);
  }
  std::sort(seconds.begin(), seconds.end());
  times.fastest = seconds.front();
  times.median = seconds[seconds.size() / 2];
  return Status::success();
}

Result<std::vector<NpyArray>> CudaRun::download() const {
  std::vector<NpyArray> results;
  for (size_t i : function.function->getBuffers(Role::Result)) {
    Result<NpyArray> array = NpyArray::allocate(
        function.function->buffers[i].dtype, function.buffers[i].shape);
    if (!array.ok())
      return array.status();
    Status status =
        context.download(array->data.data(), addresses[i], array->data.size());
    if (!status.ok())
      return status;
    results.push_back(std::move(*array));
  }
  return results;
}

Result<std::vector<NpyArray>> blockscale::runtime::runOnCuda(
    const CudaModule &module, const PlanFunction &function,
    const std::vector<NpyArray> &arguments, int repeat,
    const RankFunction &overRanks, CudaTimes &times) {
  std::vector<PlanArgument> planned;
  planned.reserve(arguments.size());
  for (const NpyArray &array : arguments)
    planned.push_back({array.type, array.shape, array.data.data()});
  Result<ResolvedFunction> resolved =
      resolve(module.getPlan(), function, planned);
  if (!resolved.ok())
    return resolved.status();
  CudaRun run(module, *resolved, overRanks);
  Status status = run.prepare(arguments);
  if (status.ok())
    status = run.call(arguments, repeat, times);
  if (!status.ok())
    return status;
  return run.download();
}

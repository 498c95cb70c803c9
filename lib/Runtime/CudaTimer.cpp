//===- CudaTimer.cpp - The time that a call takes on a GPU ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/CudaTimer.h"

#include "CudaDriver.h"

using namespace blockscale::runtime;

namespace {

/// A stream, the graph of a call, and what times it, released at the end.
class CudaTimer {
public:
  explicit CudaTimer(const CudaContext &context)
      : context(context), driver(context.getDriver()) {}
  CudaTimer(const CudaTimer &) = delete;
  CudaTimer &operator=(const CudaTimer &) = delete;
  ~CudaTimer();

  Status prepare(uint64_t bytes);
  Status capture(const CudaModule &module, const ResolvedFunction &function,
                 const BufferAddresses &addresses,
                 const RankFunction &overRanks);
  Result<double> replay();

private:
  /// Records the first failure.
  void call(int result, const char *what) {
    if (status.ok())
      status = driver.check(result, what);
  }

  const CudaContext &context;
  const CudaDriver &driver;
  Status status = Status::success();
  uint64_t flush = 0;
  uint64_t flushBytes = 0;
  void *stream = nullptr;
  void *start = nullptr;
  void *end = nullptr;
  void *graph = nullptr;
  void *executable = nullptr;
};

} // namespace

CudaTimer::~CudaTimer() {
  context.release(flush);
  CudaContext::Scope scope(context);
  if (executable)
    driver.cuGraphExecDestroy(executable);
  if (graph)
    driver.cuGraphDestroy(graph);
  for (void *event : {start, end})
    if (event)
      driver.cuEventDestroy(event);
  if (stream)
    driver.cuStreamDestroy(stream);
}

Status CudaTimer::prepare(uint64_t bytes) {
  if (!driver.hasGraphs())
    return Status::failure(
        "expected a driver with CUDA graphs, but the library of this one (" +
            driver.formatVersion() + ") lacks their functions",
        ErrorKind::DriverTooOld);
  Result<uint64_t> allocated = context.allocate(bytes, "flushing the cache");
  if (!allocated.ok())
    return allocated.status();
  flush = *allocated;
  flushBytes = bytes;
  CudaContext::Scope scope(context);
  constexpr unsigned kNonBlocking = 1;
  call(driver.cuStreamCreate(&stream, kNonBlocking), "cuStreamCreate");
  call(driver.cuEventCreate(&start, 0), "cuEventCreate");
  call(driver.cuEventCreate(&end, 0), "cuEventCreate");
  return status;
}

Status CudaTimer::capture(const CudaModule &module,
                          const ResolvedFunction &function,
                          const BufferAddresses &addresses,
                          const RankFunction &overRanks) {
  CudaContext::Scope scope(context);
  // Once outside of the graph: kernels are loaded when they run first.
  status = module.launch(function, addresses, stream, overRanks);
  call(driver.cuStreamSynchronize(stream), "cuStreamSynchronize");
  if (status.ok())
    status = context.takeError(/*mayCopy=*/true);
  if (!status.ok())
    return status;
  constexpr int kThreadLocal = 1;
  call(driver.cuStreamBeginCapture(stream, kThreadLocal),
       "cuStreamBeginCapture");
  if (!status.ok())
    return status;
  status = module.launch(function, addresses, stream, overRanks);
  // A capture that failed is ended, too.
  int ended = driver.cuStreamEndCapture(stream, &graph);
  call(ended, "cuStreamEndCapture");
  if (status.ok())
    call(driver.cuGraphInstantiateWithFlags(&executable, graph, 0),
         "cuGraphInstantiateWithFlags");
  return status;
}

Result<double> CudaTimer::replay() {
  CudaContext::Scope scope(context);
  if (flushBytes > 0)
    call(driver.cuMemsetD8Async(flush, 1, flushBytes, stream),
         "cuMemsetD8Async");
  call(driver.cuEventRecord(start, stream), "cuEventRecord");
  call(driver.cuGraphLaunch(executable, stream), "cuGraphLaunch");
  call(driver.cuEventRecord(end, stream), "cuEventRecord");
  call(driver.cuEventSynchronize(end), "the timed call");
  float milliseconds = 0;
  call(driver.cuEventElapsedTime(&milliseconds, start, end),
       "cuEventElapsedTime");
  if (!status.ok())
    return status;
  status = context.takeError(/*mayCopy=*/true);
  if (!status.ok())
    return status;
  return milliseconds * 1e3;
}

Result<std::vector<double>> blockscale::runtime::timeOnCuda(
    const CudaModule &module, const ResolvedFunction &function,
    const BufferAddresses &addresses, const RankFunction &overRanks,
    uint64_t flushBytes, size_t count) {
  CudaTimer timer(module.getContext());
  Status status = timer.prepare(flushBytes);
  if (status.ok())
    status = timer.capture(module, function, addresses, overRanks);
  std::vector<double> times;
  while (status.ok() && times.size() < count) {
    Result<double> time = timer.replay();
    status = time.status();
    if (status.ok())
      times.push_back(*time);
  }
  if (!status.ok())
    return status;
  return times;
}

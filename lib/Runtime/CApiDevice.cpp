//===- CApiDevice.cpp - Devices and launches, from C ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "CApi.h"
#include "blockscale/Runtime/CudaTimer.h"

#include <algorithm>

using namespace blockscale::runtime;
using Role = PlanBuffer::Role;

// C names.
// NOLINTBEGIN(readability-identifier-naming)
struct blockscale_device {
  std::shared_ptr<const CudaContext> context;
};

struct blockscale_module {
  std::shared_ptr<const CudaModule> module;
  RankFunction overRanks;
};
// NOLINTEND(readability-identifier-naming)

blockscale_status blockscale_device_open(int ordinal, const char *driver,
                                         blockscale_device **device) {
  Status status = checkNotNull({{"device", device}});
  if (!status.ok())
    return report(status);
  Result<std::shared_ptr<const CudaContext>> context =
      CudaContext::open(ordinal, driver ? driver : "");
  if (!context.ok())
    return report(context.status());
  *device = new blockscale_device{*context};
  return BLOCKSCALE_OK;
}

void blockscale_device_close(blockscale_device *device) { delete device; }

const char *blockscale_device_name(const blockscale_device *device) {
  return device ? device->context->getName().c_str() : nullptr;
}

int blockscale_device_capability(const blockscale_device *device) {
  if (!device)
    return 0;
  ComputeCapability capability = device->context->getCapability();
  return capability.major * 10 + capability.minor;
}

int blockscale_device_driver_version(const blockscale_device *device) {
  return device ? device->context->getDriverVersion() : 0;
}

int blockscale_device_multiprocessors(const blockscale_device *device) {
  return device ? device->context->getMultiprocessors() : 0;
}

blockscale_status blockscale_device_allocate(const blockscale_device *device,
                                             uint64_t bytes,
                                             uint64_t *address) {
  Status status = checkNotNull({{"device", device}, {"address", address}});
  if (!status.ok())
    return report(status);
  Result<uint64_t> allocated = device->context->allocate(bytes, "the caller");
  if (!allocated.ok())
    return report(allocated.status());
  *address = *allocated;
  return BLOCKSCALE_OK;
}

void blockscale_device_free(const blockscale_device *device, uint64_t address) {
  if (device)
    device->context->release(address);
}

blockscale_status blockscale_device_upload(const blockscale_device *device,
                                           uint64_t to, const void *from,
                                           uint64_t bytes) {
  Status status = checkNotNull({{"device", device}});
  if (status.ok() && bytes > 0)
    status = checkNotNull({{"from", from}});
  if (status.ok())
    status =
        device->context->upload(to, static_cast<const uint8_t *>(from), bytes);
  return report(status);
}

blockscale_status blockscale_device_download(const blockscale_device *device,
                                             void *to, uint64_t from,
                                             uint64_t bytes) {
  Status status = checkNotNull({{"device", device}});
  if (status.ok() && bytes > 0)
    status = checkNotNull({{"to", to}});
  if (status.ok())
    status = device->context->download(static_cast<uint8_t *>(to), from, bytes);
  return report(status);
}

blockscale_status blockscale_device_synchronize(const blockscale_device *device,
                                                void *stream) {
  Status status = checkNotNull({{"device", device}});
  if (status.ok())
    status = device->context->synchronize(stream);
  if (status.ok())
    status = device->context->takeError(/*mayCopy=*/true);
  return report(status);
}

blockscale_status
blockscale_device_take_error(const blockscale_device *device) {
  Status status = checkNotNull({{"device", device}});
  return report(status.ok() ? device->context->takeError(/*mayCopy=*/true)
                            : status);
}

blockscale_status blockscale_module_load(const blockscale_bundle *bundle,
                                         const blockscale_device *device,
                                         blockscale_module **module) {
  Status status = checkNotNull(
      {{"bundle", bundle}, {"device", device}, {"module", module}});
  if (!status.ok())
    return report(status);
  Result<std::shared_ptr<const CudaModule>> loaded =
      CudaModule::load(bundle->bundle, device->context);
  if (!loaded.ok())
    return report(loaded.status());
  *module = new blockscale_module{*loaded, {}};
  return BLOCKSCALE_OK;
}

void blockscale_module_unload(blockscale_module *module) { delete module; }

size_t blockscale_module_target(const blockscale_module *module) {
  return module ? module->module->getTarget() : 0;
}

void blockscale_module_set_reduce(blockscale_module *module,
                                  blockscale_reduce_callback reduce,
                                  void *user) {
  if (module)
    module->overRanks = toRankFunction(reduce, user);
}

/// Puts the addresses of a role in their places.
static Status place(const ResolvedFunction &function, Role role,
                    const char *what, const uint64_t *given, size_t count,
                    BufferAddresses &addresses) {
  std::string name = "@" + function.function->name;
  std::vector<size_t> numbers = function.function->getBuffers(role);
  if (count != numbers.size())
    return Status::failure(name + ": expected the addresses of " +
                           std::to_string(numbers.size()) + " " + what +
                           ", but got " + std::to_string(count));
  if (count > 0 && !given)
    return Status::failure(name + ": expected the addresses of " + what +
                           ", but got null");
  for (size_t i = 0; i < count; ++i) {
    const PlanBuffer &buffer = function.function->buffers[numbers[i]];
    uint64_t bytes = function.buffers[numbers[i]].bytes;
    if (!buffer.isScalar && bytes > 0 && given[i] == 0)
      return Status::failure(name + ": expected the address of " + buffer.name +
                             ", which has " + std::to_string(bytes) +
                             " bytes, but got null");
    // Nothing of an empty buffer is accessed, so its address may be anything.
    addresses[numbers[i]] = bytes > 0 ? given[i] : 0;
  }
  return Status::success();
}

/// The addresses of all buffers of a call of a function that was loaded.
static Result<BufferAddresses>
placeAll(const blockscale_module *module, const blockscale_call *call,
         const uint64_t *arguments, size_t argumentCount,
         const uint64_t *results, size_t resultCount, uint64_t workspace,
         uint64_t workspaceBytes) {
  Status status = checkNotNull({{"module", module}, {"call", call}});
  if (!status.ok())
    return status;
  const ResolvedFunction &function = call->resolved;
  const CudaModule &loaded = *module->module;
  if (function.plan != &loaded.getPlan())
    return Status::failure(
        "@" + function.function->name + ": expected a function of the " +
        loaded.getPlan().chip + " target that was loaded, but got one of " +
        (function.plan->chip == loaded.getPlan().chip ? "another bundle"
                                                      : function.plan->chip));
  BufferAddresses addresses = loaded.getConstants(*function.function);
  status = place(function, Role::Argument, "arguments", arguments,
                 argumentCount, addresses);
  if (status.ok())
    status = place(function, Role::Result, "results", results, resultCount,
                   addresses);
  if (status.ok())
    status = placeWorkspaces(function, workspace, workspaceBytes, addresses);
  if (!status.ok())
    return status;
  return addresses;
}

blockscale_status
blockscale_launch(const blockscale_module *module, const blockscale_call *call,
                  const uint64_t *arguments, size_t argumentCount,
                  const uint64_t *results, size_t resultCount,
                  uint64_t workspace, uint64_t workspaceBytes, void *stream) {
  Result<BufferAddresses> addresses =
      placeAll(module, call, arguments, argumentCount, results, resultCount,
               workspace, workspaceBytes);
  if (!addresses.ok())
    return report(addresses.status());
  return report(module->module->launch(call->resolved, *addresses, stream,
                                       module->overRanks));
}

blockscale_status blockscale_time(const blockscale_module *module,
                                  const blockscale_call *call,
                                  const uint64_t *arguments,
                                  size_t argumentCount, const uint64_t *results,
                                  size_t resultCount, uint64_t workspace,
                                  uint64_t workspaceBytes, uint64_t flushBytes,
                                  size_t count, double *microseconds) {
  Status status = checkNotNull({{"microseconds", microseconds}});
  if (!status.ok())
    return report(status);
  Result<BufferAddresses> addresses =
      placeAll(module, call, arguments, argumentCount, results, resultCount,
               workspace, workspaceBytes);
  if (!addresses.ok())
    return report(addresses.status());
  Result<std::vector<double>> times =
      timeOnCuda(*module->module, call->resolved, *addresses, module->overRanks,
                 flushBytes, count);
  if (!times.ok())
    return report(times.status());
  std::copy(times->begin(), times->end(), microseconds);
  return BLOCKSCALE_OK;
}

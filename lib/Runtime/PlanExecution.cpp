//===- PlanExecution.cpp - Runs a resolved function -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Runtime/PlanExecution.h"

#include <utility>

using namespace blockscale::runtime;

Result<BufferAddresses>
blockscale::runtime::allocateBuffers(const ResolvedFunction &function,
                                     const std::vector<PlanArgument> &arguments,
                                     LaunchDevice &device) {
  BufferAddresses addresses;
  for (size_t i = 0; i < function.buffers.size(); ++i) {
    const PlanBuffer &buffer = function.function->buffers[i];
    uint64_t bytes = function.buffers[i].bytes;
    if (buffer.isScalar || buffer.argument) {
      addresses.push_back(buffer.argument ? addresses[*buffer.argument] : 0);
      continue;
    }
    Result<uint64_t> address =
        device.allocate(buffer.name, bytes, buffer.alignment);
    if (!address.ok())
      return address.status();
    addresses.push_back(*address);
    const uint8_t *content = nullptr;
    if (buffer.role == PlanBuffer::Role::Argument)
      content = arguments[i].data; // arguments are the first buffers
    else if (buffer.role == PlanBuffer::Role::Constant)
      content = buffer.getData();
    if (!content || bytes == 0)
      continue;
    Status status = device.upload(*address, content, bytes);
    if (!status.ok())
      return status;
  }
  return addresses;
}

static Status checkAlignment(const ResolvedFunction &function,
                             const BufferAddresses &addresses) {
  for (size_t i = 0; i < addresses.size(); ++i) {
    const PlanBuffer &buffer = function.function->buffers[i];
    if (!buffer.isScalar && addresses[i] % buffer.alignment != 0)
      return Status::failure(
          "@" + function.function->name + ": expected the address of " +
              buffer.name + " (launch_c1) to be a multiple of " +
              std::to_string(buffer.alignment) + ", but got " +
              std::to_string(addresses[i]) + "; copy it to such a multiple",
          ErrorKind::Misaligned);
  }
  return Status::success();
}

static bool overlap(const CallMemory &a, const CallMemory &b) {
  return a.bytes > 0 && b.bytes > 0 && a.address < b.address + b.bytes &&
         b.address < a.address + a.bytes;
}

std::optional<std::pair<size_t, size_t>>
blockscale::runtime::findOverlap(const CallMemory *memory, size_t count) {
  for (size_t i = 0; i < count; ++i)
    for (size_t j = 0; j < i; ++j) {
      const CallMemory &late = memory[i], &early = memory[j];
      if ((!late.isWritten && !early.isWritten) || !overlap(late, early))
        continue;
      bool isShared = late.argument == j && late.address == early.address &&
                      late.bytes == early.bytes;
      if (!isShared)
        return std::pair(i, j);
    }
  return std::nullopt;
}

/// Arguments and results are the first buffers. The memory of constants and
/// workspaces is whole pieces of the device's.
static Status checkOverlaps(const ResolvedFunction &function,
                            const BufferAddresses &addresses) {
  using Role = PlanBuffer::Role;
  std::vector<CallMemory> memory;
  memory.reserve(addresses.size());
  for (size_t i = 0; i < addresses.size(); ++i) {
    const PlanBuffer &buffer = function.function->buffers[i];
    if (buffer.role != Role::Argument && buffer.role != Role::Result)
      break;
    memory.push_back(
        {addresses[i], buffer.isScalar ? 0 : function.buffers[i].bytes,
         buffer.isWritable || buffer.role == Role::Result, buffer.argument});
  }
  auto found = findOverlap(memory.data(), memory.size());
  if (!found)
    return Status::success();
  const PlanBuffer &late = function.function->buffers[found->first];
  const PlanBuffer &early = function.function->buffers[found->second];
  return Status::failure("@" + function.function->name + ": expected " +
                         late.name +
                         " (launch_c3) in memory of its own, but it overlaps " +
                         early.name + "; give each its own");
}

/// The `size` low bytes of a value.
static std::vector<uint8_t> toBytes(uint64_t value, size_t size) {
  std::vector<uint8_t> bytes;
  bytes.reserve(size);
  for (size_t i = 0; i < size; ++i)
    bytes.push_back(static_cast<uint8_t>(value >> (8 * i)));
  return bytes;
}

static Result<std::vector<uint8_t>> encode(const ResolvedParameter &resolved,
                                           const BufferAddresses &addresses,
                                           StepDevice &device) {
  const PlanParameter &parameter = *resolved.parameter;
  switch (parameter.kind) {
  case ParameterKind::Pointer:
    return toBytes(addresses[parameter.address.buffer] + resolved.value, 8);
  case ParameterKind::I64:
    return toBytes(resolved.value, 8);
  case ParameterKind::I32:
  case ParameterKind::F32:
    return toBytes(resolved.value, 4);
  case ParameterKind::TensorMap:
    break;
  }
  return device.encodeTensorMap(parameter.map, resolved.map,
                                addresses[parameter.map.address.buffer] +
                                    resolved.map.offset);
}

static Status runLaunch(const ResolvedFunction &function,
                        const ResolvedStep &step,
                        const BufferAddresses &addresses, StepDevice &device) {
  const ResolvedLaunch &resolved = step.launch;
  DeviceLaunch launch;
  launch.kernel = &function.plan->kernels[step.step->launch->kernel].name;
  launch.grid = resolved.grid;
  launch.block = resolved.block;
  launch.cluster = resolved.cluster;
  launch.sharedBytes = resolved.sharedBytes;
  launch.isProgrammatic = resolved.isProgrammatic;
  launch.mayBeOverlapped = resolved.mayBeOverlapped;
  launch.parameters.reserve(resolved.parameters.size());
  for (const ResolvedParameter &parameter : resolved.parameters) {
    Result<std::vector<uint8_t>> bytes = encode(parameter, addresses, device);
    if (!bytes.ok())
      return bytes.status();
    launch.parameters.push_back(std::move(*bytes));
  }
  return device.launch(launch);
}

uint64_t blockscale::runtime::placeWorkspaces(const ResolvedFunction &function,
                                              uint64_t base,
                                              BufferAddresses &addresses) {
  uint64_t total = 0;
  for (size_t i : function.function->getBuffers(PlanBuffer::Role::Workspace)) {
    addresses[i] = base + total;
    total += alignWorkspace(function.buffers[i].bytes);
  }
  return total;
}

uint64_t
blockscale::runtime::getWorkspaceBytes(const ResolvedFunction &function) {
  BufferAddresses unused(function.buffers.size());
  return placeWorkspaces(function, 0, unused);
}

Status blockscale::runtime::placeWorkspaces(const ResolvedFunction &function,
                                            uint64_t workspace,
                                            uint64_t workspaceBytes,
                                            BufferAddresses &addresses) {
  std::string name = "@" + function.function->name;
  uint64_t bytes = placeWorkspaces(function, workspace, addresses);
  if (bytes > 0 && workspace == 0)
    return Status::failure(name + ": expected a workspace of " +
                           std::to_string(bytes) + " bytes, but got null");
  if (workspaceBytes < bytes)
    return Status::failure(
        name + ": expected the workspace (launch_c2) to have at least " +
        std::to_string(bytes) + " bytes, but got " +
        std::to_string(workspaceBytes) +
        "; allocate what the question for workspace bytes answers");
  if (bytes > 0 && alignWorkspace(workspace) != workspace)
    return Status::failure(name +
                               ": expected the address of the workspace "
                               "(launch_c1) to be a multiple of " +
                               std::to_string(alignWorkspace(1)) +
                               ", but got " + std::to_string(workspace) +
                               "; allocate more and begin at such a multiple",
                           ErrorKind::Misaligned);
  return Status::success();
}

Status blockscale::runtime::checkRankFunction(const std::string &name,
                                              const RankFunction &overRanks) {
  if (overRanks)
    return Status::success();
  return Status::failure(
      "@" + name +
      ": expected a function that reduces amaxes over ranks (launch_c4), but "
      "got none; give one, or say that there is one rank");
}

static Status runReduction(const ResolvedFunction &function,
                           const ResolvedStep &step,
                           const BufferAddresses &addresses, StepDevice &device,
                           const RankFunction &overRanks) {
  const PlanReduction &planned = *step.step->reduction;
  RankReduction reduction;
  reduction.address = addresses[planned.address.buffer] + step.reduction.offset;
  reduction.count = step.reduction.count;
  reduction.type = function.function->buffers[planned.address.buffer].dtype;
  reduction.kind = planned.kind;
  return device.reduceOverRanks(reduction, overRanks);
}

Status blockscale::runtime::runSteps(const ResolvedFunction &function,
                                     const BufferAddresses &addresses,
                                     StepDevice &device,
                                     const RankFunction &overRanks) {
  Status status = checkAlignment(function, addresses);
  if (status.ok())
    status = checkOverlaps(function, addresses);
  if (status.ok() && function.isOfRanks)
    status = checkRankFunction(function.function->name, overRanks);
  for (size_t i = 0; status.ok() && i < function.steps.size(); ++i) {
    const ResolvedStep &step = function.steps[i];
    if (step.isEmpty)
      continue;
    if (step.step->launch) {
      status = runLaunch(function, step, addresses, device);
      continue;
    }
    if (step.step->reduction) {
      status = runReduction(function, step, addresses, device, overRanks);
      continue;
    }
    const PlanCopy &copy = *step.step->copy;
    uint64_t to = addresses[copy.to.buffer] + step.copy.toOffset;
    uint64_t from = addresses[copy.from.buffer] + step.copy.fromOffset;
    // A result in the memory of an argument is there already.
    if (to != from)
      status = device.copy(to, from, step.copy.bytes);
  }
  return status;
}

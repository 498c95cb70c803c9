//===- EmulatorDevice.cpp - The emulator as a device of plans -------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Driver/EmulatorDevice.h"

#include "blockscale/Emulator/TensorMap.h"
#include "blockscale/Runtime/AlignedBuffer.h"
#include "blockscale/Runtime/ErrorRecord.h"

#include "llvm/ADT/STLExtras.h"

#include <cstring>

using blockscale::runtime::Status;

namespace blockscale {

/// The emulator's error as the runtime has errors.
static Status toStatus(llvm::Error error) {
  if (!error)
    return Status::success();
  return Status::failure(llvm::toString(std::move(error)));
}

/// A map's description as the emulator has it.
static emulator::TensorMap makeTensorMap(const runtime::PlanTensorMap &plan,
                                         const runtime::ResolvedTensorMap &map,
                                         uint64_t address) {
  emulator::TensorMap result;
  result.element = static_cast<emulator::TensorElement>(plan.element);
  result.rank = map.dims.size();
  result.address = address;
  llvm::copy(map.dims, result.dims.begin());
  llvm::copy(map.strides, result.strides.begin());
  llvm::copy(plan.box, result.box.begin());
  llvm::copy(plan.elementStrides, result.elementStrides.begin());
  result.interleave = static_cast<emulator::TensorInterleave>(plan.interleave);
  result.swizzle = static_cast<emulator::Swizzle>(plan.swizzle);
  result.fill = static_cast<emulator::TensorFill>(plan.fill);
  return result;
}

llvm::Error EmulatorDevice::load(llvm::StringRef ptx) {
  return emulator::Program::load(ptx, device).moveInto(program);
}

runtime::Result<uint64_t> EmulatorDevice::allocate(const std::string &name,
                                                   uint64_t bytes,
                                                   uint64_t alignment) {
  return device.global.allocate(name, bytes, alignment);
}

static std::string joinFaults(llvm::ArrayRef<emulator::Fault> faults) {
  std::string text;
  for (const emulator::Fault &fault : faults)
    text += (text.empty() ? "" : "; ") + fault.what;
  return text;
}

Status EmulatorDevice::upload(uint64_t to, const uint8_t *from,
                              uint64_t bytes) {
  stream.synchronize();
  llvm::SmallVector<emulator::Fault, 1> faults;
  llvm::MutableArrayRef<uint8_t> target =
      device.global.write(to, bytes, /*alignment=*/1, faults);
  if (target.empty())
    return Status::failure(joinFaults(faults));
  std::memcpy(target.data(), from, bytes);
  return Status::success();
}

Status EmulatorDevice::download(uint8_t *to, uint64_t from, uint64_t bytes) {
  for (const emulator::Buffer &buffer : device.global.getBuffers()) {
    if (buffer.base != from || buffer.bytes.size() != bytes)
      continue;
    std::memcpy(to, buffer.bytes.data(), bytes);
    return toStatus(emulator::checkWritten(buffer));
  }
  return Status::failure("expected a whole buffer to download");
}

Status EmulatorDevice::copy(uint64_t to, uint64_t from, uint64_t bytes) {
  llvm::SmallVector<emulator::Fault, 1> faults;
  llvm::ArrayRef<uint8_t> source =
      device.global.read(from, bytes, /*alignment=*/1, faults);
  if (!faults.empty())
    return Status::failure(joinFaults(faults));
  return upload(to, source.data(), bytes);
}

runtime::Result<std::vector<uint8_t>>
EmulatorDevice::encodeTensorMap(const runtime::PlanTensorMap &plan,
                                const runtime::ResolvedTensorMap &map,
                                uint64_t address) {
  emulator::TensorMap made = makeTensorMap(plan, map, address);
  if (Status status = toStatus(emulator::checkTensorMap(made)); !status.ok())
    return status;
  std::array<uint8_t, emulator::kTensorMapBytes> bytes = emulator::encode(made);
  return std::vector<uint8_t>(bytes.begin(), bytes.end());
}

Status EmulatorDevice::launch(const runtime::DeviceLaunch &launch) {
  emulator::LaunchRequest request;
  request.kernel = *launch.kernel;
  request.grid = launch.grid;
  request.block = launch.block;
  request.cluster = launch.cluster;
  request.dynamicSharedBytes = launch.sharedBytes;
  // What others access is not kept: no launch overlaps them.
  if (launch.isProgrammatic || launch.mayBeOverlapped)
    request.stream = &stream;
  request.isProgrammatic = launch.isProgrammatic;
  request.arguments = launch.parameters;
  llvm::Expected<emulator::Profile> profile =
      emulator::runKernel(*program, device, request, options, report);
  if (!profile)
    return Status::failure(llvm::toString(profile.takeError()));
  if (!report.empty())
    return Status::failure("the emulator has findings about kernel '" +
                           *launch.kernel + "'");
  std::map<std::string, uint64_t> instructions;
  if (options.profile)
    instructions = emulator::countBySpelling(*program, *profile);
  profiles.push_back(
      {*launch.kernel, std::move(*profile), std::move(instructions)});
  return Status::success();
}

Status EmulatorDevice::reduceOverRanks(runtime::RankReduction reduction,
                                       const runtime::RankFunction &overRanks) {
  stream.synchronize();
  uint64_t address = reduction.address;
  uint64_t bytes = reduction.count * runtime::getNpyByteWidth(reduction.type);
  llvm::SmallVector<emulator::Fault, 1> faults;
  llvm::ArrayRef<uint8_t> source =
      device.global.read(address, bytes, /*alignment=*/1, faults);
  if (!faults.empty())
    return Status::failure(joinFaults(faults));
  runtime::Result<runtime::AlignedBuffer> values =
      runtime::AlignedBuffer::allocate(bytes);
  if (!values.ok())
    return values.status();
  llvm::copy(source, values->data());
  reduction.address = reinterpret_cast<uint64_t>(values->data());
  Status status = overRanks(reduction);
  return status.ok() ? upload(address, values->data(), bytes) : status;
}

Status EmulatorDevice::findError() {
  const emulator::Buffer *buffer =
      device.global.find(runtime::kErrorRecordSymbol);
  runtime::ErrorRecordVariable variable;
  if (!buffer || (buffer->bytes.size() != sizeof(variable) &&
                  buffer->bytes.size() != runtime::kShortErrorVariableBytes))
    return Status::success();
  std::memcpy(&variable, buffer->bytes.data(), buffer->bytes.size());
  if (variable.record.ruleAndOp == 0)
    return Status::success();
  return Status::failure(runtime::formatErrorRecord(variable.record),
                         runtime::ErrorKind::InvalidData);
}

} // namespace blockscale

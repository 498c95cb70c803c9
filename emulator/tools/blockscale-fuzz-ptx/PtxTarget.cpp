//===- PtxTarget.cpp - What one PTX text of the fuzzer does ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PtxTarget.h"

#include "blockscale/Emulator/InstructionSet.h"
#include "blockscale/Emulator/Launch.h"
#include "blockscale/Emulator/Parser.h"
#include "blockscale/Emulator/TensorMap.h"
#include "blockscale/Emulator/Validation.h"

#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace llvm;
using namespace blockscale::emulator;

namespace blockscale {

/// Limits of an input. Larger ones would take more time than what they reach is
/// worth.
static constexpr uint64_t kMaxVariableBytes = 1 << 20;
static constexpr size_t kMaxKernels = 4;
static constexpr uint64_t kMaxSteps = 2000;
static constexpr uint64_t kMaxThreads = 256;
static constexpr uint32_t kMaxClusterCtas = 4;
static constexpr uint64_t kBufferBytes = 1 << 14;
static constexpr uint64_t kDynamicSharedBytes = 1 << 14;

/// Formatting is part of what must not crash.
static void consume(Error error) { (void)toString(std::move(error)); }

/// Zeros that the emulator would have to be given memory for.
static bool hasLargeVariable(const Module &module) {
  uint64_t bytes = 0;
  for (const Variable &variable : module.variables)
    bytes = SaturatingAdd(bytes, variable.bytes);
  return bytes > kMaxVariableBytes;
}

/// A tile of bytes in a matrix of bytes at `address`.
static TensorMap makeMap(uint64_t address) {
  TensorMap map;
  map.rank = 2;
  map.address = address;
  map.dims = {128, kBufferBytes / 128};
  map.strides = {128};
  map.box = {64, 16};
  return map;
}

/// The bytes of an argument: parameters of 8 bytes get the address of a buffer,
/// those of the size of a tensor map get one, and others get zeros.
static std::vector<uint8_t> makeArgument(const Variable &parameter,
                                         Device &device) {
  // A wrong size, which must be refused.
  if (parameter.bytes > kBufferBytes)
    return {};
  std::vector<uint8_t> bytes(parameter.bytes);
  if (bytes.size() != 8 && bytes.size() != kTensorMapBytes)
    return bytes;
  std::vector<uint8_t> zeros(kBufferBytes);
  uint64_t address =
      device.global.allocate(parameter.name, zeros, /*alignment=*/256);
  if (bytes.size() == 8)
    for (unsigned i = 0; i < 8; ++i)
      bytes[i] = address >> 8 * i;
  else
    copy(encode(makeMap(address)), bytes.begin());
  return bytes;
}

/// What the kernel asks for, or the fallback where it asks for too much.
static Dim3 getDims(const Function &kernel, StringRef directive, Dim3 fallback,
                    uint64_t limit) {
  const PerformanceDirective *found = kernel.getDirective(directive);
  if (!found)
    return fallback;
  Dim3 dims = {1, 1, 1};
  uint64_t product = 1;
  for (auto [dim, value] : zip(dims, found->values)) {
    dim = value;
    product = SaturatingMultiply<uint64_t>(product, value);
  }
  return product <= limit ? dims : fallback;
}

/// Runs the first kernels of a program. True where instructions were executed.
static bool runKernels(const Program &program, Device &device,
                       Schedule schedule) {
  bool hasExecuted = false;
  SmallVector<StringRef> names = program.getKernelNames();
  for (StringRef name : ArrayRef(names).take_front(kMaxKernels)) {
    const Function &kernel = *program.findKernel(name)->function;
    LaunchRequest request;
    request.kernel = name;
    request.block = getDims(kernel, "reqntid", {64, 1, 1}, kMaxThreads);
    request.cluster =
        getDims(kernel, "reqnctapercluster", {1, 1, 1}, kMaxClusterCtas);
    request.grid = request.cluster;
    request.grid[0] *= 2;
    request.dynamicSharedBytes = kDynamicSharedBytes;
    for (const Variable &parameter : kernel.parameters)
      request.arguments.push_back(makeArgument(parameter, device));
    RunOptions options;
    options.schedule = schedule;
    options.maxSteps = kMaxSteps;
    options.jobs = 1;
    options.profile = true;
    options.strict = true;
    Report report;
    Expected<Profile> profile =
        runKernel(program, device, request, options, report);
    report.print(nulls());
    if (profile)
      hasExecuted |= profile->warpInstructions != 0;
    else
      consume(profile.takeError());
  }
  return hasExecuted;
}

PtxProgress runPtx(StringRef text) {
  Expected<Module> module = parseModule(text);
  if (!module) {
    consume(module.takeError());
    return PtxProgress::Refused;
  }
  Error error = resolveNames(*module);
  if (!error)
    error = verifyInstructions(*module);
  if (error) {
    consume(std::move(error));
    return PtxProgress::Refused;
  }
  if (hasLargeVariable(*module))
    return PtxProgress::Verified;
  Device device;
  Expected<std::unique_ptr<Program>> program =
      Program::create(std::move(*module), device);
  if (!program) {
    consume(program.takeError());
    return PtxProgress::Verified;
  }
  bool hasExecuted = runKernels(**program, device, Schedule::Prompt);
  hasExecuted |= runKernels(**program, device, Schedule::Adversarial);
  return hasExecuted ? PtxProgress::Executed : PtxProgress::Verified;
}

} // namespace blockscale

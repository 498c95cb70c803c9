//===- EmulatorDevice.h - The emulator as a device of plans -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_DRIVER_EMULATORDEVICE_H
#define BLOCKSCALE_DRIVER_EMULATORDEVICE_H

#include "blockscale/Emulator/Launch.h"
#include "blockscale/Runtime/PlanExecution.h"

namespace blockscale {

/// What a launch of a kernel counted.
struct LaunchProfile {
  std::string kernel;
  emulator::Profile profile;
  /// Thread instructions by their spelling; empty without a profile.
  std::map<std::string, uint64_t> instructions;
};

/// Runs the kernels of one PTX module. A launch that the emulator has findings
/// about fails; they are in the report.
class EmulatorDevice : public runtime::LaunchDevice {
public:
  /// Kernels must have every fence that PTX asks for, whatever `options` says.
  explicit EmulatorDevice(const emulator::RunOptions &options)
      : options(options) {
    this->options.requireFences = true;
  }

  /// The module whose kernels are launched; the text must outlive the device.
  llvm::Error load(llvm::StringRef ptx);

  const emulator::Report &getReport() const { return report; }
  /// The profiles of the launches that were done, in their order.
  llvm::ArrayRef<LaunchProfile> getProfiles() const { return profiles; }

  runtime::Result<uint64_t> allocate(const std::string &name, uint64_t bytes,
                                     uint64_t alignment) override;
  runtime::Status upload(uint64_t to, const uint8_t *from,
                         uint64_t bytes) override;
  /// All of a buffer; fails where some of it was never written.
  runtime::Status download(uint8_t *to, uint64_t from, uint64_t bytes) override;
  runtime::Status copy(uint64_t to, uint64_t from, uint64_t bytes) override;
  runtime::Result<std::vector<uint8_t>>
  encodeTensorMap(const runtime::PlanTensorMap &plan,
                  const runtime::ResolvedTensorMap &map,
                  uint64_t address) override;
  runtime::Status launch(const runtime::DeviceLaunch &launch) override;
  /// The function gets a copy in the host's memory.
  runtime::Status
  reduceOverRanks(runtime::RankReduction reduction,
                  const runtime::RankFunction &overRanks) override;

  /// The error that kernels found first, by the module's error record.
  runtime::Status findError();

private:
  emulator::RunOptions options;
  emulator::Device device;
  /// The launches of a plan.
  emulator::Stream stream;
  std::unique_ptr<emulator::Program> program;
  emulator::Report report;
  std::vector<LaunchProfile> profiles;
};

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_EMULATORDEVICE_H

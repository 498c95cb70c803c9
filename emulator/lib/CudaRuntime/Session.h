//===- Session.h - The emulated device of this process ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CUDARUNTIME_SESSION_H
#define BLOCKSCALE_LIB_CUDARUNTIME_SESSION_H

#include "Abi.h"
#include "blockscale/Emulator/Device.h"
#include "blockscale/Emulator/Launch.h"
#include "blockscale/Runtime/ChipMatch.h"
#include "blockscale/Target/Chip.h"

#include <map>
#include <mutex>
#include <set>
#include <string>

namespace blockscale::cuda {

/// All state that the functions share. Every function holds the mutex while it
/// uses the rest.
struct Session {
  std::mutex mutex;

  std::string chip;
  runtime::ComputeCapability capability;
  int multiprocessors = 0;
  target::MultiprocessorLimits limits = {};
  emulator::RunOptions options;
  /// Whether each launch says what it executed.
  bool printsLaunches = false;

  /// Whether cuInit was called.
  bool isInitialized = false;
  /// Whether a function of the runtime was called, which makes the context.
  bool isUsedByRuntime = false;
  /// How often the driver's context is retained.
  unsigned contextUsers = 0;

  emulator::Device device;
  /// Streams by their handles, each with launches that a later one may overlap.
  /// Nothing else that a stream has overlaps: copies, events and waits of the
  /// host forget them.
  std::map<const void *, emulator::Stream> streams;
  void synchronizeStreams() { streams.clear(); }
  /// The findings of all launches.
  emulator::Report report;
  /// What a kernel did to the device; every later function fails with it, as
  /// after a fault of real hardware.
  Error deviceError = Error::Success;

  /// Writes the findings, and what was asked for and is not modelled, to the
  /// file of this process, if there is one.
  void writeReport();
  void writeReport(const std::set<std::string> &notModelled);
};

/// Notes what a program asked for and the emulator has not, which stands in the
/// file of this process like a finding: the program may take another way, but
/// what it does then is not what it would do on the chip.
void noteNotModelled(const std::string &what);

/// The session, which begins with the first call and never ends. Its options
/// come from the environment; a value there that means nothing ends the
/// process.
Session &getSession();

} // namespace blockscale::cuda

#endif // BLOCKSCALE_LIB_CUDARUNTIME_SESSION_H

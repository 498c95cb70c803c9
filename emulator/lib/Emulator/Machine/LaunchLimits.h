//===- LaunchLimits.h - Limits of a launch ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The limits that a launch on compute capability 8.0 to 12.x must keep. CUDA
// Programming Guide, table "Technical Specifications per Compute Capability",
// and PTX ISA, ".reqntid", ".maxntid" and "Cluster dimension directives".
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMULATOR_MACHINE_LAUNCHLIMITS_H
#define BLOCKSCALE_LIB_EMULATOR_MACHINE_LAUNCHLIMITS_H

#include "blockscale/Emulator/Launch.h"

namespace blockscale::emulator {

/// The most local memory that a thread may have.
constexpr uint64_t kMaxLocalBytes = 512 << 10;

/// The most calls of a thread within each other. Each takes memory of the
/// emulator, also where the thread needs none for it.
constexpr uint32_t kMaxCallDepth = 8192;

/// The local memory that a call needs: the variables of the function and a
/// place for each of its registers.
inline uint64_t getCallBytes(const ProgramFunction &function) {
  return function.localBytes + function.frameBytes +
         function.slotCount * sizeof(uint64_t);
}

struct LaunchShape {
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  Dim3 cluster = {1, 1, 1};
  /// Static and dynamic, in bytes.
  uint64_t sharedBytes = 0;
  /// What the chip has of it.
  uint64_t maxSharedBytes = 232448;
  uint64_t parameterBytes = 0;
  /// What variables of a thread take, in the function that has most of them.
  uint64_t localBytes = 0;
  /// .reqntid and .maxntid of the kernel, where it has them.
  std::optional<Dim3> requiredBlock;
  std::optional<Dim3> maximumBlock;
};

/// The most bytes of shared memory that a CTA has on a target of PTX, as
/// "sm_120a". A target of the emulator that is none of them counts as the one
/// with most.
uint64_t getMaxSharedBytes(llvm::StringRef target);

/// A fault for every limit broken; true where there is none.
bool checkLaunch(const LaunchShape &shape, Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_LIB_EMULATOR_MACHINE_LAUNCHLIMITS_H

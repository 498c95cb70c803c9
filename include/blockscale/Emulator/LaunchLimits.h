//===- LaunchLimits.h - What a launch may ask for ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a launch on compute capability 9.0 to 10.x may ask for. CUDA Programming
// Guide, table "Technical Specifications per Compute Capability", and PTX ISA,
// ".reqntid", ".maxntid" and "Cluster dimension directives".
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_EMULATOR_LAUNCHLIMITS_H
#define BLOCKSCALE_EMULATOR_LAUNCHLIMITS_H

#include "blockscale/Emulator/Report.h"

namespace blockscale::emulator {

using Dim3 = std::array<uint32_t, 3>;

/// Of a thread.
constexpr uint64_t kMaxLocalBytes = 512 << 10;

struct LaunchShape {
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  Dim3 cluster = {1, 1, 1};
  /// Static and dynamic, in bytes.
  uint64_t sharedBytes = 0;
  uint64_t parameterBytes = 0;
  /// What variables of a thread take, in the function that has most of them.
  uint64_t localBytes = 0;
  /// .reqntid and .maxntid of the kernel, where it has them.
  std::optional<Dim3> requiredBlock;
  std::optional<Dim3> maximumBlock;
};

/// A fault for every limit broken; true where there is none.
bool checkLaunch(const LaunchShape &shape, Faults &faults);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_LAUNCHLIMITS_H

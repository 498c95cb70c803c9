//===- Gpu.h - Rates of GPUs ------------------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The constants of the cost model. A chip (Chip.h) says which instructions
// there are; a GPU is a product with that chip, and says how fast they are.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TARGET_GPU_H
#define BLOCKSCALE_TARGET_GPU_H

#include <array>
#include <string>
#include <string_view>

namespace blockscale::target {

/// What computes: the f32 lanes, or the tensor cores on operands of 16, 8 or 6,
/// or 4 bits.
enum class Unit { F32, Bf16, Fp8, Fp4 };
inline constexpr unsigned kUnitCount = 4;

/// Dense rates of one GPU, and the share of them that programs reach.
struct Gpu {
  std::string_view name;
  /// FLOP a second of each Unit; a multiply-add is two. 0 where the GPU has no
  /// such operands.
  std::array<double, kUnitCount> peakFlops;
  /// Bytes read and written a second.
  double peakBytes;
  double flopsShare;
  double bytesShare;
  int multiprocessors;

  double getPeakFlops(Unit unit) const {
    return peakFlops[static_cast<unsigned>(unit)];
  }
  bool has(Unit unit) const { return getPeakFlops(unit) != 0; }

  /// Bytes on their way to each multiprocessor that keep the memory busy: those
  /// of the time that an access takes.
  double getBytesInFlight() const;
  /// Instructions of a thread for each byte that is moved, of which issuing
  /// takes as long as moving.
  double getInstructionsPerByte() const;
};

/// Seconds from one kernel to the next that no kernel is shorter than.
inline constexpr double kLaunchSeconds = 2e-6;

/// The GPU called `name` (for example "B200"), or null.
const Gpu *findGpu(std::string_view name);

/// The known names, separated by ", ".
std::string listGpus();

/// The names of those that have a unit.
std::string listGpus(Unit unit);

/// A unit for messages: "tensor cores for operands of 4 bits".
std::string describeUnit(Unit unit);

} // namespace blockscale::target

#endif // BLOCKSCALE_TARGET_GPU_H

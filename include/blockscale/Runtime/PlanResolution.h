//===- PlanResolution.h - A plan's function in numbers ----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What a function of a plan does for arguments of given shapes: every
// expression evaluated, every limit checked, the steps of loops and branches
// one after the other as they run. It can be executed any number of times.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_PLANRESOLUTION_H
#define BLOCKSCALE_RUNTIME_PLANRESOLUTION_H

#include "blockscale/Runtime/LaunchPlan.h"

namespace blockscale::runtime {

/// An argument of a call: an array, or a scalar with shape ().
struct PlanArgument {
  NpyType dtype = NpyType::UInt8;
  std::vector<int64_t> shape;
  const uint8_t *data = nullptr;
};

struct ResolvedBuffer {
  /// The sizes; empty for a scalar.
  std::vector<int64_t> shape;
  uint64_t bytes = 0;
};

struct ResolvedTensorMap {
  /// Bytes from the begin of the parameter's buffer to the tensor.
  uint64_t offset = 0;
  std::vector<uint64_t> dims;
  std::vector<uint64_t> strides;
};

struct ResolvedParameter {
  const PlanParameter *parameter = nullptr;
  /// The offset of a pointer, or the bits of another value.
  uint64_t value = 0;
  ResolvedTensorMap map;
};

using ResolvedDim3 = std::array<uint32_t, 3>;

struct ResolvedLaunch {
  ResolvedDim3 grid = {1, 1, 1};
  ResolvedDim3 block = {1, 1, 1};
  ResolvedDim3 cluster = {1, 1, 1};
  uint64_t sharedBytes = 0;
  std::vector<ResolvedParameter> parameters;
  /// Whether it may begin before what was done before it has ended.
  bool isProgrammatic = false;
  /// Whether what is done next may begin before it has ended.
  bool mayBeOverlapped = false;
};

struct ResolvedCopy {
  uint64_t fromOffset = 0;
  uint64_t toOffset = 0;
  uint64_t bytes = 0;
};

struct ResolvedReduction {
  /// In bytes.
  uint64_t offset = 0;
  uint64_t count = 0;
};

/// Most steps of a call, with those that are empty, set variables or check.
inline constexpr size_t kMostSteps = size_t(1) << 20;

/// A launch, a copy or a reduction of the plan, with that member set.
struct ResolvedStep {
  const PlanStep *step = nullptr;
  /// Whether it is of nothing.
  bool isEmpty = false;
  ResolvedLaunch launch;
  ResolvedCopy copy;
  ResolvedReduction reduction;
};

struct ResolvedFunction {
  /// The plan and its function, which must outlive this.
  const LaunchPlan *plan = nullptr;
  const PlanFunction *function = nullptr;
  /// Shapes and bytes of the plan's buffers, in their order.
  std::vector<ResolvedBuffer> buffers;
  std::vector<ResolvedStep> steps;
  /// Whether the plan's function reduces over ranks, also where this does not.
  bool isOfRanks = false;
};

/// Bytes of a workspace up to where the next one begins. Allocators of devices
/// align to 256 bytes, which is the most that plans ask for.
constexpr uint64_t alignWorkspace(uint64_t bytes) {
  return (bytes + 255) / 256 * 256;
}

/// Fails where the arguments are not of the function's types, where a
/// constraint does not hold and where a size or launch is out of its limits.
Result<ResolvedFunction> resolve(const LaunchPlan &plan,
                                 const PlanFunction &function,
                                 const std::vector<PlanArgument> &arguments);

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_PLANRESOLUTION_H

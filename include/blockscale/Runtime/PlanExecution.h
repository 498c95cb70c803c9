//===- PlanExecution.h - Runs a resolved function ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The steps of a function on a device behind an interface: the emulator, or a
// driver. A call is refused by these clauses:
//
//  - launch_c1: buffers are at multiples of their alignment, and workspaces,
//    all together, at a multiple of 256.
//  - launch_c2: the caller's memory for workspaces has as many bytes as they.
//  - launch_c3: an argument that is given away, and a result, overlap no other
//    argument or result, but for a result in the argument that the plan names.
//  - launch_c4: the host has a function for reductions over ranks, if the
//    function of the plan has such steps.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_RUNTIME_PLANEXECUTION_H
#define BLOCKSCALE_RUNTIME_PLANEXECUTION_H

#include "blockscale/Runtime/PlanResolution.h"

namespace blockscale::runtime {

/// A kernel with everything it needs.
struct DeviceLaunch {
  const std::string *kernel = nullptr;
  ResolvedDim3 grid = {1, 1, 1};
  ResolvedDim3 block = {1, 1, 1};
  ResolvedDim3 cluster = {1, 1, 1};
  uint64_t sharedBytes = 0;
  /// Whether it may begin before the launch before it has ended, which is one
  /// of the same call.
  bool isProgrammatic = false;
  /// Whether the launch behind it is such a one.
  bool mayBeOverlapped = false;
  /// The bytes of each parameter.
  std::vector<std::vector<uint8_t>> parameters;
};

/// Does the steps in the order of the calls. Device addresses are numbers; 0 is
/// none.
class StepDevice {
public:
  virtual ~StepDevice() = default;

  virtual Status copy(uint64_t to, uint64_t from, uint64_t bytes) = 0;
  /// The 128 bytes of a tensor map whose tensor begins at `address`.
  virtual Result<std::vector<uint8_t>>
  encodeTensorMap(const PlanTensorMap &plan, const ResolvedTensorMap &map,
                  uint64_t address) = 0;
  virtual Status launch(const DeviceLaunch &launch) = 0;
  /// Has `overRanks` reduce elements of the device's memory. The device says
  /// which stream it works on, or gives the host's memory in its place.
  virtual Status reduceOverRanks(RankReduction reduction,
                                 const RankFunction &overRanks) = 0;
};

/// A device that does the steps and has memory of its own.
class LaunchDevice : public StepDevice {
public:
  /// Memory whose content is undefined. `name` is for messages.
  virtual Result<uint64_t> allocate(const std::string &name, uint64_t bytes,
                                    uint64_t alignment) = 0;
  virtual Status upload(uint64_t to, const uint8_t *from, uint64_t bytes) = 0;
  /// Waits for the work so far.
  virtual Status download(uint8_t *to, uint64_t from, uint64_t bytes) = 0;
};

/// Device addresses of a function's buffers, by their numbers; those of scalars
/// are not read.
using BufferAddresses = std::vector<uint64_t>;

/// The memory of an argument or a result of a call.
struct CallMemory {
  uint64_t address = 0;
  /// 0 for a scalar.
  uint64_t bytes = 0;
  /// Whether the call may write there: to a result, and to an argument that is
  /// given away.
  bool isWritten = false;
  /// The number of the argument whose memory a result may have.
  std::optional<size_t> argument;
};

/// The numbers of two pieces of memory that overlap and must not, the later one
/// first, if there are such. `memory` has that of all arguments, then that of
/// all results. What is only read may overlap, and a result may have all of the
/// memory of its argument.
std::optional<std::pair<size_t, size_t>> findOverlap(const CallMemory *memory,
                                                     size_t count);

/// Allocates all buffers but results in the memory of arguments, and fills
/// arguments and constants. `arguments` are those that the function was
/// resolved for.
Result<BufferAddresses>
allocateBuffers(const ResolvedFunction &function,
                const std::vector<PlanArgument> &arguments,
                LaunchDevice &device);

/// Gives the workspaces addresses in one piece of memory that begins at `base`,
/// a multiple of 256, and returns the bytes that it must have.
uint64_t placeWorkspaces(const ResolvedFunction &function, uint64_t base,
                         BufferAddresses &addresses);

/// The bytes of all workspaces of a call.
uint64_t getWorkspaceBytes(const ResolvedFunction &function);

/// Gives the workspaces addresses in memory of a caller: enough of it, at an
/// address that is a multiple of 256.
Status placeWorkspaces(const ResolvedFunction &function, uint64_t workspace,
                       uint64_t workspaceBytes, BufferAddresses &addresses);

/// Runs the steps, without any allocation on the device. Fails before the first
/// one where an address is not aligned as the plan says, where buffers overlap
/// that may not, and where the plan's function reduces over ranks but
/// `overRanks` is empty.
Status runSteps(const ResolvedFunction &function,
                const BufferAddresses &addresses, StepDevice &device,
                const RankFunction &overRanks = {});

} // namespace blockscale::runtime

#endif // BLOCKSCALE_RUNTIME_PLANEXECUTION_H

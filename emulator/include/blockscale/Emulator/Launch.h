//===- Launch.h - Execution of a kernel -------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_EMULATOR_LAUNCH_H
#define BLOCKSCALE_EMULATOR_LAUNCH_H

#include "blockscale/Emulator/Program.h"
#include "blockscale/Emulator/Report.h"
#include "blockscale/Emulator/Stream.h"
#include "blockscale/Emulator/SumDevice.h"

#include "llvm/Support/raw_ostream.h"

#include <map>

namespace blockscale::emulator {

/// An extent or an index in x, y and z.
using Dim3 = std::array<uint32_t, 3>;

/// When asynchronous work is done, and in which order threads run.
enum class Schedule : uint8_t {
  /// Work is done as it is issued; warps take turns in order.
  Prompt,
  /// Work is done when no thread can go on without it, one piece at a time;
  /// warps, turns and pieces are drawn from the seed.
  Adversarial,
  /// As adversarial, but pieces of work are also done in between, behind
  /// instructions that are drawn from the seed.
  Random,
};

/// "prompt", "adversarial", "random": as the tools' options name them.
llvm::StringRef getName(Schedule schedule);
/// None where no schedule has the name.
std::optional<Schedule> findSchedule(llvm::StringRef name);

/// Some ten times the instructions that a cluster of the largest programs that
/// are known to end executes, and half a minute.
inline constexpr uint64_t kDefaultMaxSteps = 1'000'000'000;

struct RunOptions {
  Schedule schedule = Schedule::Prompt;
  uint64_t seed = 0;
  /// Warp instructions of a cluster; 0 for no limit.
  uint64_t maxSteps = kDefaultMaxSteps;
  /// Host threads; 0 for as many as the machine has.
  unsigned jobs = 0;
  /// The stream that every executed instruction is written to, if not null; the
  /// launch runs on one host thread then.
  llvm::raw_ostream *trace = nullptr;
  bool profile = false;
  /// Report also what PTX forbids but ptxas is known to put right: registers of
  /// tcgen05.ld used before a wait that follows in the same block.
  bool strict = false;
  /// Report missing fences that compilers are known to leave out, tcgen05.fence
  /// and those behind mbarrier.init, also where the module has none of them.
  bool requireFences = false;
  /// The device whose tensor cores add products; without it that of the PTX's
  /// target, and Exact where nobody has told how the target adds.
  std::optional<SumDevice> sums;
  /// Let NaN among the scale factors of a product give NaN, without a finding.
  bool allowNanScales = false;
};

struct LaunchRequest {
  llvm::StringRef kernel;
  Dim3 grid = {1, 1, 1};
  Dim3 block = {1, 1, 1};
  Dim3 cluster = {1, 1, 1};
  uint64_t dynamicSharedBytes = 0;
  /// The launches that this one comes behind, and those behind it; null where
  /// no other one may overlap it.
  Stream *stream = nullptr;
  /// Programmatic stream serialization: the launch may begin before the one
  /// before it in the stream has ended, and what it accesses before a
  /// griddepcontrol.wait must not be what that one accesses.
  bool isProgrammatic = false;
  /// The bytes of each parameter, as many as the parameter has.
  std::vector<std::vector<uint8_t>> arguments;
};

/// The least number of bytes that global memory moves.
inline constexpr uint64_t kSectorBytes = 32;

/// What a run counted.
struct Profile {
  /// Thread instructions in all, and by the op's index in the program.
  uint64_t threadInstructions = 0;
  uint64_t warpInstructions = 0;
  std::vector<uint64_t> byOp;
  /// Bytes that threads and asynchronous copies read and wrote, by StateSpace.
  std::array<uint64_t, 5> bytesRead = {};
  std::array<uint64_t, 5> bytesWritten = {};
  /// Pieces of 32 aligned bytes of global memory: of each instruction of a warp
  /// those that its lanes touch, each once; of an asynchronous copy a piece for
  /// every 32 bytes. Counted for a profile only.
  uint64_t sectorsRead = 0;
  uint64_t sectorsWritten = 0;
  /// Extra turns that shared accesses of a warp took.
  uint64_t bankConflicts = 0;
  /// Tensor core instructions.
  uint64_t mmas = 0;

  void add(const Profile &other);
};

/// Thread instructions of a run of `program`, by their spelling.
std::map<std::string, uint64_t> countBySpelling(const Program &program,
                                                const Profile &profile);

/// Runs a kernel to its end. Faults go to `report`, also those of a launch that
/// breaks a limit, which does not run. The error names an unknown kernel or
/// arguments of wrong number or size, and what is there.
llvm::Expected<Profile> runKernel(const Program &program, Device &device,
                                  const LaunchRequest &request,
                                  const RunOptions &options, Report &report);

} // namespace blockscale::emulator

#endif // BLOCKSCALE_EMULATOR_LAUNCH_H

//===- Executable.h - A function that can be called -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_DRIVER_EXECUTABLE_H
#define BLOCKSCALE_DRIVER_EXECUTABLE_H

#include "blockscale/Driver/EmulatorDevice.h"
#include "blockscale/Driver/SavedFunction.h"
#include "blockscale/Driver/Stages.h"
#include "blockscale/Runtime/ChipMatch.h"
#include "blockscale/Target/Chip.h"

namespace blockscale {

/// Where a function runs: on this CPU, as PTX in the emulator, or on a GPU of
/// this machine.
enum class Place { CPU, Emulator, Cuda };

struct ExecutableOptions {
  Place place = Place::CPU;
  /// The chip to compile for. Empty stands for sm_100a in the emulator, and for
  /// the one that suits the GPU best.
  std::string chip;
  /// The CPU to compile for, as HostTarget has it; this machine must have its
  /// instructions.
  std::string cpu = "host";
  /// Whether code of the CPU is optimized: HostTarget says what that means.
  bool optimize = true;
  /// Whether kernels of a GPU may have several ops.
  bool fuse = true;
  /// Whether launches of a GPU may begin before those before them have ended,
  /// on chips that can.
  bool overlapLaunches = false;
  /// Whether sizes and indices that the compiler cannot prove to fit are
  /// checked at run time.
  bool checks = true;
  /// A folder of measured choices of schedules for a GPU; none where it is
  /// empty.
  std::string tuned;
  /// The number of the GPU.
  int gpu = 0;
  /// Whether save() will be asked for.
  bool isSaved = false;
  /// The ptxas that makes machine code of a GPU's kernels beside their PTX;
  /// none is made where it is empty.
  std::string ptxas;
};

/// The chip whose kernels suit a GPU of this compute capability best; null
/// where it runs those of none.
const target::Chip *chooseChip(runtime::ComputeCapability capability);

/// The chip that suits the GPU of this number best.
runtime::Result<std::string> chooseChip(int gpu);

struct CallOptions {
  /// A CUstream of the GPU; null is the default one.
  void *stream = nullptr;
  /// Memory of the GPU for the workspaces of a call, which then neither
  /// allocates nor waits: its address, a multiple of 256, and its bytes, at
  /// least those that getWorkspaceBytes answers.
  std::optional<std::pair<uint64_t, uint64_t>> workspace;
  /// How the emulator runs.
  emulator::RunOptions emulator;
  /// Is told of each kernel of the emulator before it runs, if it is there.
  CompileObserver *observer = nullptr;
  /// Reduces over ranks; a call that does so needs it.
  runtime::RankFunction overRanks;
};

/// What a call tells apart from its results, also where it fails.
struct CallReport {
  /// The time of the call; of the steps in the emulator, and of the device on a
  /// GPU where it measures.
  double seconds = 0;
  /// What the emulator found, in lines.
  std::string findings;
  /// What the emulator counted for each launch.
  std::vector<LaunchProfile> profiles;
};

/// A function compiled for a place. Any thread may call it.
class Executable {
public:
  virtual ~Executable() = default;

  /// Compiles the function of `module` that `signature` describes. The module
  /// is another one then. Diagnostics go to the context; the failure names what
  /// else is wrong.
  static runtime::Result<std::unique_ptr<Executable>>
  create(mlir::ModuleOp module, const Signature &signature,
         const ExecutableOptions &options, CompileObserver &observer);

  /// Makes a function that was saved callable at a place, for which it was
  /// compiled. Nothing is compiled but what a GPU's driver makes of PTX.
  static runtime::Result<std::unique_ptr<Executable>>
  load(SavedFunction saved, Place place, int gpu);

  /// What load takes, without a key. Fails where the options did not say that
  /// it is wanted.
  virtual runtime::Result<SavedFunction> save() const = 0;

  const Signature &getSignature() const { return signature; }

  /// "cpu", or the chip that the function was compiled for.
  virtual std::string getTarget() const = 0;

  /// Whether arrays of a call are in the host's memory, rather than a GPU's.
  /// Scalars always are.
  virtual bool isInHostMemory() const { return true; }

  /// Whether calls reduce over ranks.
  virtual bool reducesOverRanks() const = 0;

  /// The shapes of the results for such arguments, which have passed
  /// checkArgument.
  virtual runtime::Result<Shapes>
  getResultShapes(const std::vector<ArrayView> &arguments) = 0;

  /// Bytes of the GPU's memory that a call for such arguments needs besides
  /// them and the results; 0 in the host's memory.
  virtual runtime::Result<uint64_t>
  getWorkspaceBytes(const std::vector<ArrayView> &arguments) {
    return uint64_t(0);
  }

  /// Writes the results, whose shapes are those, and returns when they are
  /// there, or, where the options have a workspace, when the work is on the
  /// stream.
  virtual runtime::Status call(const std::vector<ArrayView> &arguments,
                               const std::vector<ArrayView> &results,
                               const CallOptions &options,
                               CallReport &report) = 0;

  /// Calls it `repeat` times on arrays of the host, whatever the place, and
  /// returns the results. The report is that of the last call, with the time of
  /// the fastest.
  virtual runtime::Result<std::vector<runtime::NpyArray>>
  run(std::vector<runtime::NpyArray> &arguments, int repeat,
      const CallOptions &options, CallReport &report);

protected:
  explicit Executable(Signature signature) : signature(std::move(signature)) {}

private:
  Signature signature;
};

} // namespace blockscale

#endif // BLOCKSCALE_DRIVER_EXECUTABLE_H

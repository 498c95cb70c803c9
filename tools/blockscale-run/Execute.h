//===- Execute.h - Compile an entry and call it -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_RUN_EXECUTE_H
#define BLOCKSCALE_TOOLS_RUN_EXECUTE_H

#include "blockscale/Driver/Signature.h"
#include "blockscale/Emulator/Launch.h"

namespace blockscale::run {

using Results = runtime::Result<std::vector<runtime::NpyArray>>;

/// Lowers `module` for this CPU, calls the entry `repeat` times and returns
/// its results. `seconds` receives the time of the fastest call. Diagnostics of
/// the lowering go to the context; the status names what else failed.
Results executeOnCPU(mlir::ModuleOp module, const Signature &signature,
                     std::vector<runtime::NpyArray> &arguments, int repeat,
                     double &seconds);

/// The same in the emulator for `chip`, once. Findings are printed on standard
/// error, and profiles, where the options ask for them, on standard output.
Results executeOnEmulator(mlir::ModuleOp module, const Signature &signature,
                          std::vector<runtime::NpyArray> &arguments,
                          const std::string &chip, bool fuse,
                          const emulator::RunOptions &options, double &seconds);

/// The same on the GPU of this number, for `chip`, or where that is empty for
/// the one that suits the GPU best. `seconds` is device time.
Results executeOnCuda(mlir::ModuleOp module, const Signature &signature,
                      const std::vector<runtime::NpyArray> &arguments,
                      const std::string &chip, bool fuse, int gpu, int repeat,
                      double &seconds);

} // namespace blockscale::run

#endif // BLOCKSCALE_TOOLS_RUN_EXECUTE_H

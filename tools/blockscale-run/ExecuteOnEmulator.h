//===- ExecuteOnEmulator.h - Compile for a GPU, emulate ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_RUN_EXECUTEONEMULATOR_H
#define BLOCKSCALE_TOOLS_RUN_EXECUTEONEMULATOR_H

#include "Signature.h"

#include "blockscale/Emulator/Launch.h"

namespace blockscale::run {

/// Lowers `module` for `chip`, runs the entry's launch plan in the emulator and
/// returns its results. `seconds` receives the time of the kernels. Diagnostics
/// of the lowering go to the context, findings of the emulator to standard
/// error, and of each launch what global memory moved to standard output if
/// `options` ask for a profile; the status names what else failed.
runtime::Result<std::vector<runtime::NpyArray>>
executeOnEmulator(mlir::ModuleOp module, const Signature &signature,
                  const std::vector<runtime::NpyArray> &arguments,
                  const std::string &chip, bool fuse,
                  const emulator::RunOptions &options, double &seconds);

} // namespace blockscale::run

#endif // BLOCKSCALE_TOOLS_RUN_EXECUTEONEMULATOR_H

//===- Execute.h - Compile an entry and call it -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TOOLS_RUN_EXECUTE_H
#define BLOCKSCALE_TOOLS_RUN_EXECUTE_H

#include "Signature.h"

#include "blockscale/Pipelines/Pipelines.h"

namespace blockscale::run {

/// Runs the stages on what the entry needs of `module`. `target` is for the
/// message.
runtime::Status lowerEntry(mlir::ModuleOp module, const std::string &entry,
                           const std::vector<Stage> &stages,
                           const std::string &target);

/// Lowers `module` for this CPU, calls the entry `repeat` times and returns
/// its results. `seconds` receives the time of the fastest call. Diagnostics of
/// the lowering go to the context; the status names what else failed.
runtime::Result<std::vector<runtime::NpyArray>>
executeOnCPU(mlir::ModuleOp module, const Signature &signature,
             std::vector<runtime::NpyArray> &arguments, int repeat,
             double &seconds);

} // namespace blockscale::run

#endif // BLOCKSCALE_TOOLS_RUN_EXECUTE_H

//===- ExecuteOnCuda.h - Compile for a GPU, run there -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#ifndef BLOCKSCALE_TOOLS_RUN_EXECUTEONCUDA_H
#define BLOCKSCALE_TOOLS_RUN_EXECUTEONCUDA_H

#include "Signature.h"

namespace blockscale::run {

/// Lowers `module` for `chip`, or where that is empty for the one that suits
/// the GPU of this number best, calls the entry there `repeat` times and
/// returns its results. `seconds` receives the device time of the fastest call.
/// Diagnostics of the lowering go to the context; the status names what else
/// failed.
runtime::Result<std::vector<runtime::NpyArray>>
executeOnCuda(mlir::ModuleOp module, const Signature &signature,
              const std::vector<runtime::NpyArray> &arguments,
              const std::string &chip, bool fuse, int gpu, int repeat,
              double &seconds);

} // namespace blockscale::run

#endif // BLOCKSCALE_TOOLS_RUN_EXECUTEONCUDA_H

//===- Functions.h - Executables of each place ------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_DRIVER_FUNCTIONS_H
#define BLOCKSCALE_LIB_DRIVER_FUNCTIONS_H

#include "blockscale/Driver/Executable.h"
#include "blockscale/Pipelines/Pipelines.h"

namespace blockscale {

/// The function in machine code of this CPU.
runtime::Result<std::unique_ptr<Executable>>
createCpuFunction(mlir::ModuleOp module, const Signature &signature,
                  const ExecutableOptions &options, CompileObserver &observer);

/// The function in PTX that the emulator executes. Where `ptxas` is not empty,
/// that program makes machine code of it, to be saved.
runtime::Result<std::unique_ptr<Executable>>
createEmulatorFunction(mlir::ModuleOp module, const Signature &signature,
                       const ToGPUOptions &options, const std::string &ptxas,
                       CompileObserver &observer);

/// The function on the GPU of this number. An empty chip of `options` becomes
/// the one that suits the GPU best.
runtime::Result<std::unique_ptr<Executable>>
createCudaFunction(mlir::ModuleOp module, const Signature &signature,
                   ToGPUOptions &options, int gpu, const std::string &ptxas,
                   CompileObserver &observer);

/// Functions that were saved, each for its place.
runtime::Result<std::unique_ptr<Executable>>
loadCpuFunction(SavedFunction saved);
runtime::Result<std::unique_ptr<Executable>>
loadEmulatorFunction(SavedFunction saved);
runtime::Result<std::unique_ptr<Executable>>
loadCudaFunction(SavedFunction saved, int gpu);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_DRIVER_FUNCTIONS_H

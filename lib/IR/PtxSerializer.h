//===- PtxSerializer.h - PTX of kernels in LLVM's dialect -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The text of a gpu.module that has nothing but kernels and their memory, as
// the passes of this project make it. LLVM compiles each kernel in a module and
// a context of its own, so that threads of the MLIRContext's pool compile
// several at once. The text is that of one LLVM module with all kernels in
// their order, whatever the number of threads.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_PTXSERIALIZER_H
#define BLOCKSCALE_LIB_IR_PTXSERIALIZER_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

#include <optional>
#include <string>

namespace blockscale {

/// What LLVM generates code for.
struct PtxTarget {
  llvm::StringRef chip;
  /// Of the NVPTX backend: the version of PTX, "+ptx88".
  llvm::StringRef features;
};

/// Whether a gpu.module holds kernels, which call nothing and have no debug
/// information, and global memory without initializers, and nothing else.
bool holdsKernelsAlone(mlir::gpu::GPUModuleOp module);

/// PTX of a module that holdsKernelsAlone. Where there is none, diagnostics say
/// why, in the order of the kernels.
std::optional<std::string> serializePtx(mlir::gpu::GPUModuleOp module,
                                        const PtxTarget &target);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_IR_PTXSERIALIZER_H

//===- KernelsToLLVM.h - Kernels in LLVM's dialect --------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_EMIT_KERNELSTOLLVM_H
#define BLOCKSCALE_LIB_EMIT_KERNELSTOLLVM_H

#include "mlir/IR/BuiltinOps.h"

namespace blockscale {

/// Lowers the kernels of a module's gpu.modules to the dialects that are
/// translated to LLVM IR, several at once where the context has threads.
llvm::LogicalResult lowerKernelsToLLVM(mlir::ModuleOp module);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_EMIT_KERNELSTOLLVM_H

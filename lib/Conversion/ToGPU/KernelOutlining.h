//===- KernelOutlining.h - Kernels and their launches -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELOUTLINING_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELOUTLINING_H

#include "QuantizeSpec.h"

#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace blockscale {

/// The kernel of `spec` in `module`, created on first use.
mlir::gpu::GPUFuncOp getOrCreateQuantizeKernel(mlir::gpu::GPUModuleOp module,
                                               mlir::Location loc,
                                               const QuantizeSpec &spec,
                                               const target::Chip &chip);

/// Launches it on the buffers of `operands`. Sizes come from the type of x or
/// are computed at run time. Along each dimension of the grid there is at least
/// one thread block, as CUDA demands, so an empty tensor launches threads that
/// find no row.
void createQuantizeLaunch(mlir::ImplicitLocOpBuilder &b,
                          mlir::gpu::GPUFuncOp kernel, const QuantizeSpec &spec,
                          const target::Chip &chip, QuantizeOperands operands);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_KERNELOUTLINING_H

//===- PlainKernel.h - Loops whose iterations are threads -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOGPU_PLAIN_PLAINKERNEL_H
#define BLOCKSCALE_LIB_CONVERSION_TOGPU_PLAIN_PLAINKERNEL_H

#include "DeviceEmission/KernelTable.h"
#include "blockscale/Target/Chip.h"

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace blockscale {

/// Puts a launch in the place of a parallel loop of the host, which it erases:
///
///   scf.parallel (%i, %j) = (%c0, %c0) to (%m, %n) step (%c1, %c1) {
///     %a = memref.load %x[%j, %i] : memref<?x?xf32>
///     memref.store %a, %y[%i, %j] : memref<?x?xf32>
///   } {blockscale.plain = "copy_f32"}
/// becomes
///   gpu.launch_func @blockscale_kernels::@plain_copy_f32
///       blocks in (%blocks, %c1, %c1) threads in (%c128, %c1, %c1)
///       args(%px, %py, %m, %n, ..)
///
/// A thread of the grid computes an iteration. Buffers arrive as pointers to
/// their first element, strides and sizes that types do not tell as i64. Emits
/// an error at an op of the body that kernels cannot have.
llvm::LogicalResult launchPlainLoop(mlir::scf::ParallelOp loop,
                                    KernelTable &kernels,
                                    const target::Chip &chip);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_TOGPU_PLAIN_PLAINKERNEL_H

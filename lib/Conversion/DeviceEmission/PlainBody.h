//===- PlainBody.h - Bodies of plain kernels --------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PLAINBODY_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PLAINBODY_H

#include "KernelBuilder.h"

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace blockscale {

/// Whether a kernel can have the body of a loop: scalar arithmetic, structured
/// loops and branches, assertions, and loads and stores of buffers from
/// outside. Emits an error at an op that it cannot have.
llvm::LogicalResult verifyPlainBody(mlir::scf::ParallelOp loop);

/// Where the elements of a buffer are.
struct PlainMemory {
  /// Of the first element.
  mlir::Value pointer;
  /// As indices, one for each dimension.
  llvm::SmallVector<mlir::Value> strides;
};

/// Lets ops that are in a kernel read and write the buffers of `memories`, and
/// their assertions write the error record.
void lowerPlainOps(KernelBuilder &b, llvm::ArrayRef<mlir::Operation *> ops,
                   const llvm::MapVector<mlir::Value, PlainMemory> &memories);

/// Emits the body of a loop in a kernel. `values` has what the loop reads of
/// scalars, its index included, and `memories` the buffers.
void emitPlainBody(KernelBuilder &b, mlir::scf::ParallelOp loop,
                   mlir::IRMapping &values,
                   const llvm::MapVector<mlir::Value, PlainMemory> &memories);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_PLAINBODY_H

//===- PlainScalars.h - Scalars that the host does not have -----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PLAINSCALARS_H
#define BLOCKSCALE_LIB_CONVERSION_PLAINSCALARS_H

#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace blockscale {

/// Moves loads and stores of single elements, the scalars that are computed
/// from what is loaded, and assertions about these from the host into loops of
/// one iteration:
///
///   %a = memref.load %x[%i] : memref<8xf32>
///   %b = arith.addf %a, %a : f32
///   memref.store %b, %y[] : memref<f32>
/// becomes
///   scf.parallel (%one) = (%c0) to (%c1) step (%c1) {
///     %a = memref.load %x[%i] : memref<8xf32>
///     %b = arith.addf %a, %a : f32
///     memref.store %b, %y[] : memref<f32>
///   } {blockscale.plain = "scalars"}
///
/// A scalar that later kernels read has a buffer of one element. Emits an error
/// where the host would have to know such a scalar: a size, a condition.
llvm::LogicalResult moveScalars(mlir::func::FuncOp function);

/// Drops the assertions of elements of memory from a function that computes
/// sizes for the host: the function whose sizes these are asserts the same.
void dropElementAssertions(mlir::func::FuncOp function);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_PLAINSCALARS_H

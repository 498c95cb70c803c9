//===- KernelWrapping.h - Ops as the body of a kernel -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_KERNELS_KERNELWRAPPING_H
#define BLOCKSCALE_LIB_TRANSFORMS_KERNELS_KERNELWRAPPING_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

namespace blockscale {

/// An uninitialized tensor of the type of `result` and of sizes `sizes`.
mlir::Value createEmptyTensor(mlir::OpBuilder &builder, mlir::OpResult result,
                              llvm::ArrayRef<mlir::OpFoldResult> sizes);

/// Computes the sizes that ops take from results of `op` from its operands, if
/// `op` is a quantization whose codes another one of `ops` decodes or prepacks:
/// memory need not hold these results.
llvm::LogicalResult replaceUnstoredSizes(mlir::OpBuilder &builder,
                                         llvm::ArrayRef<mlir::Operation *> ops,
                                         mlir::Operation *op);

/// Puts a kernel where the builder stands and erases `ops`, which are in an
/// order in which they can be computed. Values that are used elsewhere are
/// `results`, and the memory of each is one of `outputs`. `clone` copies an op
/// and what it needs, other than `inputs`, into the body.
KernelOp
replaceByKernel(mlir::OpBuilder &builder, mlir::Location loc,
                llvm::ArrayRef<mlir::Operation *> ops, mlir::ValueRange inputs,
                mlir::ValueRange outputs, mlir::ValueRange results,
                llvm::function_ref<void(mlir::OpBuilder &, mlir::Operation *,
                                        mlir::IRMapping &)>
                    clone);

/// Wraps `ops`, which are in an order in which they can be computed, in a
/// kernel that stores `results` and takes the place of `place`, one of them.
/// What they need comes before:
///
///   %q, %s = blockscale.quantize %x ...
///   %h = blockscale.hadamard %x ...
///   %p, %t = blockscale.quantize %h ...
/// becomes
///   %q, %s, %p, %t = blockscale.kernel ins(%x) outs(%e0, %e1, %e2, %e3) {
///   ^bb0(%lx, %l0, %l1, %l2, %l3):
///     %0, %1 = blockscale.quantize %lx ...
///     %2 = blockscale.hadamard %lx ...
///     %3, %4 = blockscale.quantize %2 ...
///     blockscale.yield %0, %1, %3, %4
///   }
llvm::FailureOr<KernelOp> wrapInKernel(llvm::ArrayRef<mlir::Operation *> ops,
                                       mlir::ValueRange results,
                                       mlir::Operation *place);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_KERNELS_KERNELWRAPPING_H

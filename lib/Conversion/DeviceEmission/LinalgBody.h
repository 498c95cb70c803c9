//===- LinalgBody.h - Bodies of linalg ops in registers ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LINALGBODY_H
#define BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LINALGBODY_H

#include "KernelBuilder.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace blockscale {

/// Emits the ops of `body`, which is evaluable (ElementwiseBody.h), and returns
/// what it yields for elements in registers: `arguments` are vectors of one
/// even length, one for each of the first block arguments, of their element
/// types, or of f32 where these `isReadAsF32`. Constants may come from outside;
/// `outer` gives the vectors of other values from there.
///
/// Vectors of two elements are words of bf16 or f16, and operands of the
/// arithmetic that SM100 does on two f32 at once.
llvm::SmallVector<mlir::Value>
emitLinalgBody(KernelBuilder &b, mlir::Block &body, mlir::ValueRange arguments,
               llvm::function_ref<mlir::Value(mlir::Value)> outer = {});

/// What `op` yields for `size` elements. `getVector` gives the elements of an
/// input that is no constant, and `getScalar` values from outside of the body;
/// `outputs` are those of the output, where the body reads them.
llvm::SmallVector<mlir::Value>
emitLinalgOp(KernelBuilder &b, mlir::linalg::LinalgOp op, int64_t size,
             llvm::function_ref<mlir::Value(mlir::OpOperand &)> getVector,
             llvm::function_ref<mlir::Value(mlir::Value)> getScalar = {},
             mlir::ValueRange outputs = {});

/// Whether the body needs the f32 of its argument alone.
bool isReadAsF32(mlir::BlockArgument argument);

/// The f32 of a vector of bf16 or f16, and what is nearest to each f32 of a
/// vector among the bf16 or f16, as `element` says. Lengths are even.
emit::Lanes emitExtend(KernelBuilder &b, mlir::Value vector);
emit::Lanes emitRound(KernelBuilder &b, mlir::Value vector, mlir::Type element);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_CONVERSION_DEVICEEMISSION_LINALGBODY_H

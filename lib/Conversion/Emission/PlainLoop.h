//===- PlainLoop.h - Loops whose iterations are threads ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// On a GPU, what has no kernel of ours is an scf.parallel first. Each of its
// iterations becomes a thread (blockscale-lower-kernels-to-gpu).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_PLAINLOOP_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_PLAINLOOP_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace blockscale::emit {

/// The attribute of a loop that says, for readers, what its kernel computes.
/// The name of the kernel begins with it.
inline constexpr llvm::StringLiteral kPlainAttrName = "blockscale.plain";

/// Creates a loop over indices below `sizes`. Without sizes it has one
/// iteration. `body` emits an iteration.
mlir::scf::ParallelOp
createPlainLoop(mlir::ImplicitLocOpBuilder &b, mlir::ValueRange sizes,
                llvm::StringRef name,
                llvm::function_ref<void(mlir::ValueRange indices)> body);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_PLAINLOOP_H

//===- BranchResults.h - Tensors that branches give -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A branch that computes a tensor of one size in both of its ways is as one op
// that computes it: the size is known before the branch, and so is the memory.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_KERNELS_BRANCHRESULTS_H
#define BLOCKSCALE_LIB_TRANSFORMS_KERNELS_BRANCHRESULTS_H

#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace blockscale {

/// The sizes of a result of a branch, if each of its ways computes a new tensor
/// of these sizes, and they are known before the branch. What computes a size
/// is copied there.
std::optional<llvm::SmallVector<mlir::OpFoldResult>>
findBranchSizes(mlir::RewriterBase &rewriter, mlir::OpResult result);

/// Replaces each `tensor.dim` of such a result below `root` by the size.
void resolveBranchSizes(mlir::RewriterBase &rewriter, mlir::Operation *root);

/// Gives each such result below `root` one place, that of the result of the
/// function if it is one:
///
///   %y = scf.if %few { .. scf.yield %a } else { .. scf.yield %b }
///   bufferization.materialize_in_destination %y in restrict writable %out
///     ->  scf.if %few {
///           .. bufferization.materialize_in_destination %a in .. %out
///         } else {
///           .. bufferization.materialize_in_destination %b in .. %out
///         }
///
///   %y = scf.if %few { .. scf.yield %a } else { .. scf.yield %b }
///     ->  %place = bufferization.alloc_tensor(%size)
///         %y = scf.if %few {
///           scf.yield (bufferization.materialize_in_destination %a in %place)
///         } else {
///           scf.yield (bufferization.materialize_in_destination %b in %place)
///         }
///
/// Bufferization would give the tensor of one way another place, and copy.
void placeBranchResults(mlir::RewriterBase &rewriter, mlir::Operation *root);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_KERNELS_BRANCHRESULTS_H

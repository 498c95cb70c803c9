//===- SliceRules.h - Slices that keep storage elements whole ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_SLICERULES_H
#define BLOCKSCALE_LIB_TRANSFORMS_SLICERULES_H

#include "mlir/IR/Operation.h"

namespace blockscale {

/// Whether `op` is tensor.extract_slice, insert_slice or parallel_insert_slice.
bool isSlice(mlir::Operation *op);

/// Checks a slice of packed or swizzled tensors, emitting an error:
/// - both tensors have the same encoding, which is not grouped;
/// - no dimension that storage divides is dropped or strided;
/// - along such a dimension the offset is a multiple of the unit, and the size
///   is one or reaches the end of the tensor.
llvm::LogicalResult verifySlice(mlir::Operation *op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_SLICERULES_H

//===- SliceRules.h - Slices that keep storage elements whole ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_STORAGE_SLICERULES_H
#define BLOCKSCALE_LIB_TRANSFORMS_STORAGE_SLICERULES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace blockscale {

/// Whether `op` is tensor.extract_slice, insert_slice or parallel_insert_slice.
bool isSlice(mlir::Operation *op);

/// Checks a slice of packed or swizzled tensors, emitting an error:
/// - both tensors have the same encoding, which is not grouped;
/// - no dimension that storage divides is dropped or strided;
/// - along such a dimension the offset is a multiple of the unit, and the size
///   is one or reaches the end of the tensor.
llvm::LogicalResult verifySlice(mlir::Operation *op);

/// Checks a concatenation of packed or swizzled tensors, emitting an error:
/// - no scales have a layout, which upstream's canonicalization of the op
/// drops;
/// - each piece of packed data but the last ends at a whole byte.
llvm::LogicalResult verifyConcat(mlir::tensor::ConcatOp op);

/// Whether `size` along `dim` of a part of `whole` that begins at `offset` is
/// surely a multiple of `unit` or reaches the end. A tile size like
/// affine.min(128, rows - offset) is one of both.
bool isWholeSize(mlir::Value whole, int64_t dim, mlir::OpFoldResult offset,
                 mlir::OpFoldResult size, int64_t unit);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_STORAGE_SLICERULES_H

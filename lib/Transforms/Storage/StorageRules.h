//===- StorageRules.h - Which uses storage allows ---------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_STORAGE_STORAGERULES_H
#define BLOCKSCALE_LIB_TRANSFORMS_STORAGE_STORAGERULES_H

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Operation.h"

namespace blockscale {

/// Whether `type` is a tensor with a layout or elements below 8 bits, with or
/// without a storage form.
bool isPackedOrSwizzled(mlir::Type type);

/// The first type that `op` takes, produces, declares or gives to a block of
/// its regions for which `predicate` holds; null where there is none.
mlir::Type findType(mlir::Operation *op,
                    llvm::function_ref<bool(mlir::Type)> predicate);

/// Elements along dimension `dim` of `type` that share a storage position: 2
/// along the last dimension of packed data, 128 and 4 along the rows and
/// columns of swizzled scales, 64 along those of prepacked data, else 1.
int64_t getStorageUnit(mlir::RankedTensorType type, int64_t dim);

/// Whether memory still has dimension `dim` of `type` as a dimension.
bool isStoredDim(mlir::RankedTensorType type, int64_t dim);

/// Whether `op` sees a tensor as its storage form, or the reverse.
bool isStorageView(mlir::UnrealizedConversionCastOp op);

/// Whether tensors of `shape` have more than `limit` elements, however many:
/// the count itself may overflow.
bool hasMoreElements(llvm::ArrayRef<int64_t> shape, int64_t limit);

/// Refuses tensors whose size in bytes does not fit in 63 bits: memory has no
/// place for them, and their strides would wrap.
llvm::LogicalResult verifyAddressable(mlir::Operation *op);

/// Refuses a reshape of packed or swizzled tensors that memory does not have:
/// one of a layout, or of columns of packed data that cuts a byte.
llvm::LogicalResult verifyCollapseShape(mlir::tensor::CollapseShapeOp op);
llvm::LogicalResult verifyExpandShape(mlir::tensor::ExpandShapeOp op);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_STORAGE_STORAGERULES_H

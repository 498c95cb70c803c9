//===- Verification.h - Checks that several ops share -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_IR_VERIFICATION_H
#define BLOCKSCALE_LIB_IR_VERIFICATION_H

#include "blockscale/IR/TypeRules.h"

namespace blockscale::verification {

/// Prints a shape as 4x?x8; rank 0 as "rank 0".
std::string formatShape(llvm::ArrayRef<int64_t> shape);

/// kernel_c6: the body of `kernel` has ops of its family, if it names one.
llvm::LogicalResult verifyFamily(KernelOp kernel);

/// `name` has rank 2 or more and no encoding.
llvm::LogicalResult verifyPlainMatrix(mlir::Operation *op, llvm::StringRef name,
                                      mlir::RankedTensorType type);

/// `name` has the expected shape; a dynamic size agrees with any.
llvm::LogicalResult verifyShape(mlir::Operation *op, llvm::StringRef name,
                                llvm::ArrayRef<int64_t> expected,
                                llvm::ArrayRef<int64_t> found);

/// `name` has rank 0 or one of `shapes`, which differ in rank and are not
/// empty. `alternative` is what else it may be, for the message.
llvm::LogicalResult
verifyShapeAmong(mlir::Operation *op, llvm::StringRef name,
                 llvm::ArrayRef<int64_t> found,
                 llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes,
                 llvm::StringRef alternative = "");

/// Block, data and scale element types form NVFP4 or MX: blocks of a quantizer,
/// or blocks [1, B] of an operand of a product.
llvm::LogicalResult verifyFormat(mlir::Operation *op,
                                 llvm::ArrayRef<int64_t> block,
                                 mlir::Type dataElement,
                                 mlir::Type scaleElement);
llvm::LogicalResult verifyRowFormat(mlir::Operation *op,
                                    llvm::ArrayRef<int64_t> block,
                                    mlir::Type dataElement,
                                    mlir::Type scaleElement);

/// The recipe belongs to the format of the scale element type.
llvm::LogicalResult verifyRecipe(mlir::Operation *op, Recipe recipe,
                                 mlir::Type scaleElement);

/// The recipe is defined for elements of these types.
llvm::LogicalResult verifyRecipe(mlir::Operation *op, Recipe recipe,
                                 mlir::Type scaleElement,
                                 mlir::Type dataElement);

/// The static matrix dimensions of `name` are multiples of the block's.
llvm::LogicalResult verifyBlockMultiples(mlir::Operation *op,
                                         llvm::StringRef name,
                                         llvm::ArrayRef<int64_t> shape,
                                         llvm::ArrayRef<int64_t> block);

/// A static last dimension of `name` is a multiple of the block.
llvm::LogicalResult verifyBlockMultiple(mlir::Operation *op,
                                        llvm::StringRef name, int64_t size,
                                        int64_t block);

/// A scale tensor's encoding is absent or a layout; a grouped one has `groups`
/// groups along `groupedDim`, and is not allowed without `groups`.
llvm::LogicalResult verifyScaleLayout(
    mlir::Operation *op, llvm::StringRef name, mlir::RankedTensorType type,
    std::optional<int64_t> groups = std::nullopt, int64_t groupedDim = 0);

/// A global operand is f32, tensor<f32>, or has one of `shapes`, which differ
/// in rank and are not empty.
llvm::LogicalResult
verifyGlobalOperand(mlir::Operation *op, llvm::StringRef name,
                    mlir::Value operand, bool isNvfp4,
                    llvm::ArrayRef<llvm::SmallVector<int64_t>> shapes);

/// Shapes of global operands of a tensor with shape `shape` [.., M, K]: one
/// value a batch element, or one a row.
llvm::SmallVector<llvm::SmallVector<int64_t>>
getGlobalShapes(llvm::ArrayRef<int64_t> shape);

/// `group_dim` is 0 or 1, and 0 where `offsets` is null.
llvm::LogicalResult verifyGroupDim(mlir::Operation *op, int64_t groupDim,
                                   mlir::Value offsets);

/// `name` has rank 2 and its offsets rank 1.
llvm::LogicalResult verifyGroupedMatrix(mlir::Operation *op,
                                        llvm::StringRef name,
                                        mlir::RankedTensorType type,
                                        mlir::RankedTensorType offsets);

} // namespace blockscale::verification

#endif // BLOCKSCALE_LIB_IR_VERIFICATION_H

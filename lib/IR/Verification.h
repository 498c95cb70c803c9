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

/// `name` has rank 2 or more and no encoding.
llvm::LogicalResult verifyPlainMatrix(mlir::Operation *op, llvm::StringRef name,
                                      mlir::RankedTensorType type);

/// `name` has the expected shape; a dynamic size agrees with any.
llvm::LogicalResult verifyShape(mlir::Operation *op, llvm::StringRef name,
                                llvm::ArrayRef<int64_t> expected,
                                llvm::ArrayRef<int64_t> found);

/// Block, data and scale element types form NVFP4 or MX.
llvm::LogicalResult verifyFormat(mlir::Operation *op,
                                 llvm::ArrayRef<int64_t> block,
                                 mlir::Type dataElement,
                                 mlir::Type scaleElement);

/// The recipe belongs to the format of the scale element type.
llvm::LogicalResult verifyRecipe(mlir::Operation *op, Recipe recipe,
                                 bool isNvfp4);

/// A static last dimension of `name` is a multiple of the block.
llvm::LogicalResult verifyBlockMultiple(mlir::Operation *op,
                                        llvm::StringRef name, int64_t size,
                                        int64_t block);

/// A scale tensor's encoding is absent or a layout; a grouped one has `groups`
/// groups along `groupedDim` (`groups` 0: no grouped layout is allowed).
llvm::LogicalResult verifyScaleLayout(mlir::Operation *op, llvm::StringRef name,
                                      mlir::RankedTensorType type,
                                      int64_t groups = 0,
                                      int64_t groupedDim = 0);

/// A global operand is f32, tensor<f32>, or has shape `perElement`.
llvm::LogicalResult verifyGlobalOperand(mlir::Operation *op,
                                        llvm::StringRef name,
                                        mlir::Value operand, bool isNvfp4,
                                        llvm::ArrayRef<int64_t> perElement);

} // namespace blockscale::verification

#endif // BLOCKSCALE_LIB_IR_VERIFICATION_H

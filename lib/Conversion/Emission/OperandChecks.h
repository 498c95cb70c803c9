//===- OperandChecks.h - Rules that only run-time sizes break ---*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The rules of each op about the sizes of its operands, which the verifier
// cannot check where sizes are dynamic. Every target checks the same ones
// before a kernel runs.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_OPERANDCHECKS_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_OPERANDCHECKS_H

#include "CallSite.h"

namespace blockscale::emit {

/// Emits the checks of an op's operands at the place where its kernel is
/// called.
void requireOperands(AmaxOp op, CallSite &site);
void requireOperands(AmaxPartsOp op, CallSite &site);
void requireOperands(DequantizeOp op, CallSite &site);
void requireOperands(ExpandScaleOp op, CallSite &site);
void requireOperands(GlobalScaleOp op, CallSite &site);
void requireOperands(HadamardOp op, CallSite &site);
void requireOperands(PadGroupsOp op, CallSite &site);
void requireOperands(PrepackOp op, CallSite &site);
void requireOperands(QuantizeOp op, CallSite &site);
void requireOperands(ScaleSweepOp op, CallSite &site);
void requireOperands(ScaledGroupedMMOp op, CallSite &site);
void requireOperands(ScaledMMOp op, CallSite &site);
void requireOperands(SwizzleOp op, CallSite &site);

/// The sizes of the data of `op`, which quantizes x of sizes `sizes`.
CallSite::Sizes getDataSizes(QuantizeOp op, CallSite::Sizes sizes);

/// The sizes of A of a product, in the order [.., M, K].
CallSite::Sizes getSizesOfA(const CallSite &site, ProductOpInterface op);

/// Emits an error where an operand of a product is MN-major, which its kernels
/// do not read.
llvm::LogicalResult verifyKMajor(ProductOpInterface op);

/// Emits an error where an operand of a product is prepacked, which its kernels
/// do not read.
llvm::LogicalResult verifyRowMajor(ProductOpInterface op);

/// Emits an error where the scales of `op` are in a layout that its kernels do
/// not have. `blockscale-relayout-scales` leaves no such op.
llvm::LogicalResult verifyScaleLayouts(mlir::Operation *op);

/// Emits an error where source and result have one layout, as canonicalization
/// leaves no op.
llvm::LogicalResult verifyChangesLayout(PrepackOp op);

/// The number of rows of the result of `op`, which is the operand `size` where
/// tiles of scales do not tell it.
mlir::OpFoldResult getExpandedRows(mlir::ImplicitLocOpBuilder &b,
                                   ExpandScaleOp op, mlir::Value size);

/// Whether a swizzle only copies: both sides have the same layout, which
/// folding usually removes.
bool isCopy(SwizzleOp op);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_OPERANDCHECKS_H

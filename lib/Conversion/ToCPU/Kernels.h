//===- Kernels.h - One kernel for each op of the dialect --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A kernel's work is a number of items that any threads may compute in any
// order. For each op,
//
//   countItems    emits, before the call, the number of items
//   emitPrologue  emits what must run once before the items
//   emitItems     emits the computation of the items [begin, end)
//
// The checks before a call are those of every target ("OperandChecks.h").
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_KERNELS_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_KERNELS_H

#include "Emission/OperandChecks.h"
#include "blockscale/Numerics/TensorCoreSum.h"

namespace blockscale::cpu {

using namespace emit;

/// The function of a kernel while its body is emitted.
struct ItemRange {
  mlir::ImplicitLocOpBuilder &b;
  KernelOperands operands;
  mlir::Value begin;
  mlir::Value end;
  /// Those whose sums products of order chain have.
  numerics::TensorCores tensorCores;

  mlir::Value lookup(mlir::Value logical) const {
    return operands.lookup(logical);
  }
};

template <typename OpTy>
void emitPrologue(OpTy, CallSite &) {}

/// Items: rows of x over all batch dimensions, or bands of 16 rows where groups
/// run down the columns.
mlir::Value countItems(HadamardOp op, CallSite &site);
void emitItems(HadamardOp op, const ItemRange &range);

/// Items: rows of x over all batch dimensions; with swizzled scales, bands of
/// 128 rows, so that a tile of scales has one writer; panels of 128 x 512
/// elements where blocks have several rows.
mlir::Value countItems(QuantizeOp op, CallSite &site);
void emitItems(QuantizeOp op, const ItemRange &range);

/// Items: bands of as many rows of the result as a block has, over all batch
/// dimensions.
mlir::Value countItems(DequantizeOp op, CallSite &site);
void emitItems(DequantizeOp op, const ItemRange &range);

/// Items: rows of x over all batch dimensions.
mlir::Value countItems(AmaxOp op, CallSite &site);
void emitPrologue(AmaxOp op, CallSite &site);
void emitItems(AmaxOp op, const ItemRange &range);
mlir::Value countItems(AmaxPartsOp op, CallSite &site);
void emitPrologue(AmaxPartsOp op, CallSite &site);
void emitItems(AmaxPartsOp op, const ItemRange &range);

/// Items: rows of x over all batch dimensions.
mlir::Value countItems(PadGroupsOp op, CallSite &site);
void emitPrologue(PadGroupsOp op, CallSite &site);
void emitItems(PadGroupsOp op, const ItemRange &range);

mlir::Value countItems(ScaleSweepOp op, CallSite &site);
void emitItems(ScaleSweepOp op, const ItemRange &range);

/// Items: elements of the result.
mlir::Value countItems(GlobalScaleOp op, CallSite &site);
void emitItems(GlobalScaleOp op, const ItemRange &range);

/// Items: bands of 128 rows into tiles, rows out of tiles, tiles into a grouped
/// layout, rows of memory between equal layouts.
mlir::Value countItems(SwizzleOp op, CallSite &site);
void emitItems(SwizzleOp op, const ItemRange &range);

/// Items: bands of 64 rows, which are rows of blocks.
mlir::Value countItems(PrepackOp op, CallSite &site);
void emitItems(PrepackOp op, const ItemRange &range);

/// Items: bands of 128 rows into tiles, of as many rows as a block has into
/// linear scales.
mlir::Value countItems(ExpandScaleOp op, CallSite &site);
void emitItems(ExpandScaleOp op, const ItemRange &range);

/// Items: panels of up to 192 rows and 128 columns of the result, in each batch
/// element.
mlir::Value countItems(ScaledMMOp op, CallSite &site);
void emitItems(ScaledMMOp op, const ItemRange &range);

/// Items: panels of up to 192 rows and 128 columns of the result, in each group
/// where K is grouped.
mlir::Value countItems(ScaledGroupedMMOp op, CallSite &site);
void emitItems(ScaledGroupedMMOp op, const ItemRange &range);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_KERNELS_H

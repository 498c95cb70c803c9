//===- KernelOperands.h - Buffers behind logical values ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_EMISSION_KERNELOPERANDS_H
#define BLOCKSCALE_LIB_CONVERSION_EMISSION_KERNELOPERANDS_H

#include "LoopEmitter.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Numerics/Recipe.h"

namespace blockscale::emit {

/// The values that stand for the operands and results of the op in a kernel's
/// body: the operands of the kernel, or the arguments of its function.
class KernelOperands {
public:
  KernelOperands(KernelOp kernel, mlir::ValueRange operands)
      : kernel(kernel), operands(operands) {}

  /// The memref or scalar of an operand or result; null for an absent operand.
  /// A transform, or what an elementwise op makes, that no memory holds has the
  /// sizes of its source, which is what is given for it, and matrices whose
  /// rows are gathered have its memory.
  mlir::Value lookup(mlir::Value logical) const;

private:
  KernelOp kernel;
  mlir::ValueRange operands;
};

/// What has the memory of matrices whose rows an op of the kernel gathers; null
/// for other values ("blockscale/Analysis/RowMoves.h").
mlir::Value getGatheredSource(mlir::Value logical);

/// The type of a logical value, a ranked tensor.
mlir::RankedTensorType getTensorType(mlir::Value logical);

numerics::ElementFormat getElementFormat(mlir::Value data);
numerics::ScaleFormat getScaleFormat(mlir::Value scale);

/// Whether a global operand has one value a batch element (or group).
bool isPerElement(mlir::Value global);

/// The f32 of a global operand for one batch element; null if it is absent.
mlir::Value loadGlobal(mlir::ImplicitLocOpBuilder &b, mlir::Value global,
                       mlir::ValueRange element);

/// The product of two global operands; null if both are absent.
mlir::Value loadGlobalProduct(mlir::ImplicitLocOpBuilder &b, mlir::Value first,
                              mlir::Value second, mlir::ValueRange element);

/// The last logical size of data. Where the type does not tell, that of packed
/// data is even.
mlir::Value getDataCols(mlir::ImplicitLocOpBuilder &b, mlir::Value data,
                        const KernelOperands &operands);

} // namespace blockscale::emit

#endif // BLOCKSCALE_LIB_CONVERSION_EMISSION_KERNELOPERANDS_H

//===- QuantizeSpec.h - What a quantize kernel does -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_QUANTIZESPEC_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_QUANTIZESPEC_H

#include "BlockQuantizer.h"
#include "Kernels.h"
#include "blockscale/IR/ScaleForm.h"

namespace blockscale::cpu {

/// All that the code of a quantize kernel depends on, read off its op once.
struct QuantizeSpec {
  /// `lookup` gives the buffers of the op's operands and results.
  QuantizeSpec(mlir::ImplicitLocOpBuilder &b, QuantizeOp op,
               llvm::function_ref<mlir::Value(mlir::Value)> lookup);

  /// Whether a block lies in one row, rather than in several.
  bool hasRowBlocks() const { return block[0] == 1; }
  bool hasLayout() const { return !layout.isLinear(); }
  int64_t getRank() const { return shape.size(); }
  mlir::Type getElement() const { return getElementTypeOrSelf(x.getType()); }
  /// The last two sizes of x, and those before.
  mlir::Value getRows() const { return getDim(b, x, getRank() - 2); }
  mlir::Value getCols() const { return getDim(b, x, getRank() - 1); }
  Indices getBatch() const { return getLeadingSizes(b, x, getRank() - 2); }

  mlir::ImplicitLocOpBuilder &b;
  BlockFormat format;
  /// Rows and columns of a block, and which scales it has.
  llvm::ArrayRef<int64_t> block;
  ScaleForm scaleForm;
  /// The order of scales: of the matrix, or of its groups.
  const numerics::ScaleLayout &layout;
  bool hasGroupTiles;
  bool transposed;
  /// The dimension of x that groups cut, where it has any.
  unsigned groupDim;
  GlobalOperand global;
  /// The sizes of x as far as they are known.
  llvm::ArrayRef<int64_t> shape;
  /// The buffers; null where operands are absent.
  mlir::Value x, data, scale, globalScale, blockAmax, rng, offsets;
};

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_QUANTIZESPEC_H

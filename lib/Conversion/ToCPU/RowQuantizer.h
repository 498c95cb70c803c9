//===- RowQuantizer.h - Quantization along rows -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Blocks of one row. An item is a row of x; with swizzled scales it is a band
// of 128 rows, so that a tile of scales has one writer.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWQUANTIZER_H
#define BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWQUANTIZER_H

#include "Kernels.h"

namespace blockscale::cpu {

/// The number of items of a matrix with `rows` rows.
mlir::Value countRowItems(QuantizeOp op, mlir::ImplicitLocOpBuilder &b,
                          mlir::Value rows);

void emitRowItems(QuantizeOp op, const ItemRange &range);

} // namespace blockscale::cpu

#endif // BLOCKSCALE_LIB_CONVERSION_TOCPU_ROWQUANTIZER_H

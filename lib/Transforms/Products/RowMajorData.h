//===- RowMajorData.h - Prepacked data in row-major order -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_PRODUCTS_ROWMAJORDATA_H
#define BLOCKSCALE_LIB_TRANSFORMS_PRODUCTS_ROWMAJORDATA_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/Builders.h"

namespace blockscale {

/// The data of B, or of A, in row-major order: what `op` takes, which is
/// prepacked. Sizes that prepacked data do not store are those of other
/// operands.
mlir::TypedValue<mlir::RankedTensorType>
createRowMajorData(mlir::OpBuilder &builder, ProductOpInterface op, bool ofB);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_PRODUCTS_ROWMAJORDATA_H

//===- LinearScales.h - Scales without a layout -----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_TRANSFORMS_PRODUCTS_LINEARSCALES_H
#define BLOCKSCALE_LIB_TRANSFORMS_PRODUCTS_LINEARSCALES_H

#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/IR/Builders.h"

namespace blockscale {

/// The scales of `data` in linear order, with one for `block` elements of a
/// row: `scale`, which is in tiles of one matrix.
mlir::Value createLinearScales(mlir::OpBuilder &builder, mlir::Location loc,
                               mlir::Value scale, mlir::Value data,
                               int64_t block);

/// The scales of an operand of `op` in linear order: `scale`, which is in a
/// layout, those of `data`. Scales in a grouped layout lie as the offsets of
/// `op` say.
mlir::Value createLinearScales(mlir::OpBuilder &builder, ProductOpInterface op,
                               mlir::Value scale, mlir::Value data);

} // namespace blockscale

#endif // BLOCKSCALE_LIB_TRANSFORMS_PRODUCTS_LINEARSCALES_H

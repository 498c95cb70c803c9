//===- TilePadding.h - Memory beside tiles ----------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TILEPADDING_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TILEPADDING_H

#include "TileOrder.h"

namespace blockscale::products {

/// Writes the padding behind the last rows and columns of a product, if the
/// tile has these and is smaller than what is padded. `threads` threads run it,
/// and `thread` (i32) is the number of one.
void emitTilePadding(KernelBuilder &b, const GemmSpec &spec,
                     const GemmArguments &arguments, const TileCoord &tile,
                     mlir::Value thread, int64_t threads);

/// Writes the parts of memory that no row of the result does, where the sink
/// has such. `cluster` and `clusters` are as for OtherTiles::emitRest. It is
/// the work of as many threads as a tile of scales has words: `thread` (i32) is
/// the number of one of at least as many that run it.
void emitSinkRest(KernelBuilder &b, const GemmSpec &spec,
                  const GemmArguments &arguments, const ProductRange &product,
                  mlir::Value thread, mlir::Value cluster,
                  mlir::Value clusters);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_TILEPADDING_H

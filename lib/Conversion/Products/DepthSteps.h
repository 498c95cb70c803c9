//===- DepthSteps.h - How K of a product is divided -------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DEPTHSTEPS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DEPTHSTEPS_H

#include "Arithmetic.h"
#include "GemmSpec.h"

namespace blockscale::products {

/// Steps of K of a product of K `depth` (i32).
inline emit::Lanes getSteps(KernelBuilder &b, const GemmSpec &spec,
                            mlir::Value depth) {
  return emitCeilDiv(b, depth, spec.stageElements);
}

/// Tiles of scales of a band of 128 rows whose length is `size` (i32): K, or N
/// of blocks across K.
inline emit::Lanes getScaleTiles(KernelBuilder &b, const GemmSpec &spec,
                                 mlir::Value size) {
  return emitCeilDiv(b, size, spec.block * kTileCols);
}

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DEPTHSTEPS_H

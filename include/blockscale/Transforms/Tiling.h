//===- Tiling.h - Tiles of quantizers ---------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_TRANSFORMS_TILING_H
#define BLOCKSCALE_TRANSFORMS_TILING_H

#include "mlir/IR/DialectRegistry.h"

namespace blockscale {

/// Attaches TilingInterface to hadamard, quantize and dequantize: the loops are
/// the dimensions of x (of the data), all parallel, and a tile is of whole
/// blocks. Scales are linear. quantize with groups or random bits, which depend
/// on the place in the whole tensor, is not tiled; an error says so. hadamard
/// and dequantize are fused into the loops of their users.
void registerTilingInterfaceExternalModels(mlir::DialectRegistry &registry);

} // namespace blockscale

#endif // BLOCKSCALE_TRANSFORMS_TILING_H

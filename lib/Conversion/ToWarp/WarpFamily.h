//===- WarpFamily.h - Products by block-scaled mma.sync ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPFAMILY_H
#define BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPFAMILY_H

#include "Products/ProductFamily.h"

namespace blockscale::gemm {

/// Products of two operands with scales on chips with `hasBlockScaleMma`.
extern const ProductFamily kWarpFamily;

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPFAMILY_H

//===- ScaledMmaFamily.h - Products by block-scaled mma.sync ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMAFAMILY_H
#define BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMAFAMILY_H

#include "Products/ProductFamily.h"

namespace blockscale::products {

/// Products of two operands with scales on chips with `hasBlockScaleMma`.
extern const ProductFamily kScaledMmaFamily;

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOSCALEDMMA_SCALEDMMAFAMILY_H

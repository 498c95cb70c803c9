//===- WgmmaFamily.h - Products by wgmma ------------------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMAFAMILY_H
#define BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMAFAMILY_H

#include "Products/ProductFamily.h"

namespace blockscale::products {

/// Products of an operand with scales and a plain one on chips with `hasWgmma`.
extern const ProductFamily kWgmmaFamily;

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOWGMMA_WGMMAFAMILY_H

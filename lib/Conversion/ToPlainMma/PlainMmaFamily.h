//===- PlainMmaFamily.h - Products by plain mma.sync ------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMAFAMILY_H
#define BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMAFAMILY_H

#include "Products/ProductFamily.h"

namespace blockscale::products {

/// Products of an operand with scales and a plain one on chips with `plainMma`.
extern const ProductFamily kPlainMmaFamily;

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOPLAINMMA_PLAINMMAFAMILY_H

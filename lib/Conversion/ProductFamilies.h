//===- ProductFamilies.h - All families of kernels of products --*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTFAMILIES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTFAMILIES_H

#include "Products/ProductFamily.h"

namespace blockscale::products {

/// The family whose kernels multiply such a product on a chip.
const ProductFamily &getProductFamily(const Product &product,
                                      const target::Chip &chip);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTFAMILIES_H

//===- ProductFamilies.cpp - All families of kernels of products ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductFamilies.h"

namespace blockscale::products {

const ProductFamily &getProductFamily(const Product &product,
                                      const target::Chip &chip) {
  static const ProductFamily *const families[] = {
      &kTcgen05Family, &kPlainTcgen05Family, &kWgmmaFamily, &kScaledMmaFamily,
      &kPlainMmaFamily};
  ProductKernel kernel = getProductKernel(chip, product.countScaled());
  return **llvm::find_if(families, [&](const ProductFamily *family) {
    return family->kernel == kernel;
  });
}

} // namespace blockscale::products

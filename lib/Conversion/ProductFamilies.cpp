//===- ProductFamilies.cpp - All families of kernels of products ----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductFamilies.h"
#include "ToMma/MmaFamily.h"
#include "ToSM100/Tcgen05Family.h"
#include "ToSM90/WgmmaFamily.h"
#include "ToWarp/WarpFamily.h"

namespace blockscale::gemm {

const ProductFamily &getProductFamily(const Product &product,
                                      const target::Chip &chip) {
  static const ProductFamily *const families[] = {
      &kTcgen05Family, &kWgmmaFamily, &kWarpFamily, &kMmaFamily};
  ProductKernel kernel = getProductKernel(chip, product.hasPlainOperand());
  return **llvm::find_if(families, [&](const ProductFamily *family) {
    return family->kernel == kernel;
  });
}

} // namespace blockscale::gemm

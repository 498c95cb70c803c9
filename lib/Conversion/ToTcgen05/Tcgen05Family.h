//===- Tcgen05Family.h - Products by tcgen05.mma ----------------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05FAMILY_H
#define BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05FAMILY_H

#include "Products/ProductFamily.h"

namespace blockscale::products {

/// Products of two operands with scales on chips with `hasTcgen05`.
extern const ProductFamily kTcgen05Family;

/// What its kernels take.
KernelCost getTcgen05Cost(const ScaledGemmSpec &spec, const target::Gpu &gpu);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_TOTCGEN05_TCGEN05FAMILY_H

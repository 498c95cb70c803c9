//===- SplitSum.h - Results of products in parts of K -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// The sums of each part of K are matrices of f32 beside each other, [matrix,
// part, M, N], whose rows are filled up to whole fragments. This kernel adds
// the parts in order and makes results of the sums.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SPLITSUM_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SPLITSUM_H

#include "DeviceEmission/KernelBuilder.h"
#include "GemmSpec.h"

namespace blockscale::products {

inline constexpr int64_t kSumThreads = 128;

/// The kernel's body. Its parameters are the sums and, of `arguments`, the
/// result, factors and bias, M, N and the number of matrices. A thread has a
/// fragment.
void emitSplitSum(KernelBuilder &b, const GemmSpec &spec, mlir::Value sums,
                  GemmArguments arguments);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SPLITSUM_H

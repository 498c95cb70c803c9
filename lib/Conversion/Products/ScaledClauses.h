//===- ScaledClauses.h - Clauses of products under block scales --*- C++ -*===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels of products ask for that multiply two operands with scales,
// whichever instruction they do so by.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SCALEDCLAUSES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SCALEDCLAUSES_H

#include "GemmFormat.h"
#include "ProductClauses.h"

#include "DeviceEmission/LaunchSite.h"

namespace blockscale::gemm {

/// The formats that the product of the op is computed in. Codes of 6 bits,
/// which memory has in a byte each, become FP8 before, and so do those of 4
/// bits beside FP8 unless K is known to be a multiple of 128 and stages have
/// rows of as many bytes. Nothing where the tensor cores have no such product.
std::optional<GemmFormat> findGemmFormat(const Product &product,
                                         int64_t stageSteps);

/// The multiple of elements that a row of data is where no gaps are between
/// rows.
int64_t getRowMultiple(const GemmFormat &format);

mlir::LogicalResult verifyScales(const Product &product,
                                 const LaunchSite &site);
/// The format that the product is computed in, as `findGemmFormat` finds it.
mlir::FailureOr<GemmFormat> verifyFormat(const Product &product,
                                         const LaunchSite &site,
                                         int64_t stageSteps);
/// Requires, at run time, that a dynamic K is a multiple of the elements that
/// copies need. For a static one, rows are moved apart (AlignedRows.h).
void requireDepth(LaunchSite &site, const GemmFormat &format,
                  mlir::OpFoldResult depth);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_SCALEDCLAUSES_H

//===- DecodedClauses.h - Clauses of decoded operands -----------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// What kernels of products ask for that decode one operand and multiply it by a
// plain one, whichever instruction they do so by.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDCLAUSES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDCLAUSES_H

#include "DecodedFormat.h"
#include "ProductClauses.h"

namespace blockscale::gemm {

/// The format that the product is computed in by `instruction`. Its scales are
/// in their layout.
mlir::FailureOr<DecodedFormat> verifyDecodedFormat(const Product &product,
                                                   const LaunchSite &site,
                                                   llvm::StringRef instruction);
/// Requires, at run time, that rows of a dynamic K are as long as copies need.
/// For a static one, rows are moved apart (AlignedRows.h).
void requireDecodedDepth(LaunchSite &site, const DecodedFormat &format,
                         mlir::OpFoldResult depth);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_DECODEDCLAUSES_H

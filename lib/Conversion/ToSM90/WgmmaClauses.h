//===- WgmmaClauses.h - What a product must be for wgmma --------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   sm90_mm_c1  the scales are in the layout swizzle_128x4, those that groups
//               part in its grouped form
//   sm90_mm_c2  a row of data of a dynamic length is a multiple of 16 bytes
//   sm90_mm_c3  M, N, K and the number of matrices or groups are below 2^31
//   sm90_mm_c4  a schedule has tiles of 64 or 128 rows of the scaled operand
//               (of 128 for two products) and of 16, 32, 64, 128 or 256 of the
//               plain one (of 32 or more where A is the scaled one, and of 64
//               for two products then), stages that shared memory holds and
//               teams share, no multicast, and 1, 2, 4 or 8 parts of K;
//               products that share a kernel have the same
//   sm90_mm_c5  one operand has scales, the other one is bf16 or f16
//   sm90_mm_c7  groups of K begin at multiples of 16 bytes of codes; others are
//               errors that the kernel finds, and count as empty
//   sm90_mm_c8  prepacked data has a static number of rows and K
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMACLAUSES_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMACLAUSES_H

#include "Products/DecodedClauses.h"
#include "WgmmaFormat.h"

namespace blockscale::gemm {

/// The format that the product is computed in. Its scales are in their layout.
mlir::FailureOr<WgmmaFormat> verifyWgmmaFormat(const Product &product,
                                               const LaunchSite &site);
/// `spec` has its formats, products and schedule.
mlir::LogicalResult verifyWgmmaSchedule(const Product &product,
                                        const LaunchSite &site,
                                        const WgmmaSpec &spec);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM90_WGMMACLAUSES_H

//===- WarpClauses.h - What a product must be for a kernel -------*- C++ -*===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   warp_mm_c1  scales of both operands are in the layout swizzle_128x4, those
//               that groups part in its grouped form
//   warp_mm_c2  a row of data of a dynamic length is a multiple of 16 bytes
//   warp_mm_c3  M, N, K and the number of matrices or groups are below 2^31
//   warp_mm_c4  a schedule has tiles of 128 x 128, two stages at least and at
//               most as many as shared memory holds, and one part of K where
//               there are groups or ops that follow; each of two products that
//               has a schedule has the same
//   warp_mm_c5  data are of floating-point formats
//   warp_mm_c7  groups of K begin at multiples of 16 bytes of codes; others are
//               errors that the kernel finds, and count as empty
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPCLAUSES_H
#define BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPCLAUSES_H

#include "Products/ScaledClauses.h"

namespace blockscale::gemm {

mlir::LogicalResult verifyWarpSchedule(const Product &product,
                                       const LaunchSite &site,
                                       const ScaledGemmSpec &spec);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOWARP_WARPCLAUSES_H

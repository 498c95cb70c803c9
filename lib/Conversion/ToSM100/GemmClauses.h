//===- GemmClauses.h - What a product must be for a kernel ------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   sm100_mm_c1  scales of both operands are in the layout swizzle_128x4, those
//                that groups part in its grouped form
//   sm100_mm_c2  a row of data of a dynamic length is a multiple of 16 bytes
//   sm100_mm_c3  M, N, K and the number of matrices or groups are below 2^31
//   sm100_mm_c4  a schedule has tiles of 128 x 128, 128 x 256 or 256 x 256, as
//                many stages as shared memory holds, one part of K where there
//                are groups or ops that follow, and tiles of 256 columns for
//                two products, of which each that has one has the same
//   sm100_mm_c5  data are of floating-point formats
//   sm100_mm_c6  both operands have scales
//   sm100_mm_c7  groups of K begin at multiples of 16 bytes of codes; others
//                are errors that the kernel finds, and count as empty
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMCLAUSES_H
#define BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMCLAUSES_H

#include "Products/ScaledClauses.h"

namespace blockscale::gemm {

mlir::LogicalResult verifySchedule(const Product &product,
                                   const LaunchSite &site,
                                   const GemmFormat &format,
                                   GemmScheduleAttr schedule);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOSM100_GEMMCLAUSES_H

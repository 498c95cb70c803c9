//===- MmaClauses.h - What a product must be for a kernel -------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
//   mma_mm_c1  the scales are in the layout swizzle_128x4, those that groups
//              part in its grouped form
//   mma_mm_c2  a row of data of a dynamic length is a multiple of 16 bytes
//   mma_mm_c3  M, N, K and the number of matrices or groups are below 2^31
//   mma_mm_c4  a schedule has a tile that `isMmaTile` names, three stages at
//              least and as many as shared memory holds at most, no multicast,
//              and one part of K where there are groups or ops that follow;
//              each of two products that has a schedule has the same
//   mma_mm_c5  one operand has scales, the other one is bf16 or f16
//   mma_mm_c7  groups of K begin at multiples of 16 bytes of codes; others are
//              errors that the kernel finds, and count as empty
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_TOMMA_MMACLAUSES_H
#define BLOCKSCALE_LIB_CONVERSION_TOMMA_MMACLAUSES_H

#include "MmaLayout.h"
#include "Products/DecodedClauses.h"

namespace blockscale::gemm {

/// Whether there is a kernel with tiles of so many rows: 64, 128 or 256 rows
/// with scales and 16, 32, 64 or 128 plain ones, and 64 with scales only where
/// there are at most 64 plain ones. Columns of a result come in fragments: of
/// plain rows that are columns there are 32 at least, 64 of two products.
bool isMmaTile(const DecodedFormat &format, int64_t products, int64_t scaled,
               int64_t plain);

/// Verifies the tile of a schedule, before a spec is made of it.
mlir::LogicalResult verifyMmaTile(const Product &product,
                                  const LaunchSite &site,
                                  const DecodedFormat &format,
                                  GemmScheduleAttr schedule);
/// Verifies the rest of it. `spec` has its formats, products and schedule.
mlir::LogicalResult verifyMmaSchedule(const Product &product,
                                      const LaunchSite &site,
                                      const MmaSpec &spec);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_TOMMA_MMACLAUSES_H

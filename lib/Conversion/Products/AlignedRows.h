//===- AlignedRows.h - Rows of codes where copies begin ---------*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// Rows of a tensor map begin at multiples of 16 bytes (cuTensorMapEncodeTiled,
// "globalStrides"). In NVFP4 a row of codes is a multiple of 8 bytes, as long
// as a block. Where it is not one of 16, rows are moved apart before the
// product: those of a constant at compile time, other ones by a kernel:
//
//   24 bytes of row 0, 24 of row 1, ..
//     ->  24 bytes of row 0, a gap of 8, 24 of row 1, a gap of 8, ..
//
// A map has the 24 bytes alone and fills what is beyond them with zeros, so
// that what is in the gaps does not matter. Scales, which come in tiles, and
// plain operands, whose blocks have 32 bytes, are read as they are.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ALIGNEDROWS_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ALIGNEDROWS_H

#include "DeviceEmission/LaunchSite.h"

namespace blockscale::products {

/// Rows of data that a tensor map can have.
struct AlignedRows {
  mlir::Value memory;
  /// Bytes from the begin of a row to that of the next, index; null where no
  /// gap is between them.
  mlir::Value pitch;
  /// Whether the memory is a workspace, which is free after the product.
  bool isWorkspace = false;
};

/// The `rows` rows (index) of `depth` elements of `bits` bits in `memory`,
/// moved apart where they need it. Rows of a dynamic length stay where they
/// are.
AlignedRows alignRows(LaunchSite &site, mlir::Value memory, int64_t bits,
                      mlir::Value rows, mlir::OpFoldResult depth);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_ALIGNEDROWS_H

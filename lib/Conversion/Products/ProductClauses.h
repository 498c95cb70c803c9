//===- ProductClauses.h - Clauses of all kernels of products ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product that the kernels of a chip do not support is an error with a clause
// (docs/Products.md). Families of kernels number their clauses together, and
// each has a prefix of its own: clause 2 is "sm100_mm_c2" of one family and
// "mma_mm_c2" of another.
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTCLAUSES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTCLAUSES_H

#include "GemmRequest.h"

namespace blockscale::products {

/// The attribute that holds the schedule of an op. An op that has it keeps it,
/// and none is chosen.
inline constexpr llvm::StringLiteral kScheduleAttrName = "blockscale.schedule";

/// Kernels of products, by the instruction that multiplies: those of ToTcgen05,
/// ToPlainTcgen05, ToWgmma, ToScaledMma and ToPlainMma.
enum class ProductKernel { Tcgen05, PlainTcgen05, Wgmma, ScaledMma, PlainMma };
/// The one that a chip has for products of which `scaled` operands have scales.
ProductKernel getProductKernel(const target::Chip &chip, int64_t scaled);

/// What a product must be for a kernel, with the families that ask for it.
enum class ProductClause {
  /// c1 (all): the scales are in the layout swizzle_128x4, those that groups
  /// part in its grouped form.
  ScaleLayout = 1,
  /// c2 (all): a row of data of a dynamic length is a multiple of 16 bytes.
  RowBytes,
  /// c3 (all): M, N, K and the number of matrices or groups are below 2^31.
  Sizes,
  /// c4 (all): the family has a kernel with the tile of the schedule
  /// (`verifyTile`), and with its stages and parts of K (`verifySchedule`);
  /// each of several products that has a schedule has the same.
  Schedule,
  /// c5 (all): tensor cores multiply the formats. Of two operands with scales
  /// (sm100_mm, warp_mm) both are of floating-point formats; elsewhere one
  /// operand at most has scales, and others are bf16 or f16.
  Formats,
  /// c6 (all): groups of K begin at multiples of 16 bytes of codes; others are
  /// errors that the kernel finds, and count as empty.
  GroupBegins,
  /// c7 (sm90_mm): prepacked data has a static number of rows and K.
  PackedSizes,
  /// c8 (all): of `order chain`, the bits of the instruction's sums are known,
  /// so that one operand at most has scales, and the schedule has all of K in
  /// one part (`verifySchedule`) and a tile that keeps the chain.
  Chain,
};

/// An error at the op, with the name of `clause`, for example "sm100_mm_c2" for
/// RowBytes.
mlir::InFlightDiagnostic refuseProduct(const Product &product,
                                       const LaunchSite &site,
                                       ProductClause clause);

/// Verifies the layout of the scales of both operands, and that tensor cores
/// multiply the formats under block scales.
mlir::LogicalResult verifyScaled(const Product &product,
                                 const LaunchSite &site);
/// Verifies that one operand at most has scales, of which `instruction`
/// multiplies what is decoded, and their layout.
mlir::LogicalResult verifyDecoded(const Product &product,
                                  const LaunchSite &site,
                                  llvm::StringRef instruction);
/// Verifies that sizes are below 2^31, at run time where they are not known
/// before.
mlir::LogicalResult verifySizes(const Product &product, LaunchSite &site,
                                const GemmSizes &sizes);
/// Requires, at run time, that a dynamic length of rows, K or that of MN-major
/// ones, is a multiple of `multiple`, as many elements as copies need. For a
/// static one, rows are moved apart (AlignedRows.h).
void requireDepth(const Product &product, LaunchSite &site, int64_t multiple,
                  const GemmSizes &sizes);
/// Verifies that a product has the schedule that its kernel runs by.
mlir::LogicalResult verifySameSchedule(const Product &product,
                                       const LaunchSite &site,
                                       GemmScheduleAttr schedule);

} // namespace blockscale::products

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTCLAUSES_H

//===- ProductClauses.h - Clauses of all kernels of products ----*- C++ -*-===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
//
// A product that the kernels of a chip do not support is an error with a clause
// (docs/Products.md).
//
//===----------------------------------------------------------------------===//

#ifndef BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTCLAUSES_H
#define BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTCLAUSES_H

#include "GemmRequest.h"

namespace blockscale::gemm {

/// The attribute that holds the schedule of an op. An op that has it keeps it,
/// and none is chosen.
inline constexpr llvm::StringLiteral kScheduleAttrName = "blockscale.schedule";

/// Kernels of products, by the instruction that multiplies: those of ToSM100,
/// ToSM90, ToWarp and ToMma.
enum class ProductKernel { Tcgen05, Wgmma, ScaledMma, PlainMma };
/// The one that a chip has for products with a plain operand, if `isPlain`, or
/// of two operands with scales.
ProductKernel getProductKernel(const target::Chip &chip, bool isPlain);

/// An error at the op, with the name of `clause`, for example
/// "sm100_mm_c2" for "c2".
mlir::InFlightDiagnostic refuseProduct(const Product &product,
                                       const LaunchSite &site,
                                       llvm::StringRef clause);
/// The part of the message of a check at run time that names the chip and the
/// clause, of products with a plain operand if `isPlain`.
std::string getClauseNote(const LaunchSite &site, llvm::StringRef clause,
                          bool isPlain);

/// Verifies that scales are in the layout that kernels read; `isGrouped` says
/// whether it is that of each group.
mlir::LogicalResult verifyScale(const Product &product, const LaunchSite &site,
                                llvm::StringRef name, mlir::Value scale,
                                bool isGrouped);
/// Verifies that sizes are below 2^31, at run time where they are not known
/// before.
mlir::LogicalResult verifySizes(const Product &product, LaunchSite &site,
                                const GemmSizes &sizes);
/// Verifies that a product has the schedule that its kernel runs by.
mlir::LogicalResult verifySameSchedule(const Product &product,
                                       const LaunchSite &site,
                                       GemmScheduleAttr schedule);

} // namespace blockscale::gemm

#endif // BLOCKSCALE_LIB_CONVERSION_PRODUCTS_PRODUCTCLAUSES_H

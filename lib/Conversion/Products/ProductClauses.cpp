//===- ProductClauses.cpp - Clauses of all kernels of products ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductClauses.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;

namespace blockscale::gemm {

ProductKernel getProductKernel(const target::Chip &chip, bool isPlain) {
  if (chip.hasTcgen05())
    return ProductKernel::Tcgen05;
  if (chip.hasWgmma())
    return ProductKernel::Wgmma;
  return chip.hasBlockScaleMma() && !isPlain ? ProductKernel::ScaledMma
                                             : ProductKernel::PlainMma;
}

/// What the names of the clauses of a chip begin with, for products with a
/// plain operand if `isPlain`.
static StringRef getClausePrefix(const target::Chip &chip, bool isPlain) {
  constexpr StringLiteral prefixes[] = {"sm100_mm_", "sm90_mm_", "warp_mm_",
                                        "mma_mm_"};
  return prefixes[static_cast<size_t>(getProductKernel(chip, isPlain))];
}

std::string getClauseNote(const LaunchSite &site, StringRef clause,
                          bool isPlain) {
  return (Twine(", on ") + StringRef(site.getChip().name) + " (" +
          getClausePrefix(site.getChip(), isPlain) + clause + "),")
      .str();
}

InFlightDiagnostic refuseProduct(const Product &product, const LaunchSite &site,
                                 StringRef clause) {
  return product.op->emitOpError()
         << "has no kernel on " << site.getChip().name << " ("
         << getClausePrefix(site.getChip(), product.hasPlainOperand()) << clause
         << "): ";
}

LogicalResult verifyScale(const Product &product, const LaunchSite &site,
                          StringRef name, Value scale, bool isGrouped) {
  LayoutAttr layout = getLayout(scale.getType());
  if (layout && layout.isGrouped() == isGrouped)
    return success();
  InFlightDiagnostic diag = refuseProduct(product, site, "c1");
  diag << "expected " << name << " to be in the layout swizzle_128x4";
  if (isGrouped)
    diag << " of each group";
  diag << ", but got ";
  if (layout)
    diag << layout;
  else
    diag << "linear scales";
  diag << "; bring them there by blockscale.swizzle first";
  if (isGrouped && product.offsets.getType().isDynamicDim(0))
    diag << ", for which the number of groups must be static";
  return diag;
}

LogicalResult verifySizes(const Product &product, LaunchSite &site,
                          const GemmSizes &sizes) {
  constexpr StringLiteral clause = "c3";
  constexpr int64_t end = int64_t(1) << 31;
  ImplicitLocOpBuilder &b = site.b;
  std::pair<StringRef, OpFoldResult> named[] = {
      {"M", sizes.rows},
      {"N", sizes.cols},
      {"K", sizes.depth},
      {product.groups == GroupDim::None ? "the number of matrices"
                                        : "the number of groups",
       getAsOpFoldResult(sizes.matrices)}};
  for (auto [name, size] : named) {
    std::optional<int64_t> known = getConstantIntValue(size);
    if (known && *known >= end)
      return refuseProduct(product, site, clause)
             << "expected " << name << " to be below 2^31, but got " << *known
             << "; divide the product";
    if (known)
      continue;
    Value isSmall =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                              emit::toIndex(b, size), emit::getIndex(b, end));
    cf::AssertOp::create(
        b, isSmall,
        (product.op->getName().stripDialect() + ": expected " + name +
         getClauseNote(site, clause, product.hasPlainOperand()) +
         " to be below 2^31")
            .str());
  }
  return success();
}

LogicalResult verifySameSchedule(const Product &product, const LaunchSite &site,
                                 GemmScheduleAttr schedule) {
  Attribute own = product.op->getAttr(kScheduleAttrName);
  if (own && own != schedule)
    return refuseProduct(product, site, "c4")
           << "expected the products of a kernel to have one schedule, "
           << schedule << ", but got " << own;
  return success();
}

} // namespace blockscale::gemm

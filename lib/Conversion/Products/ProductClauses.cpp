//===- ProductClauses.cpp - Clauses of all kernels of products ------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ProductClauses.h"
#include "DecodedFormat.h"
#include "GemmFormat.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;

namespace blockscale::products {

ProductKernel getProductKernel(const target::Chip &chip, int64_t scaled) {
  bool isPlain = scaled < 2;
  if (chip.hasTcgen05())
    return isPlain ? ProductKernel::PlainTcgen05 : ProductKernel::Tcgen05;
  if (chip.hasWgmma())
    return ProductKernel::Wgmma;
  return chip.hasBlockScaleMma() && !isPlain ? ProductKernel::ScaledMma
                                             : ProductKernel::PlainMma;
}

/// The name of a clause of the family that multiplies, on a chip, products of
/// which `scaled` operands have scales.
static std::string getName(ProductClause clause, const target::Chip &chip,
                           int64_t scaled) {
  constexpr StringLiteral prefixes[] = {"sm100_mm_", "sm100_plain_mm_",
                                        "sm90_mm_", "warp_mm_", "mma_mm_"};
  return (prefixes[static_cast<size_t>(getProductKernel(chip, scaled))] + "c" +
          Twine(static_cast<int>(clause)))
      .str();
}

/// The part of the message of a check at run time that names the chip and the
/// clause.
static std::string getClauseNote(const Product &product, const LaunchSite &site,
                                 ProductClause clause) {
  const target::Chip &chip = site.getChip();
  return (Twine(", on ") + StringRef(chip.name) + " (" +
          getName(clause, chip, product.countScaled()) + "),")
      .str();
}

InFlightDiagnostic refuseProduct(const Product &product, const LaunchSite &site,
                                 ProductClause clause) {
  const target::Chip &chip = site.getChip();
  return product.op->emitOpError()
         << "has no kernel on " << chip.name << " ("
         << getName(clause, chip, product.countScaled()) << "): ";
}

/// Verifies that scales are in the layout that kernels read; `isGrouped` says
/// whether it is that of each group.
static LogicalResult verifyScale(const Product &product, const LaunchSite &site,
                                 StringRef name, Value scale, bool isGrouped) {
  LayoutAttr layout = getLayout(scale.getType());
  if (getScaleLayout(scale.getType()) == numerics::k128x4 &&
      layout.isGrouped() == isGrouped)
    return success();
  InFlightDiagnostic diag =
      refuseProduct(product, site, ProductClause::ScaleLayout);
  diag << "expected " << name << " to be in the layout swizzle_128x4";
  if (isGrouped)
    diag << " of each group";
  diag << ", but got ";
  if (layout)
    diag << layout;
  else
    diag << "linear scales";
  return diag << "; bring them there by blockscale.swizzle first";
}

LogicalResult verifyScaled(const Product &product, const LaunchSite &site) {
  if (product.keepsChain)
    return refuseProduct(product, site, ProductClause::Chain)
           << "expected the operands of order chain to be multiplied as bf16 "
              "or f16, whose sums have known bits, but got two operands with "
              "scales, of whose instruction no order of sums is public; "
              "dequantize one of them (blockscale.dequantize)";
  if (failed(verifyScale(product, site, "scale_a", product.scaleA,
                         product.groups != GroupDim::None)) ||
      failed(verifyScale(product, site, "scale_b", product.scaleB,
                         product.groups == GroupDim::Columns)))
    return failure();
  // Stages of any length have the same formats, but for padded codes.
  if (GemmFormat::find(product, /*stageSteps=*/1))
    return success();
  return refuseProduct(product, site, ProductClause::Formats)
         << "expected data of floating-point formats, which alone tensor cores "
            "multiply under block scales, but got "
         << product.a.getType().getElementType() << " and "
         << product.b.getType().getElementType()
         << "; quantize to one of these, or run the product on the CPU";
}

LogicalResult verifyDecoded(const Product &product, const LaunchSite &site,
                            StringRef instruction) {
  const target::Chip &chip = site.getChip();
  if (!product.canBeDecoded(chip))
    return refuseProduct(product, site, ProductClause::Formats)
           << "expected a K-major operand with scales"
           << (chip.hasWgmma() ? ", or a prepacked b whose global scale "
                                 "multiplies sums"
                               : "")
           << ", which alone is decoded as it is multiplied, but got mn_major_"
           << (product.isMnMajorB ? "b" : "a")
           << "; blockscale-decode-product-operands decodes it before";
  std::optional<DecodedFormat> format = DecodedFormat::find(product, chip);
  if (!format)
    return refuseProduct(product, site, ProductClause::Formats)
           << "expected one operand with scales and a plain one, which alone "
           << instruction << " multiplies, but got "
           << product.a.getType().getElementType() << " and "
           << product.b.getType().getElementType()
           << " with scales; dequantize one of them (blockscale.dequantize)";
  if (!format->hasScales)
    return success();
  bool isGrouped = product.groups == GroupDim::Columns ||
                   (format->isScaledA && product.groups == GroupDim::Rows);
  return verifyScale(product, site, format->isScaledA ? "scale_a" : "scale_b",
                     format->isScaledA ? product.scaleA : product.scaleB,
                     isGrouped);
}

LogicalResult verifySizes(const Product &product, LaunchSite &site,
                          const GemmSizes &sizes) {
  constexpr ProductClause clause = ProductClause::Sizes;
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
    cf::AssertOp::create(b, isSmall,
                         (product.op->getName().stripDialect() + ": expected " +
                          name + getClauseNote(product, site, clause) +
                          " to be below 2^31")
                             .str());
  }
  return success();
}

void requireDepth(const Product &product, LaunchSite &site, int64_t multiple,
                  const GemmSizes &sizes) {
  auto requireRows = [&](StringRef name, OpFoldResult size) {
    if (!getConstantIntValue(size))
      site.call.requireMultiple(
          size, multiple,
          name + getClauseNote(product, site, ProductClause::RowBytes));
  };
  if (product.isMnMajorA)
    requireRows("M", sizes.rows);
  if (product.isMnMajorB)
    requireRows("N", sizes.cols);
  OpFoldResult depth = sizes.depth;
  // Rows are whole blocks, so that only a larger multiple needs a check.
  auto block = cast<ProductOpInterface>(product.op).getBlockSize();
  if (!getConstantIntValue(depth) && multiple > block)
    site.call.requireMultiple(
        depth, multiple,
        "K" + getClauseNote(product, site, ProductClause::RowBytes));
}

LogicalResult verifySameSchedule(const Product &product, const LaunchSite &site,
                                 GemmScheduleAttr schedule) {
  Attribute own = product.op->getAttr(kScheduleAttrName);
  if (own && own != schedule)
    return refuseProduct(product, site, ProductClause::Schedule)
           << "expected the products of a kernel to have one schedule, "
           << schedule << ", but got " << own;
  return success();
}

} // namespace blockscale::products

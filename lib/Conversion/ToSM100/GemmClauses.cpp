//===- GemmClauses.cpp - What a product must be for a kernel --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmClauses.h"
#include "GemmLayout.h"
#include "GemmSchedule.h"

#include "mlir/Dialect/ControlFlow/IR/ControlFlowOps.h"

using namespace mlir;

namespace blockscale::sm100 {

static InFlightDiagnostic refuse(const Product &product, const LaunchSite &site,
                                 StringRef clause) {
  return product.op->emitOpError() << "has no kernel on " << site.getChip().name
                                   << " (" << clause << "): ";
}

static LogicalResult verifyScale(const Product &product, const LaunchSite &site,
                                 StringRef name, Value scale, bool isGrouped) {
  LayoutAttr layout = getLayout(scale.getType());
  if (layout && layout.isGrouped() == isGrouped)
    return success();
  InFlightDiagnostic diag = refuse(product, site, "sm100_mm_c1");
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

LogicalResult verifyScales(const Product &product, const LaunchSite &site) {
  if (product.hasPlainOperand())
    return refuse(product, site, "sm100_mm_c6")
           << "expected both operands to have scales, but got plain "
           << (product.scaleA ? product.b : product.a)
                  .getType()
                  .getElementType()
           << "; quantize it (blockscale.quantize), or dequantize the other "
              "operand and multiply by linalg";
  if (failed(verifyScale(product, site, "scale_a", product.scaleA,
                         product.groups != GroupDim::None)))
    return failure();
  return verifyScale(product, site, "scale_b", product.scaleB,
                     product.groups == GroupDim::Columns);
}

int64_t getRowMultiple(const GemmFormat &format) {
  if (format.isPadded(format.a) || format.isPadded(format.b))
    return kRowBytes;
  // cuTensorMapEncodeTiled, "globalStrides".
  bool isPacked = format.a == numerics::ElementFormat::E2M1;
  return isPacked ? 2 * kCopyBytes : kCopyBytes;
}

FailureOr<GemmFormat> verifyFormat(const Product &product,
                                   const LaunchSite &site) {
  if (std::optional<GemmFormat> format = findGemmFormat(product))
    return *format;
  return refuse(product, site, "sm100_mm_c5")
         << "expected data of floating-point formats, which alone tcgen05.mma "
            "multiplies under block scales, but got "
         << product.a.getType().getElementType() << " and "
         << product.b.getType().getElementType()
         << "; quantize to one of these, or run the product on the CPU";
}

LogicalResult verifyDepth(const Product &product, LaunchSite &site,
                          const GemmFormat &format, OpFoldResult depth) {
  constexpr StringLiteral clause = "sm100_mm_c2";
  int64_t multiple = getRowMultiple(format);
  std::optional<int64_t> known = getConstantIntValue(depth);
  if (known && *known % multiple != 0)
    return refuse(product, site, clause)
           << "expected K to be a multiple of " << multiple << ", but got "
           << *known << "; pad K with zeros, in data and scales";
  // Rows are whole blocks, so that only a larger multiple needs a check at run
  // time.
  if (multiple > format.block)
    site.call.requireMultiple(depth, multiple,
                              "K, on " + Twine(site.getChip().name) + " (" +
                                  clause + "),");
  return success();
}

LogicalResult verifySizes(const Product &product, LaunchSite &site,
                          const GemmSizes &sizes) {
  constexpr StringLiteral clause = "sm100_mm_c3";
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
      return refuse(product, site, clause)
             << "expected " << name << " to be below 2^31, but got " << *known
             << "; divide the product";
    if (known)
      continue;
    Value isSmall =
        arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                              emit::toIndex(b, size), emit::getIndex(b, end));
    cf::AssertOp::create(b, isSmall,
                         (product.op->getName().stripDialect() + ": expected " +
                          name + ", on " + StringRef(site.getChip().name) +
                          " (" + clause + "), to be below 2^31")
                             .str());
  }
  return success();
}

static constexpr StringLiteral kScheduleClause = "sm100_mm_c4";

LogicalResult verifySchedule(const Product &product, const LaunchSite &site,
                             const GemmFormat &format,
                             GemmScheduleAttr schedule) {
  int64_t most = SharedLayout::getMaxStages(format, schedule.getRows(),
                                            schedule.getCols());
  if (schedule.getStages() > most)
    return refuse(product, site, kScheduleClause)
           << "expected a schedule of at most " << most
           << " stages, which shared memory holds, but got "
           << schedule.getStages();
  bool isWhole = product.groups != GroupDim::None || product.hasEpilogue;
  if (isWhole && schedule.getSplits() > 1)
    return refuse(product, site, kScheduleClause)
           << "expected a schedule of groups, or with ops that follow, to have "
              "K in one part, but got "
           << schedule.getSplits();
  if (product.siblings > 1 && schedule.getCols() != 256)
    return refuse(product, site, kScheduleClause)
           << "expected a schedule of two products to have 256 columns, but "
              "got "
           << schedule.getCols();
  return success();
}

LogicalResult verifySameSchedule(const Product &product, const LaunchSite &site,
                                 GemmScheduleAttr schedule) {
  Attribute own = product.op->getAttr(kScheduleAttrName);
  if (own && own != schedule)
    return refuse(product, site, kScheduleClause)
           << "expected the products of a kernel to have one schedule, "
           << schedule << ", but got " << own;
  return success();
}

} // namespace blockscale::sm100

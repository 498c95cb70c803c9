//===- GemmClauses.cpp - What a product must be for a kernel --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "GemmClauses.h"
#include "GemmLayout.h"
#include "GemmSchedule.h"

using namespace mlir;

namespace blockscale::gemm {

LogicalResult verifyScales(const Product &product, const LaunchSite &site) {
  if (product.hasPlainOperand())
    return refuseProduct(product, site, "c6")
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
  return refuseProduct(product, site, "c5")
         << "expected data of floating-point formats, which alone tcgen05.mma "
            "multiplies under block scales, but got "
         << product.a.getType().getElementType() << " and "
         << product.b.getType().getElementType()
         << "; quantize to one of these, or run the product on the CPU";
}

void requireDepth(LaunchSite &site, const GemmFormat &format,
                  OpFoldResult depth) {
  // Rows are whole blocks, so that only a larger multiple needs a check.
  int64_t multiple = getRowMultiple(format);
  if (!getConstantIntValue(depth) && multiple > format.block)
    site.call.requireMultiple(depth, multiple, "K" + getClauseNote(site, "c2"));
}

LogicalResult verifySchedule(const Product &product, const LaunchSite &site,
                             const GemmFormat &format,
                             GemmScheduleAttr schedule) {
  int64_t rows = schedule.getRows(), cols = schedule.getCols();
  if (rows != 128 && rows != 256)
    return refuseProduct(product, site, "c4")
           << "expected a schedule of 128 or 256 rows, but got " << rows;
  if (cols != 256 && (cols != 128 || rows == 256))
    return refuseProduct(product, site, "c4")
           << "expected a schedule of " << rows << " rows to have "
           << (rows == 256 ? "256" : "128 or 256") << " columns, but got "
           << cols;
  int64_t most = SharedLayout::getMaxStages(format, rows, cols);
  if (schedule.getStages() > most)
    return refuseProduct(product, site, "c4")
           << "expected a schedule of at most " << most
           << " stages, which shared memory holds, but got "
           << schedule.getStages();
  bool isWhole = product.groups != GroupDim::None || product.hasEpilogue;
  if (isWhole && schedule.getSplits() > 1)
    return refuseProduct(product, site, "c4")
           << "expected a schedule of groups, or with ops that follow, to have "
              "K in one part, but got "
           << schedule.getSplits();
  if (product.siblings > 1 && cols != 256)
    return refuseProduct(product, site, "c4")
           << "expected a schedule of two products to have 256 columns, but "
              "got "
           << cols;
  return success();
}

} // namespace blockscale::gemm

//===- ScaledClauses.cpp - Clauses of products under block scales ---------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScaledClauses.h"
#include "blockscale/IR/TypeRules.h"

using namespace mlir;

namespace blockscale::gemm {

/// The format that operands of format `mine` are multiplied in beside those of
/// `other`.
static numerics::ElementFormat getMultiplied(numerics::ElementFormat mine,
                                             numerics::ElementFormat other,
                                             bool canPad) {
  using numerics::ElementFormat;
  int bits = numerics::getFormatInfo(mine).bits;
  bool isAlike = mine == ElementFormat::E2M1 && (other == mine || canPad);
  return bits == 8 || isAlike ? mine : ElementFormat::E4M3;
}

std::optional<GemmFormat> findGemmFormat(const Product &product,
                                         int64_t stageSteps) {
  if (product.hasPlainOperand())
    return std::nullopt;
  RankedTensorType typeA = product.a.getType(), typeB = product.b.getType();
  auto a = getElementFormat(typeA.getElementType());
  auto b = getElementFormat(typeB.getElementType());
  // Maps of padded codes have rows of whole boxes, from which copies begin.
  bool canPad = product.groups != GroupDim::Columns &&
                stageSteps * kStepBytes == kPaddedRowBytes;
  canPad &= llvm::any_of(ArrayRef{typeA, typeB}, [](RankedTensorType type) {
    int64_t depth = type.getShape().back();
    return !ShapedType::isDynamic(depth) && depth % kPaddedRowBytes == 0;
  });
  Type scale = product.scaleA.getType().getElementType();
  return GemmFormat::get(getMultiplied(a, b, canPad),
                         getMultiplied(b, a, canPad), getScaleFormat(scale),
                         stageSteps);
}

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
    return kPaddedRowBytes;
  // cuTensorMapEncodeTiled, "globalStrides".
  bool isPacked = format.a == numerics::ElementFormat::E2M1;
  return isPacked ? 2 * kCopyBytes : kCopyBytes;
}

FailureOr<GemmFormat> verifyFormat(const Product &product,
                                   const LaunchSite &site, int64_t stageSteps) {
  if (std::optional<GemmFormat> format = findGemmFormat(product, stageSteps))
    return *format;
  return refuseProduct(product, site, "c5")
         << "expected data of floating-point formats, which alone tensor cores "
            "multiply under block scales, but got "
         << product.a.getType().getElementType() << " and "
         << product.b.getType().getElementType()
         << "; quantize to one of these, or run the product on the CPU";
}

void requireDepth(LaunchSite &site, const GemmFormat &format,
                  OpFoldResult depth) {
  // Rows are whole blocks, so that only a larger multiple needs a check.
  int64_t multiple = getRowMultiple(format);
  if (!getConstantIntValue(depth) && multiple > format.block)
    site.call.requireMultiple(
        depth, multiple, "K" + getClauseNote(site, "c2", /*isPlain=*/false));
}

} // namespace blockscale::gemm

//===- DecodedClauses.cpp - Clauses of decoded operands -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "DecodedClauses.h"

using namespace mlir;

namespace blockscale::gemm {

FailureOr<DecodedFormat> verifyDecodedFormat(const Product &product,
                                             const LaunchSite &site,
                                             StringRef instruction) {
  std::optional<DecodedFormat> format = DecodedFormat::find(product);
  if (!format)
    return refuseProduct(product, site, "c5")
           << "expected one operand with scales and a plain one, which alone "
           << instruction << " multiplies, but got "
           << product.a.getType().getElementType() << " and "
           << product.b.getType().getElementType()
           << " with scales; dequantize one of them (blockscale.dequantize)";
  bool isGrouped = product.groups == GroupDim::Columns ||
                   (format->isScaledA && product.groups == GroupDim::Rows);
  if (failed(verifyScale(
          product, site, format->isScaledA ? "scale_a" : "scale_b",
          format->isScaledA ? product.scaleA : product.scaleB, isGrouped)))
    return failure();
  return *format;
}

void requireDecodedDepth(LaunchSite &site, const DecodedFormat &format,
                         OpFoldResult depth) {
  // Copies begin at multiples of their 16 bytes. Rows are whole blocks.
  int64_t multiple = kCopyBytes * 8 / format.getBits();
  if (!getConstantIntValue(depth) && multiple > format.block)
    site.call.requireMultiple(
        depth, multiple, "K" + getClauseNote(site, "c2", /*isPlain=*/true));
}

} // namespace blockscale::gemm

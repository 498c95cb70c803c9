//===- LayoutAttr.cpp - Scale layout attribute ----------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/BlockScaleDialect.h"
#include "blockscale/Numerics/ScaleLayout.h"

using namespace mlir;

namespace blockscale {

LayoutAttr LayoutAttr::getSwizzle128x4(MLIRContext *context) {
  return get(context, LayoutKind::Swizzle128x4, /*groups=*/0, /*dim=*/0);
}

static_assert(getMaxEnumValForLayoutKind() + 1 ==
                  std::size(numerics::kTiledLayouts),
              "the kinds have the numbers of the layouts of Numerics");

const numerics::ScaleLayout &LayoutAttr::getOrder() const {
  return *numerics::kTiledLayouts[static_cast<size_t>(getKind())];
}

LogicalResult LayoutAttr::verify(function_ref<InFlightDiagnostic()> emitError,
                                 LayoutKind kind, int64_t groups, int64_t dim) {
  if (groups < 0 && !ShapedType::isDynamic(groups))
    return emitError() << "expected groups to be positive, but got " << groups;
  if (dim != 0 && dim != 1)
    return emitError() << "expected dim to be 0 (rows) or 1 (columns), but got "
                       << dim;
  if (groups != 0 && kind != LayoutKind::Swizzle128x4)
    return emitError() << "expected groups only of swizzle_128x4, but got "
                       << stringifyLayoutKind(kind);
  return success();
}

// layout_c1: a layout encodes tensors of f8E4M3FN or f8E8M0FNU.
// layout_c2: the rank is at least 2, and exactly 2 when grouped.
LogicalResult
LayoutAttr::verifyEncoding(ArrayRef<int64_t> shape, Type elementType,
                           function_ref<InFlightDiagnostic()> emitError) const {
  // The parser asks even where it has reported the element type.
  if (!elementType)
    return failure();
  if (!isa<Float8E4M3FNType, Float8E8M0FNUType>(elementType))
    return emitError() << "expected a scale layout to encode f8E4M3FN or "
                          "f8E8M0FNU elements, but got "
                       << elementType;
  int64_t rank = shape.size();
  if (rank < 2)
    return emitError() << "expected a scale layout to encode a tensor of rank "
                          "2 or more, but got rank "
                       << rank;
  if (isGrouped() && rank != 2)
    return emitError() << "expected a grouped scale layout to encode a tensor "
                          "of rank 2, but got rank "
                       << rank;
  return success();
}

} // namespace blockscale

//===- DataLayoutAttr.cpp - Data layout attribute -------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/BlockScaleDialect.h"

using namespace mlir;

namespace blockscale {

DataLayoutAttr DataLayoutAttr::getFragments64x64(MLIRContext *context) {
  return get(context, DataLayoutKind::Fragments64x64);
}

// data_layout_c1: a data layout encodes tensors of codes.
// data_layout_c2: the rank is at least 2.
LogicalResult DataLayoutAttr::verifyEncoding(
    ArrayRef<int64_t> shape, Type elementType,
    function_ref<InFlightDiagnostic()> emitError) const {
  // The parser asks even where it has reported the element type.
  if (!elementType)
    return failure();
  if (!isa<Float4E2M1FNType, Float6E2M3FNType, Float6E3M2FNType,
           Float8E4M3FNType, Float8E5M2Type>(elementType) &&
      !elementType.isSignlessInteger(8))
    return emitError() << "expected a data layout to encode f4E2M1FN, "
                          "f6E2M3FN, f6E3M2FN, f8E4M3FN, f8E5M2 or i8 "
                          "elements, but got "
                       << elementType;
  if (shape.size() < 2)
    return emitError() << "expected a data layout to encode a tensor of rank 2 "
                          "or more, but got rank "
                       << shape.size();
  return success();
}

} // namespace blockscale

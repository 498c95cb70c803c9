//===- ConstantBytes.cpp - Raw bytes of tensor constants ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/ConstantBytes.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

namespace blockscale {

ConstantBytes::ConstantBytes(Attribute constant) {
  if (auto dense = dyn_cast_if_present<DenseElementsAttr>(constant)) {
    bytes = dense.getRawData();
    isSplat = dense.isSplat();
  } else if (auto resource =
                 dyn_cast_if_present<DenseResourceElementsAttr>(constant)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes = blob->getData();
  }
}

TypedAttr getConstantOf(ArrayRef<uint8_t> bytes, RankedTensorType type,
                        Attribute original) {
  ArrayRef<char> raw(reinterpret_cast<const char *>(bytes.data()),
                     bytes.size());
  if (auto resource = dyn_cast<DenseResourceElementsAttr>(original))
    return DenseResourceElementsAttr::get(
        type, resource.getRawHandle().getKey(),
        HeapAsmResourceBlob::allocateAndCopyWithAlign(raw, /*align=*/64));
  if (!raw.empty() && llvm::all_equal(raw))
    raw = raw.take_front(1);
  return DenseElementsAttr::getFromRawBuffer(type, raw);
}

} // namespace blockscale

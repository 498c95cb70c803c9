//===- ConstantBytes.cpp - Raw bytes of tensor constants ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantBytes.h"

#include "mlir/IR/DialectResourceBlobManager.h"

using namespace mlir;

blockscale::ConstantBytes::ConstantBytes(Attribute constant) {
  if (auto dense = dyn_cast_if_present<DenseElementsAttr>(constant)) {
    bytes = dense.getRawData();
    isSplat = dense.isSplat();
  } else if (auto resource =
                 dyn_cast_if_present<DenseResourceElementsAttr>(constant)) {
    if (AsmResourceBlob *blob = resource.getRawHandle().getBlob())
      bytes = blob->getData();
  }
}

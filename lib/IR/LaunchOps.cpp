//===- LaunchOps.cpp - What hosts make for kernels ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/BlockScaleDialect.h"

using namespace mlir;

namespace blockscale {

LogicalResult TensorMapOp::verify() {
  // tensor_map_c1: the numbers of sizes agree.
  size_t rank = getDims().size();
  if (rank < 1 || rank > 5)
    return emitOpError("expected 1 to 5 dims, but got ") << rank;
  if (getBox().size() != rank)
    return emitOpError("expected the box to have ")
           << rank << " sizes, as dims, but got " << getBox().size();
  if (getStrides().size() != rank - 1)
    return emitOpError("expected ")
           << rank - 1 << " strides, one fewer than dims, but got "
           << getStrides().size();
  // tensor_map_c2: boxes that the hardware copies.
  for (int64_t size : getBox())
    if (size < 1 || size > 256)
      return emitOpError("expected sizes of the box to be 1 to 256, but got ")
             << size;
  // tensor_map_c3: known swizzles.
  int64_t swizzle = getSwizzle();
  if (!llvm::is_contained({0, 32, 64, 128}, swizzle))
    return emitOpError("expected the swizzle to be 0, 32, 64 or 128, but got ")
           << swizzle;
  // tensor_map_c4: a row of the box.
  bool isPadded = getElement() == MapElement::U4Padded;
  int64_t elements = getBox().front();
  if (isPadded && elements != 128)
    return emitOpError("expected a row of the box to be 128 elements of "
                       "u4_padded, but got ")
           << elements;
  if (!isPadded && elements % 16 != 0)
    return emitOpError("expected a row of the box to be a multiple of 16 "
                       "bytes, but got ")
           << elements;
  if (!isPadded && swizzle != 0 && elements > swizzle)
    return emitOpError("expected a row of the box to be at most the ")
           << swizzle << " bytes of the swizzle, but got " << elements;
  return success();
}

} // namespace blockscale

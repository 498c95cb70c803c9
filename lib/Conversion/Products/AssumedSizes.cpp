//===- AssumedSizes.cpp - Sizes that schedules go by ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//
#include "AssumedSizes.h"
#include "blockscale/IR/TypeRules.h"

#include <cmath>

using namespace mlir;

namespace blockscale::products {

static double assume(int64_t size) {
  return static_cast<double>(ShapedType::isDynamic(size) ? kAssumedSize : size);
}

int64_t countGroups(const Product &product) {
  if (!product.offsets || product.offsets.getType().isDynamicDim(0))
    return 1;
  return std::max<int64_t>(product.offsets.getType().getDimSize(0), 1);
}

AssumedSizes::AssumedSizes(const Product &product) {
  RankedTensorType a = product.a.getType(), b = product.b.getType();
  for (int64_t size : a.getShape().drop_back(2))
    matrices *= ShapedType::isDynamic(size) ? 1 : static_cast<double>(size);
  auto op = cast<ProductOpInterface>(product.op);
  ProductDims dims = getProductDims(op, /*ofB=*/false);
  rows = assume(product.getMaxRows());
  // Columns of several products are beside each other in a tile.
  cols = assume(b.getDimSize(getProductDims(op, /*ofB=*/true).rows)) *
         static_cast<double>(product.siblings);
  depth = assume(a.getDimSize(dims.depth));
  areKnown = a.hasStaticShape() && b.hasStaticShape() &&
             (!product.offsets || product.offsets.getType().hasStaticShape());
  // Operands with groups are no batch.
  matrices *= static_cast<double>(countGroups(product));
  if (product.groups == GroupDim::Rows)
    rows = std::ceil(rows / matrices);
  if (product.groups == GroupDim::Columns)
    depth = std::ceil(depth / matrices);
}

} // namespace blockscale::products

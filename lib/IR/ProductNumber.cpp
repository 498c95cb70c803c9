//===- ProductNumber.cpp - Numbers behind products ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/ProductNumber.h"
#include "blockscale/IR/TypeRules.h"

#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

bool isGlobalScale(const APFloat &value) {
  return value.isFinite() && !value.isNegative() && !value.isZero();
}

std::optional<NumberObstacle>
findProductNumberObstacle(ProductOpInterface product) {
  if (!product.getScaleElementType())
    return NumberObstacle{"scale_c1", "a product of NVFP4",
                          "one without scales"};
  if (!isNvfp4ScaleType(product.getScaleElementType()))
    return NumberObstacle{"scale_c1", "a product of NVFP4",
                          llvm::to_string(product.getScaleElementType()) +
                              " scales"};
  if (product.getGlobalOperandA().value || product.getGlobalOperandB().value)
    return NumberObstacle{"scale_c2", "a product without global scales",
                          "one that has some"};
  if (product.getBias())
    return NumberObstacle{"scale_c2", "a product without a bias",
                          llvm::to_string(product.getBias().getType())};
  return std::nullopt;
}

std::optional<NumberObstacle>
findNumberObstacle(ProductOpInterface product,
                   const std::optional<APFloat> &constant, Type type) {
  if (!constant) {
    if (!isa<ScaledGroupedMMOp>(product.getOperation()))
      return std::nullopt;
    return NumberObstacle{"scale_c4", "a constant behind a product of groups",
                          llvm::to_string(type)};
  }
  if (isGlobalScale(*constant))
    return std::nullopt;
  Attribute attribute = FloatAttr::get(getElementTypeOrSelf(type), *constant);
  return NumberObstacle{"scale_c4", "a positive and finite constant",
                        llvm::to_string(attribute)};
}

} // namespace blockscale

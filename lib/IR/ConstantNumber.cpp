//===- ConstantNumber.cpp - Constants that values are ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantNumber.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale {

std::optional<APFloat> getConstantNumber(Value value) {
  Attribute constant;
  if (!value || !matchPattern(value, m_Constant(&constant)))
    return std::nullopt;
  if (auto scalar = dyn_cast<FloatAttr>(constant))
    return scalar.getValue();
  auto splat = dyn_cast<SplatElementsAttr>(constant);
  return splat ? std::optional(splat.getSplatValue<APFloat>()) : std::nullopt;
}

bool isConstantOne(Value value) {
  std::optional<APFloat> number = getConstantNumber(value);
  return number && number->isExactlyValue(1.0);
}

} // namespace blockscale

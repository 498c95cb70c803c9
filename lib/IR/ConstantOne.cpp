//===- ConstantOne.cpp - The constant that means no scaling ---------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ConstantOne.h"

#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace blockscale {

bool isConstantOne(Value value) {
  Attribute constant;
  if (!value || !matchPattern(value, m_Constant(&constant)))
    return false;
  if (auto scalar = dyn_cast<FloatAttr>(constant))
    return scalar.getValue().isExactlyValue(1.0);
  auto splat = dyn_cast<SplatElementsAttr>(constant);
  return splat && splat.getSplatValue<APFloat>().isExactlyValue(1.0);
}

} // namespace blockscale

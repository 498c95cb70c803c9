//===- OpOperands.cpp - Operands that several ops share -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/OpOperands.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace blockscale {

GlobalOperand GlobalOperand::get(Value value, GlobalKind kind, int64_t rank,
                                 bool hasGroups) {
  if (!value)
    return {};
  auto type = dyn_cast<RankedTensorType>(value.getType());
  GlobalExtent extent = GlobalExtent::Tensor;
  if (type && type.getRank() > 0)
    extent = hasGroups                    ? GlobalExtent::Group
             : type.getRank() == rank - 1 ? GlobalExtent::Row
                                          : GlobalExtent::Matrix;
  return {value, kind, extent, /*byValue=*/!type};
}

} // namespace blockscale

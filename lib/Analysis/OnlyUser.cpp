//===- OnlyUser.cpp - The op that a value is computed for -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/OnlyUser.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

Operation *getOnlyUser(Value value) {
  Operation *found = nullptr;
  for (Operation *user : value.getUsers()) {
    if (isa<tensor::DimOp>(user) || user == found)
      continue;
    if (found)
      return nullptr;
    found = user;
  }
  return found;
}

} // namespace blockscale

//===- PlainLoop.cpp - Loops whose iterations are threads -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "PlainLoop.h"
#include "LoopEmitter.h"

using namespace mlir;

namespace blockscale::emit {

scf::ParallelOp createPlainLoop(ImplicitLocOpBuilder &b, ValueRange sizes,
                                StringRef name,
                                function_ref<void(ValueRange)> body) {
  SmallVector<Value> ends(sizes);
  if (ends.empty())
    ends.push_back(getIndex(b, 1));
  SmallVector<Value> begins(ends.size(), getIndex(b, 0));
  SmallVector<Value> steps(ends.size(), getIndex(b, 1));
  auto loop = scf::ParallelOp::create(b, begins, ends, steps);
  loop->setAttr(kPlainAttrName, b.getStringAttr(name));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(loop.getBody()->getTerminator());
  body(ValueRange(loop.getInductionVars()).take_front(sizes.size()));
  return loop;
}

} // namespace blockscale::emit

//===- LinalgElement.cpp - One iteration of a linalg op -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "LinalgElement.h"

#include "mlir/Dialect/Affine/Utils.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;

namespace blockscale::emit {

SmallVector<Value> LinalgElement::getIndices(OpOperand &operand) {
  SmallVector<Value> indices;
  for (AffineExpr expr : op.getMatchingIndexingMap(&operand).getResults())
    indices.push_back(affine::expandAffineExpr(b, b.getLoc(), expr, place,
                                               /*symbolValues=*/{}));
  return indices;
}

Value LinalgElement::load(OpOperand &operand) {
  if (!isa<MemRefType>(operand.get().getType()))
    return operand.get();
  return memref::LoadOp::create(b, operand.get(), getIndices(operand));
}

void LinalgElement::store(Value value, OpOperand &output) {
  memref::StoreOp::create(b, value, output.get(), getIndices(output));
}

SmallVector<Value> LinalgElement::evaluate(ValueRange outputs) {
  IRMapping mapping;
  for (OpOperand *operand : op.getDpsInputOperands()) {
    BlockArgument inside = op.getMatchingBlockArgument(operand);
    if (!inside.use_empty())
      mapping.map(inside, load(*operand));
  }
  for (auto [inside, value] :
       llvm::zip_equal(op.getRegionOutputArgs(), outputs))
    if (value)
      mapping.map(inside, value);
  for (Operation &inside : op.getBlock()->without_terminator()) {
    if (auto index = dyn_cast<linalg::IndexOp>(inside)) {
      mapping.map(index.getResult(), place[index.getDim()]);
      continue;
    }
    Operation *clone = b.clone(inside, mapping);
    clone->walk([&](linalg::IndexOp index) {
      index.getResult().replaceAllUsesWith(place[index.getDim()]);
      index.erase();
    });
  }
  return llvm::map_to_vector(
      op.getBlock()->getTerminator()->getOperands(),
      [&](Value yielded) { return mapping.lookupOrDefault(yielded); });
}

} // namespace blockscale::emit

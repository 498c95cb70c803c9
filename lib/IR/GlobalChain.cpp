//===- GlobalChain.cpp - Where a global scale comes from ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/IR/GlobalChain.h"

using namespace mlir;

namespace blockscale {

bool isPartsType(RankedTensorType type) {
  bool isRow = type.getElementType().isF32() && !type.getEncoding() &&
               type.getRank() == 2 && type.getDimSize(0) == 1;
  int64_t count = isRow ? type.getDimSize(1) : 0;
  return count >= kPartsUnit && count <= kMostParts && count % kPartsUnit == 0;
}

bool isAmaxOfParts(AmaxOp op) {
  return !op.getOffsets() && op.getAmax().getType().getRank() == 0 &&
         isPartsType(op.getX().getType());
}

/// The first of the members that are scales of `amax`; null if there is none.
static GlobalScaleOp
findScaleOf(Value amax, llvm::function_ref<bool(Operation *)> isMember) {
  GlobalScaleOp first;
  for (Operation *user : amax.getUsers()) {
    auto scale = dyn_cast<GlobalScaleOp>(user);
    if (scale && isMember(scale) &&
        (!first || (scale->getBlock() == first->getBlock() &&
                    scale->isBeforeInBlock(first))))
      first = scale;
  }
  return first;
}

GlobalChain GlobalChain::find(QuantizeOp op,
                              llvm::function_ref<bool(Operation *)> isMember) {
  GlobalChain chain;
  Value value = op.getGlobalScale() ? op.getGlobalScale() : op.getGlobalAmax();
  auto type =
      value ? dyn_cast<RankedTensorType>(value.getType()) : RankedTensorType();
  if (!type || type.getRank() != 0)
    return chain;
  auto scale = value.getDefiningOp<GlobalScaleOp>();
  if (scale && isMember(scale)) {
    chain.scale = scale;
    chain.takesScale = true;
    value = scale.getAmax();
  } else if (op.getGlobalAmax()) {
    chain.scale = findScaleOf(value, isMember);
  }
  auto amax = value.getDefiningOp<AmaxOp>();
  if (amax && isAmaxOfParts(amax) && isMember(amax))
    chain.amax = amax;
  return chain;
}

GlobalChain GlobalChain::find(QuantizeOp op) {
  return find(op, [&](Operation *other) {
    return other->getBlock() == op->getBlock();
  });
}

SmallVector<Operation *> GlobalChain::getOps() const {
  SmallVector<Operation *> ops;
  if (amax)
    ops.push_back(amax);
  if (scale)
    ops.push_back(scale);
  return ops;
}

Value GlobalChain::getSource() {
  if (amax)
    return amax.getX();
  return scale ? scale.getAmax() : Value();
}

/// One of the quantizations that take `value` whose chain has `op`; null if
/// there is none.
static QuantizeOp findUserOf(Value value, Operation *op) {
  for (Operation *user : value.getUsers()) {
    auto quantize = dyn_cast<QuantizeOp>(user);
    if (quantize && quantize->getBlock() == op->getBlock() &&
        llvm::is_contained(GlobalChain::find(quantize).getOps(), op))
      return quantize;
  }
  return {};
}

QuantizeOp findGlobalUser(Operation *op) {
  if (auto scale = dyn_cast<GlobalScaleOp>(op)) {
    QuantizeOp user = findUserOf(scale.getScale(), op);
    return user ? user : findUserOf(scale.getAmax(), op);
  }
  auto amax = dyn_cast<AmaxOp>(op);
  if (!amax)
    return {};
  if (QuantizeOp user = findUserOf(amax.getAmax(), op))
    return user;
  for (Operation *user : op->getUsers())
    if (auto scale = dyn_cast<GlobalScaleOp>(user))
      if (QuantizeOp ofScale = findUserOf(scale.getScale(), op))
        return ofScale;
  return {};
}

} // namespace blockscale

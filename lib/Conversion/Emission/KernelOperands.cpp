//===- KernelOperands.cpp - Buffers behind logical values -----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelOperands.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/Analysis/RowMoves.h"

#include "mlir/Dialect/MemRef/IR/MemRef.h"

using namespace mlir;

namespace blockscale::emit {

Value KernelOperands::lookup(Value logical) const {
  if (!logical)
    return {};
  if (auto argument = dyn_cast<BlockArgument>(logical))
    return operands[argument.getArgNumber()];
  KernelOp op = kernel;
  Operation *yield = op.getBody().front().getTerminator();
  auto found = llvm::find(yield->getOperands(), logical);
  if (found == yield->operand_end()) {
    if (auto hadamard = logical.getDefiningOp<HadamardOp>())
      return lookup(hadamard.getX());
    if (Value source = getGatheredSource(logical))
      return lookup(source);
    auto elementwise = logical.getDefiningOp<linalg::LinalgOp>();
    return elementwise ? lookup(getSameSizedInput(elementwise)) : Value();
  }
  unsigned output = found.getIndex();
  return operands[op.getInputs().size() + output];
}

Value getGatheredSource(Value logical) {
  Operation *move = logical ? logical.getDefiningOp() : nullptr;
  return move && getGatheredRows(move) && !isStored(logical)
             ? cast<linalg::LinalgOp>(move).getDpsInputs().front()
             : Value();
}

RankedTensorType getTensorType(Value logical) {
  return cast<RankedTensorType>(logical.getType());
}

numerics::ElementFormat getElementFormat(Value data) {
  return blockscale::getElementFormat(getElementTypeOrSelf(data));
}

numerics::ScaleFormat getScaleFormat(Value scale) {
  return blockscale::getScaleFormat(getElementTypeOrSelf(scale));
}

bool isPerElement(Value global) {
  auto memref = global ? dyn_cast<MemRefType>(global.getType()) : MemRefType();
  return memref && memref.getRank() > 0;
}

Value loadGlobal(ImplicitLocOpBuilder &b, Value global, ValueRange element) {
  if (!global || !isa<MemRefType>(global.getType()))
    return global;
  return memref::LoadOp::create(b, global,
                                isPerElement(global) ? element : ValueRange());
}

Value loadGlobalProduct(ImplicitLocOpBuilder &b, Value first, Value second,
                        ValueRange element) {
  Value left = loadGlobal(b, first, element);
  Value right = loadGlobal(b, second, element);
  if (!left || !right)
    return left ? left : right;
  return Lanes(b, left) * Lanes(b, right);
}

Value getDataCols(ImplicitLocOpBuilder &b, Value data,
                  const KernelOperands &operands) {
  RankedTensorType type = getTensorType(data);
  if (!type.isDynamicDim(type.getRank() - 1))
    return getIndex(b, type.getShape().back());
  Value stored = getDim(b, operands.lookup(data), type.getRank() - 1);
  return isa<Float4E2M1FNType>(type.getElementType()) ? mul(b, stored, 2)
                                                      : stored;
}

} // namespace blockscale::emit

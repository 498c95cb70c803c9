//===- ElementwiseStep.cpp - One operation on each element ----------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ElementwiseStep.h"
#include "blockscale/Analysis/ElementwiseBody.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

namespace blockscale {

/// Whether all dimensions of a tensor are of size 1.
static bool hasOneElement(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && llvm::all_of(tensor.getShape(),
                                [](int64_t size) { return size == 1; });
}

/// The number that all elements of a tensor are, by the op that makes it; null
/// if no op tells.
static Value getSplatNumber(Value tensor) {
  Operation *op = tensor.getDefiningOp();
  if (auto fill = dyn_cast_if_present<linalg::FillOp>(op))
    return fill.value();
  if (auto splat = dyn_cast_if_present<tensor::SplatOp>(op))
    return splat.getInput();
  if (auto broadcast = dyn_cast_if_present<linalg::BroadcastOp>(op))
    return hasOneElement(broadcast.getInput().getType()) ? broadcast.getInput()
                                                         : Value();
  return {};
}

static FloatAttr getSplatConstant(Value value) {
  return dyn_cast_if_present<FloatAttr>(getUniformConstant(value));
}

/// The row that an op repeats for all rows of a tensor; null of other tensors.
static Value getRepeatedRow(Value tensor) {
  auto broadcast = tensor.getDefiningOp<linalg::BroadcastOp>();
  if (!broadcast ||
      cast<RankedTensorType>(broadcast.getInput().getType()).getRank() != 1)
    return {};
  ArrayRef<int64_t> added = broadcast.getDimensions();
  return llvm::equal(added, llvm::seq<int64_t>(added.size()))
             ? broadcast.getInput()
             : Value();
}

/// An operand of the shape of the result, of which each element takes its own,
/// or which repeats a number or a row.
static StepOperand getWholeOperand(Value value) {
  Type type = getElementTypeOrSelf(value);
  if (Value row = getRepeatedRow(value); row && !hasOneElement(row.getType()))
    return {StepOperand::Spread::Columns, row, FloatAttr(), type};
  if (FloatAttr constant = getSplatConstant(value))
    return {StepOperand::Spread::Single, Value(), constant, type};
  if (Value number = getSplatNumber(value))
    return {StepOperand::Spread::Single, number, getSplatConstant(number),
            type};
  return {StepOperand::Spread::Elements, value, FloatAttr(), type};
}

/// Whether `map` reads a row for all rows of the result: a tensor whose sizes
/// are 1 but for the last one.
static bool readsRow(RankedTensorType type, AffineMap map) {
  unsigned rank = map.getNumDims();
  return rank != 0 && type.getRank() != 0 &&
         map.getResults().back() ==
             getAffineDimExpr(rank - 1, map.getContext()) &&
         llvm::all_of(type.getShape().drop_back(),
                      [](int64_t size) { return size == 1; });
}

/// An input of a linalg op, which reads it by `map`.
static std::optional<StepOperand> getInputOperand(Value input, AffineMap map) {
  if (map.isIdentity() && map.getNumDims() != 0)
    return getWholeOperand(input);
  Type type = getElementTypeOrSelf(input);
  if (FloatAttr constant = getSplatConstant(input))
    return StepOperand{StepOperand::Spread::Single, Value(), constant, type};
  auto tensor = dyn_cast<RankedTensorType>(input.getType());
  if (!tensor || hasOneElement(tensor))
    return StepOperand{StepOperand::Spread::Single, input, FloatAttr(), type};
  if (readsRow(tensor, map))
    return StepOperand{StepOperand::Spread::Columns, input, FloatAttr(), type};
  return std::nullopt;
}

std::optional<StepOperand> getBodyOperand(linalg::GenericOp op, Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value);
      argument && argument.getOwner() == op.getBody()) {
    unsigned number = argument.getArgNumber();
    if (number >= op.getNumDpsInputs())
      return std::nullopt;
    return getInputOperand(op.getDpsInputs()[number],
                           op.getIndexingMapsArray()[number]);
  }
  if (FloatAttr constant = getSplatConstant(value))
    return StepOperand{StepOperand::Spread::Single, Value(), constant,
                       value.getType()};
  if (value.getParentBlock() == op.getBody())
    return std::nullopt;
  return StepOperand{StepOperand::Spread::Single, value, FloatAttr(),
                     value.getType()};
}

/// The kind and the two operands of an op; false of other ops.
static bool matchStep(Operation *op, ElementwiseStep::Kind &kind, Value &lhs,
                      Value &rhs) {
  if (!isa_and_present<arith::MulFOp, arith::DivFOp, arith::AddFOp>(op))
    return false;
  kind = isa<arith::MulFOp>(op)   ? ElementwiseStep::Kind::Multiply
         : isa<arith::DivFOp>(op) ? ElementwiseStep::Kind::Divide
                                  : ElementwiseStep::Kind::Add;
  lhs = op->getOperand(0);
  rhs = op->getOperand(1);
  return true;
}

std::optional<ElementwiseStep> getElementwiseStep(Operation *op) {
  ElementwiseStep step;
  Value lhs, rhs;
  if (op->getNumResults() != 1 ||
      !isa<RankedTensorType>(op->getResult(0).getType()))
    return std::nullopt;
  step.type = getElementTypeOrSelf(op->getResult(0));
  if (matchStep(op, step.kind, lhs, rhs)) {
    step.lhs = getWholeOperand(lhs);
    step.rhs = getWholeOperand(rhs);
    step.isWide = step.type.isF32();
    return step;
  }
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic || generic.getNumParallelLoops() != generic.getNumLoops() ||
      !generic.getIndexingMapsArray().back().isIdentity())
    return std::nullopt;
  Value result = generic.getBody()->getTerminator()->getOperand(0);
  step.isWide = step.type.isF32();
  if (auto truncate = result.getDefiningOp<arith::TruncFOp>();
      truncate && isNearest(truncate.getRoundingmode()) &&
      truncate.getIn().getType().isF32()) {
    step.isWide = true;
    result = truncate.getIn();
  }
  if (!matchStep(result.getDefiningOp(), step.kind, lhs, rhs))
    return std::nullopt;
  for (Value *value : {&lhs, &rhs})
    if (auto extend = value->getDefiningOp<arith::ExtFOp>();
        extend && step.isWide && extend->getBlock() == generic.getBody())
      *value = extend.getIn();
  auto left = getBodyOperand(generic, lhs),
       right = getBodyOperand(generic, rhs);
  if (!left || !right)
    return std::nullopt;
  step.lhs = *left;
  step.rhs = *right;
  return step;
}

/// The op on numbers that `value` is: `arith` on scalars or on tensors of rank
/// 0, or the body of a `linalg.generic` on such tensors, whose inputs replace
/// the arguments in `operands`.
static Operation *getNumberOp(Value value, SmallVector<Value> &operands) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return nullptr;
  auto generic = dyn_cast<linalg::GenericOp>(op);
  if (!generic) {
    operands = llvm::to_vector(op->getOperands());
    return op;
  }
  if (generic.getNumLoops() != 0)
    return nullptr;
  unsigned number = cast<OpResult>(value).getResultNumber();
  Operation *inner =
      generic.getBody()->getTerminator()->getOperand(number).getDefiningOp();
  if (!inner || inner->getBlock() != generic.getBody())
    return nullptr;
  for (Value operand : inner->getOperands()) {
    auto argument = dyn_cast<BlockArgument>(operand);
    if (!argument || argument.getOwner() != generic.getBody() ||
        argument.getArgNumber() >= generic.getNumDpsInputs())
      return nullptr;
    Value input = generic.getDpsInputs()[argument.getArgNumber()];
    // Of a tensor with dimensions one element is read.
    auto tensor = dyn_cast<RankedTensorType>(input.getType());
    if (tensor && tensor.getRank() != 0)
      return nullptr;
    operands.push_back(input);
  }
  return inner;
}

Value getUnrounded(Value value) {
  SmallVector<Value> operands;
  auto truncate =
      dyn_cast_if_present<arith::TruncFOp>(getNumberOp(value, operands));
  return truncate && isNearest(truncate.getRoundingmode()) &&
                 getElementTypeOrSelf(operands[0]).isF32()
             ? operands[0]
             : Value();
}

std::pair<Value, Value> getFactors(Value value) {
  SmallVector<Value> operands;
  auto multiply =
      dyn_cast_if_present<arith::MulFOp>(getNumberOp(value, operands));
  if (!multiply || !getElementTypeOrSelf(value).isF32())
    return {};
  return {operands[0], operands[1]};
}

} // namespace blockscale

//===- Producers.cpp - Elementwise ops that kernels evaluate --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Producers.h"
#include "blockscale/Analysis/ElementwiseBody.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

std::optional<Spread> getSpread(AffineMap map) {
  // The loops in the order of the dimensions; those of size 1 have index 0.
  unsigned loops = map.getNumDims();
  llvm::SmallBitVector used(loops);
  int last = -1;
  for (AffineExpr expr : map.getResults()) {
    if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
      if (constant.getValue() != 0)
        return std::nullopt;
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || static_cast<int>(dim.getPosition()) <= last)
      return std::nullopt;
    last = static_cast<int>(dim.getPosition());
    used.set(last);
  }
  if (used.none())
    return Spread::Single;
  if (used.all())
    return map.getNumResults() == loops ? std::optional(Spread::Elements)
                                        : std::nullopt;
  if (used.count() == 1 && used.test(loops - 1))
    return Spread::Columns;
  if (used.count() == loops - 1 && !used.test(loops - 1))
    return Spread::Rows;
  return std::nullopt;
}

SmallVector<Value> getInputs(Operation *op) {
  if (auto producer = dyn_cast<linalg::LinalgOp>(op))
    return producer.getDpsInputs();
  return SmallVector<Value>(op->getOperands());
}

Value getSameSizedSource(Operation *op) {
  if (auto producer = dyn_cast<linalg::LinalgOp>(op))
    return getSameSizedInput(producer);
  auto hadamard = dyn_cast<HadamardOp>(op);
  return hadamard ? hadamard.getX() : Value();
}

SmallVector<Value> getSideBySide(Value x) {
  auto join = x.getDefiningOp<tensor::ConcatOp>();
  return join ? SmallVector<Value>(join.getInputs()) : SmallVector<Value>{x};
}

Value getSameSizedInput(linalg::LinalgOp op) {
  for (OpOperand *input : op.getDpsInputOperands())
    if (isa<RankedTensorType>(input->get().getType()) &&
        op.getMatchingIndexingMap(input).isIdentity() &&
        !matchPattern(input->get(), m_Constant()))
      return input->get();
  return {};
}

static std::optional<FusionObstacle> findShapeObstacle(linalg::LinalgOp op) {
  auto fail = [&](const std::string &found) {
    return FusionObstacle{
        "producer_c1", "an elementwise op with one result and parallel loops",
        found};
  };
  if (op.getNumDpsInits() != 1 || op->getNumResults() != 1)
    return fail(llvm::to_string(op->getNumResults()) + " results");
  if (op.getNumLoops() == 0 || op.getNumParallelLoops() != op.getNumLoops())
    return fail(llvm::to_string(op.getNumParallelLoops()) +
                " parallel loops of " + llvm::to_string(op.getNumLoops()));
  OpOperand *init = op.getDpsInitOperand(0);
  if (!op.getMatchingIndexingMap(init).isIdentity())
    return fail("a result with " +
                llvm::to_string(op.getMatchingIndexingMap(init)));
  if (op.payloadUsesValueFromOperand(init))
    return fail("a use of the old content of the result");
  return std::nullopt;
}

static std::optional<FusionObstacle> findInputObstacle(linalg::LinalgOp op) {
  for (OpOperand *input : op.getDpsInputOperands()) {
    AffineMap map = op.getMatchingIndexingMap(input);
    if (!getSpread(map))
      return FusionObstacle{"producer_c2",
                            "inputs of each element, row or column in order, "
                            "or of a single one",
                            llvm::to_string(map)};
  }
  if (!getSameSizedInput(op))
    return FusionObstacle{"producer_c2", "an input of all elements", "none"};
  for (Value operand : op->getOperands()) {
    Type element = getElementTypeOrSelf(operand.getType());
    if (!isElementFloat(element))
      return FusionObstacle{"producer_c3",
                            "inputs and results of bf16, f16 or f32",
                            llvm::to_string(operand.getType())};
  }
  return std::nullopt;
}

std::optional<FusionObstacle> findElementwiseObstacle(linalg::LinalgOp op) {
  if (!isa<linalg::GenericOp>(op))
    return FusionObstacle{"producer_c1", "an elementwise op",
                          "'" + llvm::to_string(op->getName()) + "'"};
  if (std::optional<FusionObstacle> obstacle = findShapeObstacle(op))
    return obstacle;
  if (std::optional<FusionObstacle> obstacle = findInputObstacle(op))
    return obstacle;
  if (Operation *found = findUnevaluable(*op.getBlock()))
    return FusionObstacle{"producer_c4", describeEvaluable().str(),
                          "'" + llvm::to_string(found->getName()) + "'"};
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  for (Value value : captured)
    if (!matchPattern(value, m_Constant()))
      return FusionObstacle{
          "producer_c4", "a body of its arguments and constants",
          "a " + llvm::to_string(value.getType()) + " from outside"};
  return std::nullopt;
}

/// Whether `user` takes each element of `value` where a kernel has it in a
/// register.
static bool takesElements(Operation *user, Value value) {
  auto linalgOp = dyn_cast<linalg::LinalgOp>(user);
  if (isa<tensor::ConcatOp>(user))
    return true;
  // Ops that are not of linalg take elements by their first operand only, x.
  if (!linalgOp)
    return llvm::all_of(user->getOpOperands(), [&](OpOperand &operand) {
      return operand.get() != value || operand.getOperandNumber() == 0 ||
             isa<YieldOp>(user);
    });
  return llvm::all_of(user->getOpOperands(), [&](OpOperand &operand) {
    return operand.get() != value ||
           (linalgOp.isDpsInput(&operand) &&
            linalgOp.getMatchingIndexingMap(&operand).isIdentity());
  });
}

std::optional<FusionObstacle>
findProducerObstacle(linalg::LinalgOp op, ArrayRef<Operation *> ops,
                     bool isKept, function_ref<bool(Operation *)> isUse) {
  if (std::optional<FusionObstacle> obstacle = findElementwiseObstacle(op))
    return obstacle;
  Value result = op->getResult(0);
  for (Operation *user : result.getUsers()) {
    if (isa<tensor::DimOp>(user) || (isUse && !isUse(user)))
      continue;
    bool isInKernel = llvm::is_contained(ops, user);
    if (isInKernel &&
        (user->getBlock() != op->getBlock() || !takesElements(user, result)))
      return FusionObstacle{"producer_c5",
                            "uses in its block, of each element for itself",
                            "'" + llvm::to_string(user->getName()) + "'"};
    if (!isInKernel && !isKept)
      return FusionObstacle{"producer_c6", "all uses to be in one kernel",
                            "'" + llvm::to_string(user->getName()) + "'"};
  }
  return std::nullopt;
}

/// The most columns that a thread has of x.
static constexpr int64_t kThreadColumns = 16;

std::optional<FusionObstacle> findJoinObstacle(tensor::ConcatOp op,
                                               ArrayRef<Operation *> ops) {
  int64_t last = op.getRank() - 1;
  if (last == 0 || static_cast<int64_t>(op.getDim()) != last)
    return FusionObstacle{"join_c1", "a concatenation of columns",
                          "dim " + llvm::to_string(op.getDim())};
  for (Value part : op.getInputs()) {
    auto type = cast<RankedTensorType>(part.getType());
    if (type.isDynamicDim(last) || type.getDimSize(last) == 0 ||
        type.getDimSize(last) % kThreadColumns != 0)
      return FusionObstacle{"join_c1",
                            "parts of a static number of columns, a multiple "
                            "of " +
                                std::to_string(kThreadColumns),
                            llvm::to_string(type)};
  }
  Value result = op.getResult();
  for (Operation *user : result.getUsers())
    if (!isa<tensor::DimOp>(user) &&
        (!llvm::is_contained(ops, user) || isa<linalg::LinalgOp>(user) ||
         user->getBlock() != op->getBlock() || !takesElements(user, result)))
      return FusionObstacle{"join_c2",
                            "all uses to be the x of ops of one kernel",
                            "'" + llvm::to_string(user->getName()) + "'"};
  return std::nullopt;
}

} // namespace blockscale

//===- SameValues.cpp - Values that are surely one ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Transforms/SameValues.h"
#include "Origins.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;

namespace blockscale {

//===----------------------------------------------------------------------===//
// Moves
//===----------------------------------------------------------------------===//

/// What an argument of a kernel's body, or a result of a kernel, is outside of
/// it, or in it.
static Value passBorder(Value value) {
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    auto kernel =
        dyn_cast_if_present<KernelOp>(argument.getOwner()->getParentOp());
    return kernel ? kernel->getOperand(argument.getArgNumber()) : Value();
  }
  auto result = cast<OpResult>(value);
  auto kernel = dyn_cast<KernelOp>(result.getOwner());
  if (!kernel)
    return {};
  return kernel.getBody().front().getTerminator()->getOperand(
      result.getResultNumber());
}

Value getMoved(Value value) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return passBorder(value);
  return TypeSwitch<Operation *, Value>(op)
      .Case<tensor::CastOp, tensor::ExtractSliceOp, tensor::ReshapeOp,
            SwizzleOp, PrepackOp, ExpandScaleOp>(
          [](auto op) { return op.getSource(); })
      .Case<tensor::CollapseShapeOp, tensor::ExpandShapeOp>(
          [](auto op) { return op.getSrc(); })
      .Case([](linalg::TransposeOp op) { return op.getInput(); })
      .Case([](tensor::ExtractOp op) { return op.getTensor(); })
      .Case([](tensor::SplatOp op) { return op.getInput(); })
      .Case([](tensor::FromElementsOp op) {
        return op.getElements().size() == 1 ? op.getElements()[0] : Value();
      })
      .Default([&](Operation *) { return passBorder(value); });
}

Value skipMoves(Value value) {
  while (Value moved = getMoved(value))
    value = moved;
  return value;
}

//===----------------------------------------------------------------------===//
// Sameness
//===----------------------------------------------------------------------===//

std::optional<double> findNumber(Value value) {
  Attribute constant;
  if (!matchPattern(skipMoves(value), m_Constant(&constant)))
    return std::nullopt;
  if (auto scalar = dyn_cast<FloatAttr>(constant))
    return scalar.getValueAsDouble();
  auto elements = dyn_cast<DenseFPElementsAttr>(constant);
  if (!elements || !elements.isSplat())
    return std::nullopt;
  return elements.getSplatValue<APFloat>().convertToDouble();
}

namespace {

/// One comparison, which looks at each pair of values once.
class ValueComparison {
public:
  bool areSame(Value a, Value b);

private:
  bool compare(Value a, Value b);

  /// How many ops lie between the values and those that are compared first.
  int64_t depth = 0;
  DenseMap<std::pair<Value, Value>, bool> known;
};

} // namespace

/// How far back values are compared. Where they are farther apart they count as
/// different ones; a program would have to compute the same 64 times in a row.
static constexpr int64_t kFarthest = 64;

bool ValueComparison::areSame(Value a, Value b) {
  a = skipCasts(a);
  b = skipCasts(b);
  if (a == b)
    return true;
  // What is compared now is not the same until that is known.
  auto [found, isNew] = known.try_emplace({a, b}, false);
  if (!isNew)
    return found->second;
  bool isSame = compare(a, b);
  known[{a, b}] = isSame;
  return isSame;
}

bool ValueComparison::compare(Value a, Value b) {
  auto left = dyn_cast<OpResult>(a), right = dyn_cast<OpResult>(b);
  if (!left || !right || left.getResultNumber() != right.getResultNumber() ||
      depth == kFarthest || !isMemoryEffectFree(left.getOwner()))
    return false;
  ++depth;
  // Arguments of regions are the same if they stand in one place.
  DenseMap<Value, Value> marked;
  bool isSame = OperationEquivalence::isEquivalentTo(
      left.getOwner(), right.getOwner(),
      [&](Value one, Value other) {
        auto found = marked.find(one);
        return success(found != marked.end() ? found->second == other
                                             : areSame(one, other));
      },
      [&](Value one, Value other) { marked[one] = other; },
      OperationEquivalence::IgnoreLocations);
  --depth;
  return isSame;
}

bool areSame(Value a, Value b) { return ValueComparison().areSame(a, b); }

} // namespace blockscale

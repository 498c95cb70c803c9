//===- ScalarProgram.cpp - What computes an element of a tensor -----------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "ScalarProgram.h"
#include "ScalarOps.h"
#include "blockscale/Analysis/ElementwiseBody.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace blockscale {

/// How many neighbours of a tensor of `shape`, whose elements are in the order
/// of the loops, read the same element of `operand`, with the indexing map
/// `map`; 0 if all do; nullopt if others than neighbours do, or if some
/// elements of `operand` are not read.
static std::optional<int64_t> getRepetition(Value operand, AffineMap map,
                                            ArrayRef<int64_t> shape) {
  auto type = dyn_cast<RankedTensorType>(operand.getType());
  int64_t next = 0;
  for (auto [position, expr] : llvm::enumerate(map.getResults())) {
    if (isa<AffineConstantExpr>(expr)) {
      if (!type || type.getDimSize(position) != 1)
        return std::nullopt;
      continue;
    }
    auto dim = dyn_cast<AffineDimExpr>(expr);
    if (!dim || dim.getPosition() < next)
      return std::nullopt;
    // Dimensions of size 1 between do not move elements.
    for (; next < dim.getPosition(); ++next)
      if (shape[next] != 1)
        return std::nullopt;
    ++next;
  }
  if (next == 0 && map.getNumDims() != 0)
    return 0;
  int64_t repeats = 1;
  for (int64_t size : shape.drop_front(next)) {
    if (ShapedType::isDynamic(size) ||
        llvm::MulOverflow(repeats, size, repeats))
      return std::nullopt;
  }
  return repeats;
}

/// The map and the argument of the body by which an op writes a result.
static AffineMap getResultMap(linalg::LinalgOp op, OpResult result) {
  return op.getMatchingIndexingMap(
      op.getDpsInitOperand(result.getResultNumber()));
}
static BlockArgument getResultArgument(linalg::LinalgOp op, OpResult result) {
  return op.getMatchingBlockArgument(
      op.getDpsInitOperand(result.getResultNumber()));
}

/// What a body yields for a result.
static Value getYielded(linalg::LinalgOp op, OpResult result) {
  return op.getBlock()->getTerminator()->getOperand(result.getResultNumber());
}

/// Whether the loops of an op without reductions are the dimensions of
/// `result`.
static bool isElementwise(linalg::LinalgOp op, OpResult result) {
  return op.getNumParallelLoops() == op.getNumLoops() &&
         getResultMap(op, result).isIdentity();
}

/// Whether an op reduces the neighbours that the last loop counts.
static bool reducesNeighbours(linalg::LinalgOp op, OpResult result) {
  if (op.getNumDpsInputs() != 1 || op.getNumReductionLoops() != 1 ||
      op.getNumLoops() < 2 ||
      op.getIteratorTypesArray().back() != utils::IteratorType::reduction ||
      !op.getIndexingMapsArray().front().isIdentity())
    return false;
  SmallVector<int64_t> sizes = op.getStaticLoopRanges();
  sizes.back() = 1;
  return getRepetition(op.getDpsInits()[result.getResultNumber()],
                       getResultMap(op, result), sizes) == 1;
}

Operation *getMaximum(linalg::LinalgOp op, OpResult result, Value &other) {
  Value sum = getResultArgument(op, result);
  Operation *maximum = getYielded(op, result).getDefiningOp();
  if (!isa_and_present<arith::MaximumFOp, arith::MaxNumFOp>(maximum) ||
      maximum->getBlock() != op.getBlock())
    return nullptr;
  bool isFirst = maximum->getOperand(0) == sum;
  if (!isFirst && maximum->getOperand(1) != sum)
    return nullptr;
  other = maximum->getOperand(isFirst ? 1 : 0);
  return other == sum ? nullptr : maximum;
}

unsigned ScalarProgram::addOperation(Operation *op,
                                     SmallVector<unsigned, 3> operands,
                                     int64_t repeats) {
  Node node{Kind::Operation, getElementTypeOrSelf(op->getResult(0)), op};
  node.operands = std::move(operands);
  node.repeats = repeats;
  return add(std::move(node));
}

unsigned ScalarProgram::trace(Value tensor, int64_t repeats) {
  std::pair<void *, int64_t> key(tensor.getAsOpaquePointer(), repeats);
  auto found = known.find(key);
  if (found != known.end())
    return found->second;
  unsigned node = create(tensor, repeats);
  known.emplace(key, node);
  return node;
}

unsigned ScalarProgram::create(Value tensor, int64_t repeats) {
  Type type = getElementTypeOrSelf(tensor);
  if (TypedAttr constant = getUniformConstant(tensor)) {
    Node node{Kind::Constant, type};
    node.constant = constant;
    node.repeats = 0;
    return add(std::move(node));
  }
  Operation *op = tensor.getDefiningOp();
  if (isa_and_present<tensor::ExpandShapeOp, tensor::CollapseShapeOp,
                      tensor::CastOp>(op))
    return trace(op->getOperand(0), repeats);
  if (auto fill = dyn_cast_if_present<linalg::FillOp>(op);
      fill && fill.value().getType() == type)
    return trace(fill.value(), 0);
  if (auto splat = dyn_cast_if_present<tensor::SplatOp>(op))
    return trace(splat.getInput(), 0);
  if (isScalarOp(op)) {
    SmallVector<unsigned, 3> operands;
    for (Value operand : op->getOperands())
      operands.push_back(trace(operand, repeats));
    unsigned node = addOperation(op, std::move(operands), repeats);
    nodes[node].tensor = tensor;
    return node;
  }
  auto structured = dyn_cast_if_present<linalg::LinalgOp>(op);
  Node leaf{Kind::Element, type};
  leaf.tensor = tensor;
  leaf.repeats = repeats;
  if (!structured || !structured.hasPureTensorSemantics())
    return add(std::move(leaf));
  DenseMap<Value, unsigned> body;
  auto result = cast<OpResult>(tensor);
  if (isElementwise(structured, result)) {
    for (OpOperand *input : structured.getDpsInputOperands())
      if (!getRepetition(input->get(), structured.getMatchingIndexingMap(input),
                         structured.getStaticLoopRanges()))
        return add(std::move(leaf));
    for (BlockArgument argument : structured.getRegionOutputArgs())
      if (!argument.use_empty())
        return add(std::move(leaf));
    unsigned node =
        traceBody(structured, getYielded(structured, result), repeats, body);
    if (!nodes[node].tensor && nodes[node].kind == Kind::Operation)
      nodes[node].tensor = tensor;
    return node;
  }
  Value element;
  if (!reducesNeighbours(structured, result) ||
      !getMaximum(structured, result, element))
    return add(std::move(leaf));
  int64_t count = structured.getStaticLoopRanges().back();
  if (ShapedType::isDynamic(count) || count == 0 || repeats % count != 0)
    return add(std::move(leaf));
  OpOperand *init = structured.getDpsInitOperand(result.getResultNumber());
  Node node{Kind::Maximum, type, op};
  unsigned elements = traceBody(structured, element, repeats / count, body);
  node.operands = {elements, trace(init->get(), 0)};
  node.tensor = tensor;
  node.repeats = repeats;
  return add(std::move(node));
}

unsigned ScalarProgram::traceBody(linalg::LinalgOp op, Value value,
                                  int64_t repeats,
                                  DenseMap<Value, unsigned> &body) {
  auto found = body.find(value);
  if (found != body.end())
    return found->second;
  unsigned node;
  auto argument = dyn_cast<BlockArgument>(value);
  Operation *inner = value.getDefiningOp();
  if (argument && argument.getOwner() == op.getBlock() &&
      argument.getArgNumber() >= op.getNumDpsInputs()) {
    // What a result held is the element of no tensor.
    Node held{Kind::Element, value.getType()};
    held.repeats = repeats;
    node = add(std::move(held));
  } else if (argument && argument.getOwner() == op.getBlock()) {
    OpOperand *input = op.getDpsInputOperand(argument.getArgNumber());
    int64_t count =
        *getRepetition(input->get(), op.getMatchingIndexingMap(input),
                       op.getStaticLoopRanges());
    node = trace(input->get(), count * repeats);
  } else if (inner && inner->getBlock() == op.getBlock() && isScalarOp(inner)) {
    SmallVector<unsigned, 3> operands;
    for (Value operand : inner->getOperands())
      operands.push_back(traceBody(op, operand, repeats, body));
    node = addOperation(inner, std::move(operands), repeats);
  } else if (!inner || inner->getBlock() != op.getBlock() ||
             isa<arith::ConstantOp>(inner)) {
    node = trace(value, 0);
  } else {
    // An op that no target has one value for: evaluation names it.
    node = addOperation(inner, {}, repeats);
  }
  body.try_emplace(value, node);
  return node;
}

bool ScalarProgram::needs(unsigned node, unsigned leaf) const {
  SmallVector<unsigned> work{node};
  llvm::SmallDenseSet<unsigned> seen{node};
  while (!work.empty()) {
    unsigned next = work.pop_back_val();
    if (next == leaf)
      return true;
    if (nodes[next].kind == Kind::Maximum)
      continue;
    for (unsigned operand : nodes[next].operands)
      if (seen.insert(operand).second)
        work.push_back(operand);
  }
  return false;
}

SmallVector<unsigned> ScalarProgram::findMaxima(unsigned node) const {
  SmallVector<unsigned> found, work{node};
  llvm::SmallDenseSet<unsigned> seen{node};
  while (!work.empty()) {
    unsigned next = work.pop_back_val();
    if (nodes[next].kind == Kind::Maximum) {
      found.push_back(next);
      continue;
    }
    for (unsigned operand : nodes[next].operands)
      if (seen.insert(operand).second)
        work.push_back(operand);
  }
  return found;
}

unsigned ScalarProgram::withoutExtension(unsigned node) const {
  // f16 does not hold the numbers of f8E8M0FNU.
  while (isa_and_present<arith::ExtFOp>(nodes[node].op) &&
         nodes[node].kind == Kind::Operation &&
         !(nodes[node].type.isF16() &&
           isa<Float8E8M0FNUType>(nodes[nodes[node].operands.front()].type)))
    node = nodes[node].operands.front();
  return node;
}

std::optional<ScalarNumber>
ScalarProgram::evaluate(unsigned node,
                        ArrayRef<std::pair<unsigned, ScalarNumber>> numbers,
                        Operation *&failed) const {
  llvm::SmallDenseMap<unsigned, std::optional<ScalarNumber>, 32> memo;
  for (auto [leaf, number] : numbers)
    memo[leaf] = number;
  // Nodes come after their operands.
  auto visit = [&](auto &visit, unsigned at) -> std::optional<ScalarNumber> {
    auto found = memo.find(at);
    if (found != memo.end())
      return found->second;
    const Node &current = nodes[at];
    std::optional<ScalarNumber> result;
    if (current.kind == Kind::Constant) {
      result = getConstantNumber(current.constant);
    } else if (current.kind == Kind::Operation) {
      // A select has the value of the operand that it selects alone.
      SmallVector<std::optional<ScalarNumber>, 3> operands;
      for (unsigned operand : current.operands)
        operands.push_back(visit(visit, operand));
      SmallVector<Type, 3> types;
      for (unsigned operand : current.operands)
        types.push_back(nodes[operand].type);
      result = evaluateOp(current.op, operands, types, current.type);
      if (!result)
        failed = current.op;
    } else {
      failed = current.op;
    }
    memo[at] = result;
    return result;
  };
  return visit(visit, node);
}

} // namespace blockscale

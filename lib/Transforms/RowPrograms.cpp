//===- RowPrograms.cpp - Kernels of norms ---------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"
#include "FusionChoice.h"
#include "KernelWrapping.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/RowProgram.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

namespace {

using Values = llvm::SetVector<Value>;

/// Ops of one block that become a kernel.
class RowProgram {
public:
  /// The linalg ops over `elements` that `value` depends on, which `root`
  /// computes or reads.
  RowProgram(Operation *root, Value value, RankedTensorType elements);

  bool computes(Value value) const {
    return ops.contains(value.getDefiningOp());
  }
  bool reducesRows() const { return reduces; }

  /// Adds what reads values of the program.
  void add(QuantizeOp op) { ops.insert(op); }

  /// Says why ops that the program reads are not in it.
  void remarkObstacles() const;

  /// Wraps the ops where all can be computed in the block; null if there is no
  /// such place.
  KernelOp wrap();

  ArrayRef<Operation *> getOps() const { return ops.getArrayRef(); }

private:
  void collect(Value value);
  void sort();
  Operation *findPlace() const;
  bool isResult(Value value) const;
  Value createDestination(OpBuilder &builder, OpResult result) const;
  void collectInputs(Operation *op, Values &inputs) const;
  Value copy(OpBuilder &builder, Value value, IRMapping &mapping) const;
  void replaceSizes() const;

  Block *block;
  RankedTensorType elements;
  llvm::SmallSetVector<Operation *, 8> ops;
  SmallVector<std::pair<Operation *, FusionObstacle>> obstacles;
  bool reduces = false;
};

} // namespace

/// Whether what `op` gives is made anew where it is needed.
static bool isCopied(Operation *op) {
  if (isa_and_present<arith::ConstantOp>(op))
    return getUniformConstant(op->getResult(0)) != nullptr;
  return isa_and_present<tensor::EmptyOp>(op) || getFilledScalar(op);
}

/// The linalg op that computes `value`, if it might be one of a row program.
static linalg::LinalgOp getCandidate(Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || isCopied(op) || !op.hasPureTensorSemantics())
    return nullptr;
  bool isParallel = op.getNumReductionLoops() == 0;
  return isParallel || getReducedElements(op) ? op : nullptr;
}

/// A tensor of the shape of a result of a linalg op, which memory holds.
static Value getInit(OpResult result) {
  Value init = result;
  while (auto op = init.getDefiningOp<linalg::LinalgOp>())
    init = op.getTiedOpOperand(cast<OpResult>(init))->get();
  return init;
}

RowProgram::RowProgram(Operation *root, Value value, RankedTensorType elements)
    : block(root->getBlock()), elements(elements) {
  if (elements.getRank() > 1)
    collect(value);
}

void RowProgram::collect(Value value) {
  linalg::LinalgOp op = getCandidate(value);
  if (!op || op->getBlock() != block || ops.contains(op))
    return;
  RowOp row;
  if (std::optional<FusionObstacle> obstacle =
          analyzeRowOp(op, elements, row)) {
    // What others reduce is no matter of this one.
    RankedTensorType reduced = getReducedElements(op);
    if (!reduced || reduced.getShape() == elements.getShape())
      obstacles.emplace_back(op, *obstacle);
    return;
  }
  ops.insert(op);
  reduces |= row.combiner != nullptr;
  for (OpOperand *operand : op.getDpsInputOperands())
    collect(operand->get());
}

/// Whether `op` reduces rows or needs what does.
static bool dependsOnReduction(Operation *op) {
  linalg::LinalgOp linalgOp =
      op && op->getNumResults() != 0 ? getCandidate(op->getResult(0)) : nullptr;
  return linalgOp && (linalgOp.getNumReductionLoops() != 0 ||
                      llvm::any_of(op->getOperands(), [](Value operand) {
                        return dependsOnReduction(operand.getDefiningOp());
                      }));
}

void RowProgram::remarkObstacles() const {
  for (const auto &[op, obstacle] : obstacles)
    if (reduces || dependsOnReduction(op))
      op->emitRemark() << "has a kernel of its own " << obstacle;
}

//===----------------------------------------------------------------------===//
// The place of the kernel
//===----------------------------------------------------------------------===//

void RowProgram::sort() {
  SmallVector<Operation *> sorted = ops.takeVector();
  llvm::sort(sorted,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  ops.insert_range(sorted);
}

/// The last op, where nothing before needs what the others give.
Operation *RowProgram::findPlace() const {
  Operation *last = ops.back();
  auto isEarly = [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    return !ops.contains(ancestor) && !isa<tensor::DimOp>(user) &&
           ancestor->isBeforeInBlock(last);
  };
  bool isNeeded = llvm::any_of(ops, [&](Operation *op) {
    return llvm::any_of(op->getUsers(), isEarly);
  });
  return isNeeded ? nullptr : last;
}

/// Whether others need `value`, and not its sizes alone.
bool RowProgram::isResult(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !ops.contains(block->findAncestorOpInBlock(*user)) &&
           !isa<tensor::DimOp>(user);
  });
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

Value RowProgram::createDestination(OpBuilder &builder, OpResult result) const {
  if (isa<linalg::LinalgOp>(result.getOwner()))
    return getInit(result);
  ReifiedRankedShapedTypeDims shapes;
  // Quantizations have sizes.
  (void)reifyResultShapes(builder, result.getOwner(), shapes);
  return createEmptyTensor(builder, result, shapes[result.getResultNumber()]);
}

/// What `op` needs from outside, copies apart.
void RowProgram::collectInputs(Operation *op, Values &inputs) const {
  Values needed(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), needed);
  for (Value value : needed)
    if (!computes(value) && !isCopied(value.getDefiningOp()))
      inputs.insert(value);
}

/// `value`, which may be copied, in the kernel.
Value RowProgram::copy(OpBuilder &builder, Value value,
                       IRMapping &mapping) const {
  Operation *op = value.getDefiningOp();
  if (mapping.contains(value))
    return mapping.lookup(value);
  Values needed(op->operand_begin(), op->operand_end());
  getUsedValuesDefinedAbove(op->getRegions(), needed);
  for (Value operand : needed)
    copy(builder, operand, mapping);
  return builder.clone(*op, mapping)->getResult(0);
}

/// Sizes of what the program computes are those of its destinations.
void RowProgram::replaceSizes() const {
  for (Operation *op : ops)
    if (isa<linalg::LinalgOp>(op))
      for (OpResult result : op->getResults())
        result.replaceUsesWithIf(getInit(result), [](OpOperand &use) {
          return isa<tensor::DimOp>(use.getOwner());
        });
}

KernelOp RowProgram::wrap() {
  sort();
  Operation *place = findPlace();
  if (!place)
    return nullptr;
  OpBuilder builder(place);
  Location loc = place->getLoc();
  SmallVector<Value> results, outputs;
  for (Operation *op : ops)
    for (OpResult result : op->getResults())
      if (!isa<linalg::LinalgOp>(op) || isResult(result)) {
        results.push_back(result);
        outputs.push_back(createDestination(builder, result));
      }
  replaceSizes();
  Values inputs;
  for (Operation *op : ops)
    collectInputs(op, inputs);
  // The sizes of copied tensors are those of inputs, or inputs.
  auto isCopiedSize = [&](Value size) {
    auto dim = size.getDefiningOp<tensor::DimOp>();
    return dim && inputs.contains(dim.getSource()) &&
           isCopied(dim.getIndex().getDefiningOp());
  };
  for (Operation *op : ops)
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (Value scalar = getFilledScalar(definition)) {
        if (!isCopied(scalar.getDefiningOp()))
          inputs.insert(scalar);
        Value filled = cast<linalg::LinalgOp>(definition).getDpsInits().front();
        definition = filled.getDefiningOp();
        if (!isCopied(definition))
          inputs.insert(filled);
      }
      if (auto empty = dyn_cast_if_present<tensor::EmptyOp>(definition))
        for (Value size : empty.getDynamicSizes())
          if (!isCopiedSize(size) && !isCopied(size.getDefiningOp()))
            inputs.insert(size);
    }

  return replaceByKernel(
      builder, loc, ops.getArrayRef(), inputs.getArrayRef(), outputs, results,
      [&](OpBuilder &builder, Operation *op, IRMapping &mapping) {
        Values needed(op->operand_begin(), op->operand_end());
        getUsedValuesDefinedAbove(op->getRegions(), needed);
        for (Value value : needed)
          copy(builder, value, mapping);
        builder.clone(*op, mapping);
      });
}

//===----------------------------------------------------------------------===//
// Formation
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kNoPlace =
    "expected what it computes to be used after it";

/// Why `op` cannot quantize what a program computes of rows.
static std::optional<FusionObstacle> findObstacle(QuantizeOp op) {
  int64_t count =
      llvm::count_if(op.getX().getUsers(), llvm::IsaPred<QuantizeOp>);
  if (count > 1)
    return FusionObstacle{"norm_c6", "one quantization of x",
                          std::to_string(count)};
  return findRowQuantizeObstacle(op);
}

static void formWith(QuantizeOp op, const FusionModel &model) {
  RowProgram program(op, op.getX(), op.getX().getType());
  if (!program.reducesRows())
    return program.remarkObstacles();
  if (std::optional<FusionObstacle> obstacle = findObstacle(op)) {
    op.emitRemark() << "reads x in a kernel of its own " << *obstacle;
    return;
  }
  program.remarkObstacles();
  SmallVector<Operation *> norm(program.getOps());
  Operation *quantize = op;
  program.add(op);
  FusionChoice choice(model, program.getOps(), {norm, quantize});
  if (KernelOp kernel = program.wrap())
    choice.record(kernel);
  else
    op.emitRemark() << "reads x in a kernel of its own (norm_c7): " << kNoPlace;
}

/// Wraps a program that ends with `op`, if `op` has elements of what it
/// reduces, or reduces itself.
static bool formAt(linalg::LinalgOp op) {
  if (op->getNumResults() == 0 || !getCandidate(op->getResult(0)))
    return false;
  auto elements = op.getNumReductionLoops() != 0
                      ? getReducedElements(op)
                      : dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!elements)
    return false;
  RowProgram program(op, op->getResult(0), elements);
  return program.reducesRows() && program.wrap() != nullptr;
}

void formRowPrograms(FunctionOpInterface function, const FusionModel *model) {
  SmallVector<QuantizeOp> quantizes;
  SmallVector<Operation *> fills;
  SmallVector<Block *> blocks;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      quantizes.push_back(quantize);
    if (getFilledScalar(op))
      fills.push_back(op);
    if (!isa<linalg::LinalgOp>(op))
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
    return WalkResult::advance();
  });
  if (model)
    for (QuantizeOp op : quantizes)
      formWith(op, *model);
  for (Block *block : blocks) {
    // From the end, so that a program has all that leads to it. What it takes
    // lies before it.
    Operation *op = block->empty() ? nullptr : &block->back();
    while (op) {
      Operation *before = op->getPrevNode();
      auto linalgOp = dyn_cast<linalg::LinalgOp>(op);
      // Everything between is in place, but what the program took is gone.
      Operation *after = op->getNextNode();
      if (linalgOp && formAt(linalgOp))
        before = after ? after->getPrevNode() : &block->back();
      op = before;
    }
  }
  for (Operation *fill : fills)
    if (fill->use_empty())
      fill->erase();
}

} // namespace blockscale

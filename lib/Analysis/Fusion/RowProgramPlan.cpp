//===- RowProgramPlan.cpp - Kernels of norms ------------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowProgramPlan.h"
#include "blockscale/Analysis/Cost/ShapeEvaluator.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Fusion/KernelGroups.h"
#include "blockscale/Analysis/Fusion/PaddingLegality.h"
#include "blockscale/Analysis/RowProgram.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/SmallPtrSet.h"
#include "llvm/Support/ScopedPrinter.h"

#include <algorithm>
#include <cmath>

using namespace mlir;

namespace blockscale {

namespace {

/// Ops of one block that become a kernel.
class RowProgram {
public:
  /// The linalg ops over `elements` that `value` depends on, which `root`
  /// computes or reads.
  RowProgram(FusionDraft &draft, Operation *root, Value value,
             RankedTensorType elements);

  bool reducesRows() const { return reduces; }

  /// Adds what reads values of the program.
  void add(Operation *op) { ops.insert(op); }

  /// Says why ops that the program reads are not in it.
  void remarkObstacles() const;

  /// Plans the kernel where all can be computed in the block; fails if there is
  /// no such place.
  LogicalResult take(std::optional<FusionChoice> choice);

  ArrayRef<Operation *> getOps() const { return ops.getArrayRef(); }

private:
  linalg::LinalgOp getCandidate(Value value) const;
  void collect(Value value);
  void leaveOut(Value value);
  bool dependsOnReduction(Operation *op) const;
  bool isNeededEarly(Operation *op, Operation *last) const;
  bool isResult(Value value) const;

  FusionDraft &draft;
  Block *block;
  RankedTensorType elements;
  llvm::SmallSetVector<Operation *, 8> ops;
  /// Ops whose values are inputs of the program.
  llvm::SmallPtrSet<Operation *, 4> outside;
  SmallVector<std::pair<Operation *, FusionObstacle>> obstacles;
  bool reduces = false;
};

} // namespace

/// The linalg op that computes `value`, if it might be one of a row program.
static linalg::LinalgOp findCandidate(const FusionDraft &draft, Value value) {
  auto op = value.getDefiningOp<linalg::LinalgOp>();
  if (!op || draft.isTaken(op) || isMadeAnew(op) ||
      !op.hasPureTensorSemantics())
    return nullptr;
  bool isParallel = op.getNumReductionLoops() == 0;
  return isParallel || getReducedElements(op) ? op : nullptr;
}

linalg::LinalgOp RowProgram::getCandidate(Value value) const {
  return findCandidate(draft, value);
}

RowProgram::RowProgram(FusionDraft &draft, Operation *root, Value value,
                       RankedTensorType elements)
    : draft(draft), block(root->getBlock()), elements(elements) {
  if (elements.getRank() <= 1)
    return;
  collect(value);
  leaveOut(value);
}

/// Leaves out what others need before `value` is computed, with what it depends
/// on: a norm whose result is read by a product and, behind that, by a residual
/// sum that the next norm begins with, is a program of its own.
void RowProgram::leaveOut(Value value) {
  while (!ops.empty()) {
    Operation *last = *llvm::max_element(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    size_t before = outside.size();
    for (Operation *op : ops)
      if (op != last && isNeededEarly(op, last))
        outside.insert(op);
    if (outside.size() == before)
      return;
    ops.clear();
    obstacles.clear();
    reduces = false;
    collect(value);
  }
}

void RowProgram::collect(Value value) {
  linalg::LinalgOp op = getCandidate(value);
  if (!op || op->getBlock() != block || ops.contains(op) ||
      outside.contains(op))
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
bool RowProgram::dependsOnReduction(Operation *op) const {
  linalg::LinalgOp linalgOp =
      op && op->getNumResults() != 0 ? getCandidate(op->getResult(0)) : nullptr;
  return linalgOp && (linalgOp.getNumReductionLoops() != 0 ||
                      llvm::any_of(op->getOperands(), [&](Value operand) {
                        return dependsOnReduction(operand.getDefiningOp());
                      }));
}

void RowProgram::remarkObstacles() const {
  for (const auto &[op, obstacle] : obstacles)
    if (reduces || dependsOnReduction(op))
      draft.remark(op, "has a kernel of its own", obstacle);
}

/// Whether others need what `op` computes before `last`.
bool RowProgram::isNeededEarly(Operation *op, Operation *last) const {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    return ancestor && !ops.contains(ancestor) && !isa<tensor::DimOp>(user) &&
           draft.isBefore(ancestor, last);
  });
}

/// Whether others need `value`, and not its sizes alone.
bool RowProgram::isResult(Value value) const {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    return !ops.contains(block->findAncestorOpInBlock(*user)) &&
           !isa<tensor::DimOp>(user);
  });
}

LogicalResult RowProgram::take(std::optional<FusionChoice> choice) {
  PlannedKernel kernel;
  kernel.ops.assign(ops.begin(), ops.end());
  llvm::sort(kernel.ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  // All have their operands at the last op.
  Operation *last = kernel.ops.back();
  if (llvm::any_of(ops, [&](Operation *op) { return isNeededEarly(op, last); }))
    return failure();
  kernel.family = KernelFamily::Program;
  kernel.choice = std::move(choice);
  for (Operation *op : kernel.ops)
    for (OpResult result : op->getResults())
      if (!isa<linalg::LinalgOp>(op) || isResult(result))
        kernel.results.push_back(result);
  draft.take(std::move(kernel), {last, {}});
  return success();
}

//===----------------------------------------------------------------------===//
// Formation
//===----------------------------------------------------------------------===//

static constexpr StringLiteral kNoPlace =
    "expected what it computes to be used after it";

/// The quantizations of the x of `op` in its block, in their order.
static SmallVector<QuantizeOp> getQuantizations(QuantizeOp op) {
  SmallVector<QuantizeOp> ops;
  for (Operation *user : op.getX().getUsers())
    if (auto quantize = dyn_cast<QuantizeOp>(user))
      if (quantize->getBlock() == op->getBlock() &&
          quantize.getX() == op.getX() && !llvm::is_contained(ops, quantize))
        ops.push_back(quantize);
  llvm::sort(ops,
             [](QuantizeOp a, QuantizeOp b) { return a->isBeforeInBlock(b); });
  return ops;
}

/// Why `ops` cannot quantize what `program` computes of rows.
static std::optional<FusionObstacle> findObstacle(ArrayRef<QuantizeOp> ops,
                                                  const RowProgram &program) {
  if (takeStrips(ops)) {
    Value x = QuantizeOp(ops.front()).getX();
    for (Operation *user : x.getUsers())
      if (isa<AmaxOp, HadamardOp>(user))
        return FusionObstacle{"norm_c6", "no amax and no transform of x",
                              "'" + llvm::to_string(user->getName()) + "'"};
    for (QuantizeOp op : ops)
      if (StringAttr group = getGroup(op))
        return FusionObstacle{"norm_c6", "no tensor group",
                              llvm::to_string(group)};
  }
  return findRowQuantizeObstacle(ops, [&](Operation *op) {
    return llvm::is_contained(program.getOps(), op);
  });
}

/// About how many rows of x a CTA has that takes strips of whole rows, and how
/// many bytes a second it moves: 32 KiB at a time.
static constexpr int64_t kStripRows = 64;
static constexpr double kStripBytes = 32e9;

/// Why several kernels are estimated to be faster than the one of `choice`,
/// whose CTAs take strips of whole rows of `x`. Few long rows have few CTAs,
/// which do not keep the memory busy.
static std::optional<FusionObstacle>
findSlowStrips(Value x, const FusionChoice &choice, const FusionDraft &draft) {
  const Cost *together = choice.find(fusion::kTogether);
  const Cost *apart = choice.find(fusion::kApart);
  ShapeEvaluator sizes(draft.getOptions().dynamicSizes);
  llvm::Expected<SmallVector<int64_t>> shape = sizes.getShape(x);
  if (!shape) {
    llvm::consumeError(shape.takeError());
    return std::nullopt;
  }
  if (!together || !apart)
    return std::nullopt;
  int64_t rows = 1;
  for (int64_t size : ArrayRef<int64_t>(*shape).drop_back())
    rows *= size;
  int64_t blocks = std::clamp<int64_t>(llvm::divideCeil(rows, kStripRows), 1,
                                       choice.gpu->multiprocessors);
  double seconds =
      std::max(together->seconds,
               together->bytes / (static_cast<double>(blocks) * kStripBytes));
  if (seconds <= apart->seconds)
    return std::nullopt;
  auto describe = [](double seconds) {
    return std::to_string(std::llround(seconds * 1e9)) + " ns";
  };
  return FusionObstacle{"norm_c9",
                        "one kernel to be estimated to take at most the " +
                            describe(apart->seconds) + " of several",
                        describe(seconds)};
}

/// Plans a program with `op`, which reads what it computes, and the other
/// quantizations of that.
static void planWith(QuantizeOp op, FusionDraft &draft) {
  if (draft.isTaken(op))
    return;
  if (PadGroupsOp padding = getPadding(op.getX());
      padding && isOfRowProgram(padding.getX(), draft))
    return draft.remark(op, "reads x in a kernel of its own",
                        {"norm_c1", "x of whole rows that nothing pads",
                         "'" + llvm::to_string(padding->getName()) + "'"});
  RowProgram program(draft, op, op.getX(), op.getX().getType());
  if (!program.reducesRows())
    return program.remarkObstacles();
  SmallVector<QuantizeOp> quantizations = getQuantizations(op);
  if (std::optional<FusionObstacle> obstacle =
          findObstacle(quantizations, program)) {
    draft.remark(op, "reads x in a kernel of its own", *obstacle);
    return;
  }
  program.remarkObstacles();
  SmallVector<Operation *> norm(program.getOps());
  SmallVector<Operation *> quantizes(quantizations.begin(),
                                     quantizations.end());
  for (Operation *quantize : quantizes)
    program.add(quantize);
  FusionChoice choice(draft.getModel(), program.getOps(), {norm, quantizes});
  if (takeStrips(quantizations))
    if (std::optional<FusionObstacle> obstacle =
            findSlowStrips(op.getX(), choice, draft)) {
      draft.remark(op, "reads x in a kernel of its own", *obstacle);
      return;
    }
  if (failed(program.take(choice)))
    draft.remark(op, "reads x in a kernel of its own (norm_c7): " + kNoPlace);
}

/// Plans a program with the parts of the amax of what it computes.
static void planWith(AmaxPartsOp op, FusionDraft &draft) {
  RowProgram program(draft, op, op.getX(), op.getX().getType());
  if (!program.reducesRows())
    return;
  program.remarkObstacles();
  SmallVector<Operation *> norm(program.getOps());
  Operation *parts = op;
  program.add(op);
  FusionChoice choice(draft.getModel(), program.getOps(), {norm, parts});
  if (failed(program.take(choice)))
    draft.remark(op, "reads x in a kernel of its own (norm_c7): " + kNoPlace);
}

bool isOfRowProgram(Value value, FusionDraft &draft) {
  Operation *op = value.getDefiningOp();
  return op &&
         RowProgram(draft, op, value, cast<RankedTensorType>(value.getType()))
             .reducesRows();
}

/// Plans a program that ends with `op`, if `op` has elements of what it
/// reduces, or reduces itself.
static void planAt(linalg::LinalgOp op, FusionDraft &draft) {
  if (op->getNumResults() == 0 || !findCandidate(draft, op->getResult(0)))
    return;
  auto elements = op.getNumReductionLoops() != 0
                      ? getReducedElements(op)
                      : dyn_cast<RankedTensorType>(op->getResult(0).getType());
  if (!elements)
    return;
  RowProgram program(draft, op, op->getResult(0), elements);
  if (program.reducesRows())
    (void)program.take(std::nullopt);
}

void planRowPrograms(FunctionOpInterface function, FusionDraft &draft) {
  SmallVector<QuantizeOp> quantizes;
  SmallVector<AmaxPartsOp> parts;
  SmallVector<Operation *> fills;
  SmallVector<Block *> blocks;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    auto quantize = dyn_cast<QuantizeOp>(op);
    if (quantize && !draft.isTaken(op))
      quantizes.push_back(quantize);
    if (auto amax = dyn_cast<AmaxPartsOp>(op))
      parts.push_back(amax);
    if (getFilledScalar(op))
      fills.push_back(op);
    if (!isa<linalg::LinalgOp>(op))
      for (Region &region : op->getRegions())
        for (Block &block : region)
          blocks.push_back(&block);
    return WalkResult::advance();
  });
  if (draft.getOptions().fuse) {
    // What needs the amax cannot be in the kernel that computes it.
    for (AmaxPartsOp op : parts)
      planWith(op, draft);
    for (QuantizeOp op : quantizes)
      planWith(op, draft);
  }
  // From the end, so that a program has all that leads to it.
  for (Block *block : blocks)
    for (Operation &op : llvm::reverse(*block))
      if (auto linalgOp = dyn_cast<linalg::LinalgOp>(op))
        if (!draft.isTaken(&op))
          planAt(linalgOp, draft);
  for (Operation *fill : fills)
    if (llvm::all_of(fill->getUsers(),
                     [&](Operation *user) { return draft.isProgramOp(user); }))
      draft.drop(fill);
}

} // namespace blockscale

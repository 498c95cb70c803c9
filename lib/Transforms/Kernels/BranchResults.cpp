//===- BranchResults.cpp - Tensors that branches give ---------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "BranchResults.h"
#include "blockscale/IR/BlockScaleDialect.h"

#include "mlir/Dialect/Arith/Utils/Utils.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Interfaces/ValueBoundsOpInterface.h"

using namespace mlir;

namespace blockscale {

//===----------------------------------------------------------------------===//
// Sizes
//===----------------------------------------------------------------------===//

using Sizes = std::optional<SmallVector<OpFoldResult>>;

static bool isIn(Value value, scf::IfOp branch) {
  return branch->isAncestor(value.getParentBlock()->getParentOp());
}

/// The sizes of `value`, if an op computes it in new memory: a kernel or an op
/// of linalg from `tensor.empty`, or a branch. It may have another shape.
static Sizes findNewSizes(RewriterBase &rewriter, Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return std::nullopt;
  if (isa<scf::IfOp>(result.getOwner()))
    return findBranchSizes(rewriter, result);
  if (auto empty = dyn_cast<tensor::EmptyOp>(result.getOwner()))
    return empty.getMixedSizes();
  if (auto expand = dyn_cast<tensor::ExpandShapeOp>(result.getOwner()))
    return findNewSizes(rewriter, expand.getSrc())
               ? Sizes(expand.getMixedOutputShape())
               : std::nullopt;
  if (auto cast = dyn_cast<tensor::CastOp>(result.getOwner()))
    return findNewSizes(rewriter, cast.getSource());
  auto writer = dyn_cast<DestinationStyleOpInterface>(result.getOwner());
  return writer ? findNewSizes(rewriter, writer.getTiedOpOperand(result)->get())
                : std::nullopt;
}

/// `size` as it is known before `branch`: what computes it there is copied, as
/// far as it is arithmetic on what is known. Null if it is not.
static OpFoldResult findBefore(RewriterBase &rewriter, OpFoldResult size,
                               scf::IfOp branch) {
  auto value = dyn_cast<Value>(size);
  if (!value || !isIn(value, branch))
    return size;
  Operation *op = value.getDefiningOp();
  if (!op)
    return {};
  if (auto dim = dyn_cast<tensor::DimOp>(op);
      dim && isIn(dim.getSource(), branch)) {
    std::optional<int64_t> number = dim.getConstantIndex();
    Sizes sizes = findNewSizes(rewriter, dim.getSource());
    if (!sizes || !number || *number < 0 ||
        *number >= static_cast<int64_t>(sizes->size()))
      return {};
    return findBefore(rewriter, (*sizes)[*number], branch);
  }
  if (op->getNumRegions() != 0 || op->getNumResults() != 1 || !isPure(op))
    return {};
  IRMapping known;
  for (Value operand : op->getOperands()) {
    OpFoldResult before = findBefore(rewriter, operand, branch);
    if (!before)
      return {};
    rewriter.setInsertionPoint(branch);
    known.map(operand,
              getValueOrCreateConstantIndexOp(rewriter, op->getLoc(), before));
  }
  rewriter.setInsertionPoint(branch);
  return getAsOpFoldResult(rewriter.clone(*op, known)->getResult(0));
}

Sizes findBranchSizes(RewriterBase &rewriter, OpResult result) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto branch = cast<scf::IfOp>(result.getOwner());
  auto type = dyn_cast<RankedTensorType>(result.getType());
  if (!type || branch.getElseRegion().empty())
    return std::nullopt;
  Sizes found;
  for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()}) {
    Value value = yield.getOperand(result.getResultNumber());
    Sizes sizes = isIn(value, branch) ? findNewSizes(rewriter, value) : Sizes();
    if (!sizes)
      return std::nullopt;
    for (auto [dim, size] : llvm::enumerate(*sizes)) {
      size = findBefore(rewriter, size, branch);
      if (!size || (found && (*found)[dim] != size &&
                    !ValueBoundsConstraintSet::compare(
                        (*found)[dim], ValueBoundsConstraintSet::EQ, size)))
        return std::nullopt;
    }
    found = std::move(sizes);
  }
  return found;
}

void resolveBranchSizes(RewriterBase &rewriter, Operation *root) {
  SmallVector<tensor::DimOp> questions;
  root->walk([&](tensor::DimOp op) { questions.push_back(op); });
  for (tensor::DimOp op : questions) {
    auto result = dyn_cast<OpResult>(op.getSource());
    std::optional<int64_t> dim = op.getConstantIndex();
    if (!result || !dim || !isa<scf::IfOp>(result.getOwner()))
      continue;
    Sizes sizes = findBranchSizes(rewriter, result);
    if (!sizes || *dim < 0 || *dim >= static_cast<int64_t>(sizes->size()))
      continue;
    rewriter.setInsertionPoint(op);
    rewriter.replaceOp(op, getValueOrCreateConstantIndexOp(
                               rewriter, op.getLoc(), (*sizes)[*dim]));
  }
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

/// What brings `result` to its place, if that is all that is done with it, and
/// the place is there before the branch.
static bufferization::MaterializeInDestinationOp findOnlyMove(OpResult result) {
  if (!result.hasOneUse())
    return {};
  auto move =
      dyn_cast<bufferization::MaterializeInDestinationOp>(*result.user_begin());
  if (!move || move.getSource() != result ||
      move->getBlock() != result.getOwner()->getBlock())
    return {};
  Operation *place = move.getDest().getDefiningOp();
  bool isBefore = !place || place->getBlock() != move->getBlock() ||
                  place->isBeforeInBlock(result.getOwner());
  return isBefore ? move : bufferization::MaterializeInDestinationOp();
}

/// Brings what each way of `branch` yields for a result to `place`, a tensor.
static void placeYielded(RewriterBase &rewriter, scf::IfOp branch,
                         unsigned number, Value place) {
  for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()}) {
    rewriter.setInsertionPoint(yield);
    OpOperand &value = yield->getOpOperand(number);
    auto move = bufferization::MaterializeInDestinationOp::create(
        rewriter, yield.getLoc(), value.get(), place);
    rewriter.modifyOpInPlace(yield, [&] { value.set(move.getResult()); });
  }
}

static void placeResult(RewriterBase &rewriter, scf::IfOp branch,
                        OpResult result) {
  Sizes sizes = findBranchSizes(rewriter, result);
  if (!sizes)
    return;
  unsigned number = result.getResultNumber();
  bufferization::MaterializeInDestinationOp move = findOnlyMove(result);
  if (move && move.getResult()) {
    placeYielded(rewriter, branch, number, move.getDest());
    rewriter.replaceOp(move, result);
    return;
  }
  if (move) {
    for (scf::YieldOp yield : {branch.thenYield(), branch.elseYield()}) {
      rewriter.setInsertionPoint(yield);
      Operation *copy = rewriter.clone(*move);
      copy->setOperand(0, yield.getOperand(number));
    }
    rewriter.eraseOp(move);
    return;
  }
  SmallVector<Value> dynamic;
  SmallVector<int64_t> unused;
  dispatchIndexOpFoldResults(*sizes, dynamic, unused);
  rewriter.setInsertionPoint(branch);
  auto type = cast<RankedTensorType>(result.getType());
  auto place = bufferization::AllocTensorOp::create(rewriter, branch.getLoc(),
                                                    type, dynamic);
  placeYielded(rewriter, branch, number, place);
}

void placeBranchResults(RewriterBase &rewriter, Operation *root) {
  // Outer branches first, so that inner ones find a place that is there.
  SmallVector<scf::IfOp> branches;
  root->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    if (auto branch = dyn_cast<scf::IfOp>(op))
      branches.push_back(branch);
    return WalkResult::advance();
  });
  for (scf::IfOp branch : branches)
    for (OpResult result : branch->getResults())
      placeResult(rewriter, branch, result);
}

} // namespace blockscale

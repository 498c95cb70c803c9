//===- FusionDraft.cpp - A plan that is being made ------------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionDraft.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/Analysis/RowMoves.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

FusionDraft::FusionDraft(const FusionOptions &options) : options(options) {
  if (options.chip)
    model.emplace(*options.chip, options.dynamicSizes);
}

SmallVector<Operation *> collectOps(FunctionOpInterface function) {
  SmallVector<Operation *> ops;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<KernelOp>(op))
      return WalkResult::skip();
    // The host reduces over ranks.
    if (isa_and_present<BlockScaleDialect>(op->getDialect()) &&
        !isa<AmaxOverRanksOp>(op))
      ops.push_back(op);
    return WalkResult::advance();
  });
  return ops;
}

SmallVector<Operation *>
FusionDraft::collectOps(FunctionOpInterface function) const {
  SmallVector<Operation *> ops = blockscale::collectOps(function);
  llvm::erase_if(ops, [&](Operation *op) { return isTaken(op); });
  return ops;
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

bool FusionDraft::isCopy(Operation *op, Ops ops) const {
  const auto *found = plan.copies.find(op);
  return found != plan.copies.end() &&
         llvm::any_of(found->second, [&](Operation *reader) {
           return llvm::is_contained(ops, reader);
         });
}

void FusionDraft::copyFor(Operation *op, Ops readers) {
  plan.copies.insert({op, SmallVector<Operation *>(readers)});
}

bool FusionDraft::isUse(Operation *op, Operation *user, Ops ops) const {
  if (isCopy(op, ops))
    return llvm::is_contained(ops, user);
  const auto *found = plan.copies.find(op);
  return found == plan.copies.end() || !llvm::is_contained(found->second, user);
}

bool FusionDraft::isReadElsewhere(Operation *op, Operation *user,
                                  Ops ops) const {
  if (!llvm::is_contained(ops, user) || !isCopy(user, ops) || isCopy(op, ops))
    return false;
  // Both passes have the op and its copy.
  return llvm::none_of(user->getUsers(), [&](Operation *reader) {
    return llvm::is_contained(ops, reader) && isUse(user, reader, {});
  });
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

FusionDraft::Anchor FusionDraft::getAnchor(Operation *op) const {
  auto found = anchors.find(op);
  return found == anchors.end() ? Anchor{op, false} : found->second;
}

bool FusionDraft::isBefore(Operation *op, Operation *other) const {
  Anchor mine = getAnchor(op), others = getAnchor(other);
  if (mine.op != others.op)
    return mine.op->isBeforeInBlock(others.op);
  if (mine.isMoved && others.isMoved)
    return op->isBeforeInBlock(other);
  return mine.isMoved;
}

/// Whether `value` is computed before `place`, which one of `ops` has.
bool FusionDraft::isAvailable(Value value, Operation *place, Ops ops) const {
  Operation *definition = value.getDefiningOp();
  if (!definition || definition->getBlock() != place->getBlock() ||
      llvm::is_contained(ops, definition))
    return true;
  // What has the place of an op that is copied comes before the copy.
  Operation *anchor = getAnchor(definition).op;
  return anchor == place || anchor->isBeforeInBlock(place);
}

/// Whether the sizes of what `op` makes follow from those of its operands,
/// which are several, or in another order.
static bool hasSizesOfOperands(Operation *op) {
  return isProduct(op) || isa<tensor::ConcatOp>(op) || getGatheredRows(op);
}

/// What `op` reads, for sizes what these are computed from: kernels have no
/// sizes of what no memory holds.
SmallVector<Value> FusionDraft::getNeeded(Operation *op, Ops ops) const {
  auto dim = dyn_cast<tensor::DimOp>(op);
  if (!dim)
    return getInputs(op);
  Value source = dim.getSource();
  while (Operation *owner = source.getDefiningOp()) {
    Value same = isTaken(owner) ? getSameSizedSource(owner) : Value();
    if (hasSizesOfOperands(owner) &&
        (isTaken(owner) || llvm::is_contained(ops, owner)))
      return SmallVector<Value>(owner->getOperands());
    if (!same)
      break;
    source = same;
  }
  return {source, dim.getIndex()};
}

/// The ops that have to come before `place`, in order; nullopt if they cannot.
std::optional<SmallVector<Operation *>> FusionDraft::findMoved(Operation *place,
                                                               Ops ops) const {
  llvm::SetVector<Operation *> needed;
  auto insert = [&](ArrayRef<Value> values) {
    for (Value value : values)
      if (!isAvailable(value, place, ops))
        needed.insert(value.getDefiningOp());
  };
  for (Operation *op : ops)
    insert(getInputs(op));
  for (size_t i = 0; i < needed.size(); ++i) {
    Operation *op = needed[i];
    bool isCheap =
        isPure(op) && op->getNumRegions() == 0 && !isTaken(op) &&
        isa<affine::AffineDialect, arith::ArithDialect, tensor::TensorDialect>(
            op->getDialect());
    SmallVector<Value> values = getNeeded(op, ops);
    bool needsOps = llvm::any_of(values, [&](Value value) {
      return llvm::is_contained(ops, value.getDefiningOp());
    });
    if (!isCheap || needsOps)
      return std::nullopt;
    insert(values);
  }
  SmallVector<Operation *> moved = needed.takeVector();
  llvm::sort(moved, [&](Operation *a, Operation *b) { return isBefore(a, b); });
  return moved;
}

/// Whether others need what a kernel of `ops` computes as `op` before `last`.
bool FusionDraft::isNeededBefore(Operation *op, Operation *last,
                                 Ops ops) const {
  return llvm::any_of(op->getUsers(), [&](Operation *user) {
    Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
    // Sizes are those of what it is made of.
    bool isSize = (getSameSizedSource(op) || hasSizesOfOperands(op)) &&
                  isa<tensor::DimOp>(user);
    return !llvm::is_contained(ops, user) && !isSize && ancestor &&
           isUse(op, user, ops) && isBefore(ancestor, last);
  });
}

FusionDraft::Place
FusionDraft::findPlace(SmallVectorImpl<Operation *> &ops) const {
  if (ops.empty())
    return {};
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  Operation *first = ops.front(), *last = ops.back();
  bool isFirst = llvm::all_of(ops, [&](Operation *op) {
    return llvm::all_of(getInputs(op), [&](Value operand) {
      return isAvailable(operand, first, ops);
    });
  });
  if (isFirst)
    return {first, {}};
  if (llvm::none_of(
          ops, [&](Operation *op) { return isNeededBefore(op, last, ops); }))
    return {last, {}};
  std::optional<SmallVector<Operation *>> moved = findMoved(first, ops);
  return moved ? Place{first, *moved} : Place();
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

SmallVector<Value> FusionDraft::getResults(Ops ops) const {
  SmallVector<Value> results;
  for (Operation *op : ops)
    for (OpResult result : op->getResults()) {
      bool isInside = false, isOutside = false;
      for (Operation *user : result.getUsers()) {
        bool isIn = llvm::is_contained(ops, user);
        isInside |= isIn;
        isOutside |= isIn ? isReadElsewhere(op, user, ops)
                          : !isa<tensor::DimOp>(user) && isUse(op, user, ops);
      }
      if (!isInside || isOutside)
        results.push_back(result);
    }
  return results;
}

void FusionDraft::take(PlannedKernel kernel, const Place &place) {
  kernel.place = place.op;
  if (options.chip && !kernel.family)
    kernel.family = chooseFamily(kernel.ops);
  for (Operation *op : place.moved)
    anchors[op] = {place.op, /*isMoved=*/true};
  if (kernel.family == KernelFamily::Program)
    programs.insert_range(kernel.ops);
  for (Operation *op : kernel.ops) {
    if (isCopy(op, kernel.ops)) {
      kernel.copied.insert(op);
      takenCopies.insert(op);
      continue;
    }
    taken.insert(op);
    anchors[op] = {place.op, /*isMoved=*/false};
  }
  plan.kernels.push_back(std::move(kernel));
}

void FusionDraft::take(Ops ops, const Place &place,
                       std::optional<FusionChoice> choice) {
  PlannedKernel kernel;
  kernel.ops.assign(ops.begin(), ops.end());
  kernel.results = getResults(ops);
  kernel.choice = std::move(choice);
  take(std::move(kernel), place);
}

const PlannedKernel *FusionDraft::findKernel(Operation *op) const {
  auto found = llvm::find_if(plan.kernels, [&](const PlannedKernel &kernel) {
    return llvm::is_contained(kernel.ops, op) && !kernel.copied.contains(op);
  });
  return found == plan.kernels.end() ? nullptr : &*found;
}

bool FusionDraft::join(size_t number, size_t other) {
  PlannedKernel &kernel = plan.kernels[number];
  Operation *place = kernel.place, *otherPlace = plan.kernels[other].place;
  if (place->getBlock() != otherPlace->getBlock())
    return false;
  if (otherPlace->isBeforeInBlock(place))
    place = otherPlace;
  Ops mine = kernel.ops, others = plan.kernels[other].ops;
  auto canBeThere = [&](Ops own, Ops beside) {
    return llvm::all_of(own, [&](Operation *op) {
      return llvm::all_of(getInputs(op), [&](Value input) {
        return !llvm::is_contained(beside, input.getDefiningOp()) &&
               isAvailable(input, place, own);
      });
    });
  };
  if (!canBeThere(mine, others) || !canBeThere(others, mine))
    return false;
  SmallVector<Operation *> ops(mine);
  llvm::append_range(ops, others);
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  kernel.ops = ops;
  kernel.results = getResults(ops);
  kernel.choice.emplace(*model, ops, kernel.results);
  kernel.place = place;
  for (Operation *op : ops)
    anchors[op] = {place, /*isMoved=*/false};
  plan.kernels.erase(plan.kernels.begin() + static_cast<ptrdiff_t>(other));
  return true;
}

void FusionDraft::extend(Operation *member, Operation *op) {
  PlannedKernel &kernel = getKernel(member);
  insert(kernel, kernel.ops.end(), op);
}

void FusionDraft::extendBefore(Operation *member, Ops ops) {
  PlannedKernel &kernel = getKernel(member);
  insert(kernel, kernel.ops.begin(), ops);
}

void FusionDraft::handOver(AmaxOp amax, Operation *member) {
  plan.inParts.push_back(amax);
  extendBefore(member, amax.getOperation());
}

PlannedKernel &FusionDraft::getKernel(Operation *member) {
  return *llvm::find_if(plan.kernels, [&](const PlannedKernel &kernel) {
    return &kernel == findKernel(member);
  });
}

void FusionDraft::insert(PlannedKernel &kernel, Operation **place, Ops ops) {
  kernel.ops.insert(place, ops.begin(), ops.end());
  kernel.results = getResults(kernel.ops);
  for (Operation *op : ops) {
    taken.insert(op);
    anchors[op] = {kernel.place, /*isMoved=*/false};
  }
}

void FusionDraft::drop(Operation *op) {
  taken.insert(op);
  plan.unneeded.push_back(op);
}

void FusionDraft::remark(Operation *op, const Twine &text) {
  plan.remarks.push_back({op, text.str()});
}

void FusionDraft::remark(Operation *op, const Twine &text,
                         const FusionObstacle &obstacle) {
  remark(op, text + " " + llvm::to_string(obstacle));
}

void FusionDraft::remarkPlain(Operation *op, const FusionObstacle &obstacle) {
  remark(op, "has a plain kernel", obstacle);
  plan.remarks.back().isPlain = true;
}

FusionPlan FusionDraft::finish() {
  // Copies that found no place beside those that read them.
  for (auto &[op, readers] : plan.copies) {
    if (takenCopies.contains(op))
      continue;
    PlannedKernel kernel;
    kernel.ops.push_back(op);
    kernel.copied.insert(op);
    kernel.family = chooseFamily(op);
    kernel.results.append(op->result_begin(), op->result_end());
    kernel.place = op;
    plan.kernels.push_back(std::move(kernel));
  }
  return std::move(plan);
}

} // namespace blockscale

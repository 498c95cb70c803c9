//===- FormKernels.cpp - Choose what runs as one kernel -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "EpilogueKernels.h"
#include "FusionChoice.h"
#include "KernelGroups.h"
#include "KernelPlace.h"
#include "KernelWrapping.h"
#include "RowPrograms.h"
#include "Siblings.h"
#include "blockscale/Analysis/FusionLegality.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_FORMKERNELS
#include "blockscale/Transforms/Passes.h.inc"

using Obstacles = llvm::MapVector<Operation *, FusionObstacle>;

/// Adds to `ops` the elementwise ops of their block that make what they read,
/// those whose results others need, too, if the kernel may keep them. Returns
/// why others are not among them.
static Obstacles addProducers(SmallVectorImpl<Operation *> &ops, bool isKept) {
  Obstacles obstacles;
  bool hasAdded = true;
  while (std::exchange(hasAdded, false)) {
    obstacles.clear();
    for (size_t i = 0; i < ops.size(); ++i) {
      for (Value input : getInputs(ops[i])) {
        auto producer = input.getDefiningOp<linalg::LinalgOp>();
        if (!producer || llvm::is_contained(ops, producer))
          continue;
        std::optional<FusionObstacle> obstacle =
            findProducerObstacle(producer, ops, isKept);
        if (obstacle)
          obstacles.insert({producer, *obstacle});
        else
          ops.push_back(producer);
        hasAdded |= !obstacle;
      }
    }
  }
  return obstacles;
}

/// Members of a group that share a kernel at most.
static constexpr int64_t kMostMembers = 16;

namespace {

struct FormKernelsPass : public impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  LogicalResult initialize(MLIRContext *context) override {
    for (int64_t size : dynamicSizes)
      if (size <= 0)
        return emitError(UnknownLoc::get(context))
               << "expected option 'dynamic-sizes' to be positive sizes, but "
                  "got "
               << size;
    return success();
  }

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    if (failed(verifyGroups(collect())))
      return signalPassFailure();
    if (!chip.empty()) {
      const target::Chip *found = target::findChip(chip);
      if (!found) {
        emitError(getOperation()->getLoc())
            << "expected the chip to be one of " << target::listChips()
            << ", but got '" << chip << "'";
        return signalPassFailure();
      }
      if (fuse && found->hasBlockScaledMma() &&
          failed(formEpilogues(getOperation())))
        return signalPassFailure();
      FusionModel fusion(*found, *dynamicSizes);
      model = &fusion;
      choices.clear();
      formRowPrograms(getOperation(), fuse ? model : nullptr);
      if ((fuse && failed(wrapSiblings(builder, *found))) ||
          failed(wrapElementwise(builder)))
        return signalPassFailure();
    }
    for (Operation *op : collect()) {
      // Nothing to run where the layout stays.
      auto swizzle = dyn_cast<SwizzleOp>(op);
      if (swizzle && swizzle.getSource().getType() == swizzle.getType()) {
        swizzle.replaceAllUsesWith(swizzle.getSource());
        swizzle.erase();
        continue;
      }
      builder.setInsertionPoint(op);
      if (failed(wrapInKernel(builder, op)))
        return signalPassFailure();
    }
  }

private:
  /// Ops of the dialect that are in no kernel yet.
  SmallVector<Operation *> collect() {
    SmallVector<Operation *> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (isa<KernelOp>(op))
        return WalkResult::skip();
      if (isa_and_present<BlockScaleDialect>(op->getDialect()))
        ops.push_back(op);
      return WalkResult::advance();
    });
    return ops;
  }

  /// Transforms that all who use them can compute in registers.
  llvm::SmallPtrSet<Operation *, 8> findTransforms(const target::Chip &chip) {
    llvm::SmallPtrSet<Operation *, 8> transforms;
    for (Operation *op : collect()) {
      auto hadamard = dyn_cast<HadamardOp>(op);
      if (!hadamard ||
          llvm::none_of(op->getUsers(), llvm::IsaPred<AmaxOp, QuantizeOp>))
        continue;
      if (std::optional<FusionObstacle> obstacle =
              findTransformObstacle(hadamard, chip))
        op->emitRemark("has a kernel of its own ") << *obstacle;
      else
        transforms.insert(op);
    }
    dropPartsOfGroups(transforms);
    return transforms;
  }

  /// A group computes the transforms of all members in registers, or of none.
  void dropPartsOfGroups(llvm::SmallPtrSet<Operation *, 8> &transforms) {
    auto isDropped = [&](QuantizeOp op) {
      Operation *source = op.getX().getDefiningOp<HadamardOp>();
      return source && !transforms.contains(source);
    };
    KernelGroups groups = findGroups(collect());
    for (bool changes = true; std::exchange(changes, false);)
      for (const auto &[key, members] : groups) {
        auto *dropped = llvm::find_if(members, isDropped);
        if (dropped == members.end())
          continue;
        for (QuantizeOp op : members) {
          auto transform = op.getX().getDefiningOp<HadamardOp>();
          if (!transform || !transforms.erase(transform))
            continue;
          changes = true;
          transform.emitRemark("has a kernel of its own (rht_c4): expected all "
                               "members of group ")
              << key.first << " to have theirs in registers, but number "
              << dropped - members.begin() << " has not";
        }
      }
  }

  LogicalResult wrapSiblings(OpBuilder &builder, const target::Chip &chip) {
    llvm::SmallPtrSet<Operation *, 8> transforms = findTransforms(chip);
    llvm::MapVector<std::pair<Value, Block *>, Siblings> groups;
    SmallVector<Siblings> pairs;
    for (Operation *op : collect()) {
      auto quantize = dyn_cast<QuantizeOp>(op);
      if (!quantize && !isa<AmaxOp>(op))
        continue;
      Value x = op->getOperand(0);
      Operation *transform = x.getDefiningOp();
      if (!transforms.contains(transform))
        transform = nullptr;
      else
        x = cast<HadamardOp>(transform).getX();
      // A quantization that shares its kernel with nothing but its transform.
      if (transform && quantize && findOneReadObstacle(quantize)) {
        Siblings &pair = pairs.emplace_back();
        pair.quantizes.push_back(quantize);
        pair.transforms.insert(transform);
        continue;
      }
      Siblings &siblings = groups[{x, op->getBlock()}];
      if (quantize) {
        siblings.quantizes.push_back(quantize);
        if (!siblings.group)
          siblings.group = getGroup(quantize);
      } else {
        siblings.amaxes.push_back(cast<AmaxOp>(op));
      }
      if (transform)
        siblings.transforms.insert(transform);
    }
    SmallVector<Siblings> passes = std::move(pairs);
    SmallVector<Operation *> others;
    for (auto &[key, siblings] : groups)
      splitPasses(builder, siblings, passes, others);
    return failure(failed(wrapMembers(builder, passes)) ||
                   failed(wrapApart(builder, others)));
  }

  /// Moves those of `ops` that cannot share a kernel to `others`.
  template <typename OpTy>
  static void dropObstacles(SmallVector<OpTy> &ops,
                            SmallVectorImpl<Operation *> &others) {
    llvm::erase_if(ops, [&](OpTy op) {
      std::optional<FusionObstacle> obstacle = findOneReadObstacle(op);
      if (obstacle) {
        op.emitRemark() << "reads x in a kernel of its own " << *obstacle;
        others.push_back(op);
      }
      return obstacle.has_value();
    });
  }

  /// Wraps each of `ops` with what makes its x, if it can share a kernel with
  /// that.
  LogicalResult wrapApart(OpBuilder &builder, ArrayRef<Operation *> ops) {
    for (Operation *op : ops) {
      auto amax = dyn_cast<AmaxOp>(op);
      if (amax && findOneReadObstacle(amax))
        continue;
      if (failed(wrapTogether(builder, op)))
        return failure();
    }
    return success();
  }

  /// Adds what becomes one kernel, or, where quantizations need amaxes of x,
  /// one of the amaxes before one of the quantizations:
  ///
  ///   %a = blockscale.amax %x
  ///   %h = blockscale.hadamard %x dim 0
  ///   %b = blockscale.amax %h
  ///   %q, %s = blockscale.quantize %x global_amax(%a)
  ///   %p, %t = blockscale.quantize %h global_amax(%b)
  /// becomes
  ///   %a, %b = blockscale.kernel ins(%x) { .. }
  ///   %q, %s, %p, %t = blockscale.kernel ins(%x, %a, %b) { .. }
  void splitPasses(OpBuilder &builder, Siblings &siblings,
                   SmallVector<Siblings> &passes,
                   SmallVectorImpl<Operation *> &others) {
    bool isPair = siblings.quantizes.size() == 1 &&
                  siblings.amaxes.size() == 1 && siblings.transforms.empty();
    if (!siblings.group &&
        (siblings.isAlone() || (isPair && siblings.findSecondPass()))) {
      if (isPair && !findOneReadObstacle(siblings.amaxes.front())) {
        Operation *amax = siblings.amaxes.front();
        Operation *quantize = siblings.quantizes.front();
        choosePasses(builder, amax, quantize, {amax, quantize});
      }
      llvm::append_range(others, siblings.getOps());
      return;
    }
    dropObstacles(siblings.amaxes, others);
    dropObstacles(siblings.quantizes, others);
    if (siblings.amaxes.empty() || siblings.quantizes.empty()) {
      passes.push_back(siblings);
      return;
    }
    QuantizeOp second = siblings.findSecondPass();
    SmallVector<Operation *> all = siblings.getOps();
    if (!second && findPlaceOf(all)) {
      siblings.amaxes.front().emitRemark(
          "takes one pass over x: the kernel that quantizes x has it as well");
      passes.push_back(siblings);
      return;
    }
    if (second)
      second.emitRemark("takes a second pass over x ")
          << *findOnePassObstacle(second, siblings.amaxes);
    else
      siblings.quantizes.front().emitRemark(
          "takes a second pass over x: expected the kernel's operands to come "
          "before the first op of x, or its results to be used after the last");
    Siblings first = siblings.takeAmaxes(builder);
    // Those of a group are not computed in its kernels.
    if (!siblings.group)
      choosePasses(builder, first.getOps(), siblings.getOps(), all);
    passes.push_back(first);
    passes.push_back(siblings);
  }

  /// Chooses what the ops of two passes do about elementwise ops that make x,
  /// and gives the first one its own where both compute it. `all` are those
  /// ops, but transforms that each pass has.
  void choosePasses(OpBuilder &builder, ArrayRef<Operation *> first,
                    ArrayRef<Operation *> second, ArrayRef<Operation *> all) {
    SmallVector<Operation *> ops(first);
    llvm::append_range(ops, second);
    size_t count = ops.size();
    addProducers(ops, /*isKept=*/false);
    SmallVector<Operation *> producers(llvm::drop_begin(ops, count));
    if (producers.empty())
      return;
    SmallVector<Operation *> apart(all);
    llvm::append_range(apart, producers);
    FusionChoice choice(*model, recompute, producers, first, second, apart);
    if (choice.isRecomputed())
      copyOps(builder, producers, first);
    for (ArrayRef<Operation *> pass : {first, second})
      for (Operation *op : pass)
        choices.try_emplace(op, choice);
  }

  /// Gives `users` copies of `ops`.
  static void copyOps(OpBuilder &builder, SmallVectorImpl<Operation *> &ops,
                      ArrayRef<Operation *> users) {
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    IRMapping mapping;
    for (Operation *op : ops) {
      builder.setInsertionPointAfter(op);
      builder.clone(*op, mapping);
    }
    for (Operation *user : users)
      for (OpOperand &operand : user->getOpOperands())
        operand.set(mapping.lookupOrDefault(operand.get()));
  }

  /// Makes kernels of passes: one of those of the members of a group that fit
  /// each other.
  LogicalResult wrapMembers(OpBuilder &builder, ArrayRef<Siblings> passes) {
    llvm::MapVector<std::tuple<StringAttr, Block *, int>,
                    SmallVector<SmallVector<Operation *>>>
        members;
    for (const Siblings &pass : passes) {
      SmallVector<Operation *> ops = pass.getOps();
      if (ops.empty())
        continue;
      llvm::sort(ops, [](Operation *a, Operation *b) {
        return a->isBeforeInBlock(b);
      });
      if (pass.group)
        members[{pass.group, ops.front()->getBlock(), pass.pass}].push_back(
            ops);
      else if (failed(wrapTogether(builder, ops)))
        return failure();
    }
    for (auto &[key, group] : members)
      if (failed(wrapGroup(builder, group)))
        return failure();
    return success();
  }

  /// Kernels of up to `kMostMembers` of those members that fit the first one.
  LogicalResult wrapGroup(OpBuilder &builder,
                          ArrayRef<SmallVector<Operation *>> members) {
    SmallVector<SmallVector<SmallVector<Operation *>>> kernels, apart;
    for (ArrayRef<Operation *> ops : members) {
      if (std::optional<FusionObstacle> obstacle =
              findGroupObstacle(members.front(), ops)) {
        ops.front()->emitRemark("has a kernel apart from its group ")
            << *obstacle;
        apart.emplace_back().emplace_back(ops);
        continue;
      }
      if (kernels.empty() || kernels.back().size() == kMostMembers)
        kernels.emplace_back();
      kernels.back().emplace_back(ops);
    }
    llvm::append_range(kernels, apart);
    return failure(llvm::any_of(kernels, [&](auto &together) {
      return failed(wrapOneOrEach(builder, together));
    }));
  }

  /// One kernel of all members, or one of each.
  LogicalResult wrapOneOrEach(OpBuilder &builder,
                              ArrayRef<SmallVector<Operation *>> members) {
    SmallVector<Operation *> all;
    for (ArrayRef<Operation *> ops : members)
      llvm::append_range(all, ops);
    Operation *place = members.size() > 1 ? findPlaceOf(all) : nullptr;
    if (place) {
      builder.setInsertionPoint(place);
      return wrapFused(builder, all);
    }
    if (members.size() > 1)
      all.back()->emitRemark()
          << "has a kernel apart from its group: expected the operands of "
             "members to come before the first one, or their results to be "
             "used after the last";
    return failure(llvm::any_of(members, [&](const auto &ops) {
      return failed(wrapTogether(builder, ops));
    }));
  }

  /// Wraps `ops`, if they are several or elementwise ops make what they read,
  /// with as many of these as have a place.
  LogicalResult wrapTogether(OpBuilder &builder, ArrayRef<Operation *> ops) {
    bool mayKeep = llvm::none_of(ops, [](Operation *op) {
      // Rows of no group are not computed.
      auto quantize = dyn_cast<QuantizeOp>(op);
      return quantize && quantize.getOffsets();
    });
    SmallVector<Operation *> all(ops);
    Obstacles obstacles = addProducers(all, mayKeep);
    Operation *place = findPlaceOf(all);
    if (!place && mayKeep) {
      all.assign(ops.begin(), ops.end());
      obstacles = addProducers(all, /*isKept=*/false);
      place = findPlaceOf(all);
    }
    if (!place && all.size() > ops.size()) {
      ops.back()->emitRemark()
          << "reads what another kernel makes: expected its operands to come "
             "before the ops that make x, or these to be used after it";
      all.assign(ops.begin(), ops.end());
      place = findPlaceOf(all);
    }
    for (auto &[producer, obstacle] : obstacles)
      producer->emitRemark() << "is not computed where it is read " << obstacle;
    if (all.size() < 2)
      return success();
    if (!place) {
      all.back()->emitRemark()
          << "reads x in a kernel of its own: expected its operands to come "
             "before the first quantization of x, or the results of the "
             "others to be used after it";
      return success();
    }
    builder.setInsertionPoint(place);
    return wrapFused(builder, all);
  }

  /// Wraps several ops and records why they share a kernel.
  LogicalResult wrapFused(OpBuilder &builder, ArrayRef<Operation *> ops) {
    auto *chosen =
        llvm::find_if(ops, [&](Operation *op) { return choices.contains(op); });
    FusionChoice choice = chosen != ops.end() ? choices.find(*chosen)->second
                                              : FusionChoice(*model, ops);
    FailureOr<KernelOp> kernel = wrapInKernel(builder, ops);
    if (succeeded(kernel))
      choice.record(*kernel);
    return kernel;
  }

  /// Elementwise ops that make what no kernel computes for itself.
  LogicalResult wrapElementwise(OpBuilder &builder) {
    SmallVector<linalg::LinalgOp> ops;
    getOperation()->walk<WalkOrder::PreOrder>([&](Operation *op) {
      if (auto producer = dyn_cast<linalg::LinalgOp>(op))
        ops.push_back(producer);
      return isa<KernelOp, linalg::LinalgOp>(op) ? WalkResult::skip()
                                                 : WalkResult::advance();
    });
    for (linalg::LinalgOp op : ops) {
      if (std::optional<FusionObstacle> obstacle =
              findElementwiseObstacle(op)) {
        op.emitRemark("has no kernel ") << *obstacle;
        continue;
      }
      builder.setInsertionPoint(op);
      if (failed(wrapInKernel(builder, op.getOperation())))
        return failure();
    }
    return success();
  }

  const FusionModel *model = nullptr;
  /// What was chosen for ops of two passes.
  llvm::DenseMap<Operation *, FusionChoice> choices;
};

} // namespace
} // namespace blockscale

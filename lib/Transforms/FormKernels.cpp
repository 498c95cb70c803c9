//===- FormKernels.cpp - Choose what runs as one kernel -------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "RowPrograms.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_FORMKERNELS
#include "blockscale/Transforms/Passes.h.inc"

Value createEmptyTensor(OpBuilder &builder, OpResult result,
                        ArrayRef<OpFoldResult> sizes) {
  auto type = cast<RankedTensorType>(result.getType());
  SmallVector<Value> dynamic;
  for (auto [dim, size] : llvm::enumerate(sizes))
    if (type.isDynamicDim(dim))
      dynamic.push_back(
          getValueOrCreateConstantIndexOp(builder, result.getLoc(), size));
  return tensor::EmptyOp::create(builder, result.getLoc(), type.getShape(),
                                 type.getElementType(), dynamic,
                                 type.getEncoding());
}

/// Whether ops of `ops` need `value`, and others its sizes at most.
static bool isInternal(Value value, ArrayRef<Operation *> ops) {
  auto isInOps = [&](Operation *user) { return llvm::is_contained(ops, user); };
  return llvm::any_of(value.getUsers(), isInOps) &&
         llvm::all_of(value.getUsers(), [&](Operation *user) {
           return isInOps(user) || isa<tensor::DimOp>(user);
         });
}

/// What a kernel that computes `op` reads. What destinations held is not read.
static SmallVector<Value> getInputs(Operation *op) {
  if (auto producer = dyn_cast<linalg::LinalgOp>(op))
    return producer.getDpsInputs();
  return SmallVector<Value>(op->getOperands());
}

/// Whether all elements of `value` are one constant.
static bool isUniform(Value value) {
  Attribute constant;
  if (!matchPattern(value, m_Constant(&constant)))
    return false;
  auto elements = dyn_cast<ElementsAttr>(constant);
  return !elements || elements.isSplat();
}

/// A copy of `op` in the body of a kernel. Elementwise ops take constants and a
/// destination there along.
static void cloneInto(OpBuilder &builder, Operation *op, IRMapping &mapping) {
  auto producer = dyn_cast<linalg::LinalgOp>(op);
  if (!producer) {
    builder.clone(*op, mapping);
    return;
  }
  llvm::SetVector<Value> constants;
  getUsedValuesDefinedAbove(op->getRegions(), constants);
  for (Value input : producer.getDpsInputs())
    if (isUniform(input))
      constants.insert(input);
  for (Value constant : constants)
    if (!mapping.contains(constant))
      builder.clone(*constant.getDefiningOp(), mapping);
  Location loc = op->getLoc();
  Value like = mapping.lookup(getSameSizedInput(producer));
  auto type = cast<RankedTensorType>(op->getResult(0).getType());
  Value init = tensor::EmptyOp::create(
      builder, loc, tensor::getMixedSizes(builder, loc, like),
      type.getElementType());
  Operation *clone = builder.clone(*op, mapping);
  cast<linalg::LinalgOp>(clone).setDpsInitOperand(0, init);
}

/// The tensor that has the sizes of the only result of `op`, which no memory
/// holds.
static Value getSameSizedSource(Operation *op) {
  if (auto producer = dyn_cast<linalg::LinalgOp>(op))
    return getSameSizedInput(producer);
  auto hadamard = dyn_cast<HadamardOp>(op);
  return hadamard ? hadamard.getX() : Value();
}

/// Wraps ops, which are in an order in which they can be computed:
///
///   %q, %s = blockscale.quantize %x ...
///   %h = blockscale.hadamard %x ...
///   %p, %t = blockscale.quantize %h ...
/// becomes
///   %q, %s, %p, %t = blockscale.kernel ins(%x) outs(%e0, %e1, %e2, %e3) {
///   ^bb0(%lx, %l0, %l1, %l2, %l3):
///     %0, %1 = blockscale.quantize %lx ...
///     %2 = blockscale.hadamard %lx ...
///     %3, %4 = blockscale.quantize %2 ...
///     blockscale.yield %0, %1, %3, %4
///   }
/// where the builder stands.
static LogicalResult wrapInKernel(OpBuilder &builder,
                                  ArrayRef<Operation *> ops) {
  Location loc = ops.front()->getLoc();
  llvm::SmallSetVector<Value, 4> inputs;
  SmallVector<Value> results, outputs;
  for (Operation *op : ops) {
    bool takesConstants = isa<linalg::LinalgOp>(op);
    for (Value operand : getInputs(op))
      if (!llvm::is_contained(ops, operand.getDefiningOp()) &&
          !(takesConstants && isUniform(operand)))
        inputs.insert(operand);
    ReifiedRankedShapedTypeDims shapes;
    if (failed(reifyResultShapes(builder, op, shapes)))
      return op->emitOpError("expected result sizes that can be computed from "
                             "the operands");
    for (auto [result, sizes] : llvm::zip_equal(op->getResults(), shapes)) {
      if (isInternal(result, ops))
        continue;
      results.push_back(result);
      outputs.push_back(createEmptyTensor(builder, result, sizes));
    }
  }
  // The kernel comes after the sizes of its outputs.
  for (Operation *op : llvm::reverse(ops))
    if (Value source = getSameSizedSource(op))
      for (Operation *user :
           llvm::make_early_inc_range(op->getResult(0).getUsers()))
        if (isa<tensor::DimOp>(user))
          user->setOperand(0, source);
  auto kernel = KernelOp::create(builder, loc, ValueRange(results).getTypes(),
                                 inputs.getArrayRef(), outputs);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&kernel.getBody());
  IRMapping mapping;
  for (Value input : inputs)
    mapping.map(input, body->addArgument(input.getType(), input.getLoc()));
  for (Value output : outputs)
    body->addArgument(output.getType(), loc);
  for (Operation *op : ops)
    cloneInto(builder, op, mapping);
  YieldOp::create(builder, loc, llvm::map_to_vector(results, [&](Value result) {
                    return mapping.lookup(result);
                  }));
  for (auto [result, ofKernel] : llvm::zip_equal(results, kernel.getResults()))
    result.replaceAllUsesWith(ofKernel);
  for (Operation *op : llvm::reverse(ops))
    op->erase();
  return success();
}

/// Whether `value` can be computed before `first`, the first one of `ops` in
/// their block, or with them.
static bool isAvailable(Value value, Operation *first,
                        ArrayRef<Operation *> ops) {
  Operation *definition = value.getDefiningOp();
  return !definition || definition->getBlock() != first->getBlock() ||
         llvm::is_contained(ops, definition) ||
         definition->isBeforeInBlock(first);
}

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

/// The one of `ops`, in the order of their block, where all can be computed;
/// null if there is none.
static Operation *findPlace(ArrayRef<Operation *> ops) {
  Operation *first = ops.front(), *last = ops.back();
  if (llvm::all_of(ops, [&](Operation *op) {
        return llvm::all_of(getInputs(op), [&](Value operand) {
          return isAvailable(operand, first, ops);
        });
      }))
    return first;
  bool hasPlace = llvm::none_of(ops, [&](Operation *op) {
    return llvm::any_of(op->getUsers(), [&](Operation *user) {
      Operation *ancestor = last->getBlock()->findAncestorOpInBlock(*user);
      // Sizes of a transform are those of its source.
      bool isSize = isa<HadamardOp>(op) && isa<tensor::DimOp>(user);
      return !llvm::is_contained(ops, user) && !isSize && ancestor &&
             ancestor->isBeforeInBlock(last);
    });
  });
  return hasPlace ? last : nullptr;
}

/// The same, after bringing `ops` into that order.
static Operation *findPlaceOf(SmallVectorImpl<Operation *> &ops) {
  llvm::sort(ops,
             [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
  return ops.empty() ? nullptr : findPlace(ops);
}

namespace {

/// Quantizations and amaxes of one x that share a kernel, and the transforms of
/// x that some of them take.
struct Siblings {
  SmallVector<QuantizeOp> quantizes;
  SmallVector<AmaxOp> amaxes;
  llvm::SmallSetVector<Operation *, 2> transforms;

  /// Whether there is nothing to share.
  bool isAlone() const {
    return quantizes.size() + amaxes.size() < 2 && transforms.empty();
  }

  /// A quantization that needs one of the amaxes; null if none does.
  QuantizeOp findSecondPass() const {
    auto *found = llvm::find_if(quantizes, [&](QuantizeOp op) {
      return findOnePassObstacle(op, amaxes).has_value();
    });
    return found == quantizes.end() ? QuantizeOp() : *found;
  }

  Siblings takeAmaxes(OpBuilder &builder);

  SmallVector<Operation *> getOps() const {
    SmallVector<Operation *> ops(transforms.begin(), transforms.end());
    ops.append(amaxes.begin(), amaxes.end());
    ops.append(quantizes.begin(), quantizes.end());
    return ops;
  }
};

/// The amaxes, and transforms for them, which stay here only for quantizations.
Siblings Siblings::takeAmaxes(OpBuilder &builder) {
  Siblings taken;
  taken.amaxes = std::exchange(amaxes, {});
  for (Operation *transform : transforms.takeVector()) {
    if (llvm::any_of(transform->getUsers(), llvm::IsaPred<QuantizeOp>))
      transforms.insert(transform);
    if (llvm::none_of(transform->getUsers(), llvm::IsaPred<AmaxOp>))
      continue;
    Operation *forAmaxes = transform;
    if (transforms.contains(transform)) {
      builder.setInsertionPointAfter(transform);
      forAmaxes = builder.clone(*transform);
      transform->replaceUsesWithIf(forAmaxes->getResults(), [](OpOperand &use) {
        return isa<AmaxOp>(use.getOwner());
      });
    }
    taken.transforms.insert(forAmaxes);
  }
  return taken;
}

struct FormKernelsPass : public impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  void runOnOperation() override {
    OpBuilder builder(&getContext());
    if (!chip.empty()) {
      const target::Chip *found = target::findChip(chip);
      if (!found) {
        emitError(getOperation()->getLoc())
            << "expected the chip to be one of " << target::listChips()
            << ", but got '" << chip << "'";
        return signalPassFailure();
      }
      formRowPrograms(getOperation());
      if (failed(wrapSiblings(builder, *found)) ||
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
    return transforms;
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
      if (quantize)
        siblings.quantizes.push_back(quantize);
      else
        siblings.amaxes.push_back(cast<AmaxOp>(op));
      if (transform)
        siblings.transforms.insert(transform);
    }
    for (Siblings &pair : pairs)
      if (failed(wrapTogether(builder, pair.getOps())))
        return failure();
    for (auto &[key, siblings] : groups)
      if (failed(wrapPasses(builder, siblings)))
        return failure();
    return success();
  }

  /// Removes those of `ops` that cannot share a kernel.
  template <typename OpTy>
  static void dropObstacles(SmallVector<OpTy> &ops) {
    llvm::erase_if(ops, [](OpTy op) {
      std::optional<FusionObstacle> obstacle = findOneReadObstacle(op);
      if (obstacle)
        op.emitRemark() << "reads x in a kernel of its own " << *obstacle;
      return obstacle.has_value();
    });
  }

  /// Makes one kernel, or, where quantizations need amaxes of x, one of the
  /// amaxes before one of the quantizations:
  ///
  ///   %a = blockscale.amax %x
  ///   %h = blockscale.hadamard %x dim 0
  ///   %b = blockscale.amax %h
  ///   %q, %s = blockscale.quantize %x global_amax(%a)
  ///   %p, %t = blockscale.quantize %h global_amax(%b)
  /// becomes
  ///   %a, %b = blockscale.kernel ins(%x) { .. }
  ///   %q, %s, %p, %t = blockscale.kernel ins(%x, %a, %b) { .. }
  LogicalResult wrapPasses(OpBuilder &builder, Siblings &siblings) {
    bool isPair = siblings.quantizes.size() == 1 &&
                  siblings.amaxes.size() == 1 && siblings.transforms.empty();
    if (isPair && siblings.findSecondPass())
      siblings.amaxes.clear();
    if (!siblings.isAlone()) {
      dropObstacles(siblings.amaxes);
      dropObstacles(siblings.quantizes);
    }
    if (siblings.quantizes.empty() && siblings.isAlone())
      return success();
    SmallVector<Operation *> ops = siblings.getOps();
    if (siblings.amaxes.empty() || siblings.quantizes.empty())
      return wrapTogether(builder, ops);
    QuantizeOp second = siblings.findSecondPass();
    if (!second && findPlaceOf(ops)) {
      siblings.amaxes.front().emitRemark(
          "takes one pass over x: the kernel that quantizes x has it as well");
      return wrapTogether(builder, ops);
    }
    if (second)
      second.emitRemark("takes a second pass over x ")
          << *findOnePassObstacle(second, siblings.amaxes);
    else
      siblings.quantizes.front().emitRemark(
          "takes a second pass over x: expected the kernel's operands to come "
          "before the first op of x, or its results to be used after the last");
    Siblings first = siblings.takeAmaxes(builder);
    return failure(failed(wrapTogether(builder, first.getOps())) ||
                   failed(wrapTogether(builder, siblings.getOps())));
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
    return wrapInKernel(builder, all);
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
};

} // namespace
} // namespace blockscale

//===- SiblingPlan.cpp - Kernels of quantizations and amaxes --------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "Siblings.h"
#include "blockscale/Analysis/ElementwiseBody.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/Analysis/Fusion/KernelGroups.h"
#include "blockscale/Analysis/Fusion/PaddingLegality.h"
#include "blockscale/Analysis/Producers.h"

#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/ScopedPrinter.h"

using namespace mlir;

namespace blockscale {

using Obstacles = llvm::MapVector<Operation *, FusionObstacle>;

/// The most members of a group that share a kernel.
static constexpr int64_t kMostMembers = 16;

namespace {

class SiblingPlanner {
public:
  SiblingPlanner(FunctionOpInterface function, FusionDraft &draft)
      : function(function), draft(draft) {}

  void plan();

private:
  using Ops = ArrayRef<Operation *>;

  llvm::SmallPtrSet<Operation *, 8> findTransforms();
  void dropPartsOfGroups(llvm::SmallPtrSet<Operation *, 8> &transforms);
  template <typename OpTy>
  void dropObstacles(SmallVector<OpTy> &ops);
  bool takePadding(Value x, const Siblings &siblings);
  void splitPasses(Siblings &siblings);
  void choosePasses(Ops first, Ops second, Ops all);
  std::optional<FusionObstacle> findOtherUse(Operation *producer, Ops ops);
  void addJoin(SmallVectorImpl<Operation *> &ops);
  Obstacles addProducers(SmallVectorImpl<Operation *> &ops, bool isKept);
  void planMembers();
  void planGroup(ArrayRef<SmallVector<Operation *>> members);
  void planOneOrEach(ArrayRef<SmallVector<Operation *>> members);
  void planTogether(Ops ops);
  void take(Ops ops, const FusionDraft::Place &place);

  FunctionOpInterface function;
  FusionDraft &draft;
  /// What become kernels, members of groups by themselves.
  SmallVector<Siblings> passes;
  /// Ops that share a kernel with what makes their x at most.
  SmallVector<Operation *> others;
  /// What was chosen for ops of two passes.
  llvm::DenseMap<Operation *, FusionChoice> choices;
};

} // namespace

//===----------------------------------------------------------------------===//
// Ops of one x
//===----------------------------------------------------------------------===//

/// Transforms that all who use them can compute in registers.
llvm::SmallPtrSet<Operation *, 8> SiblingPlanner::findTransforms() {
  llvm::SmallPtrSet<Operation *, 8> transforms;
  for (Operation *op : draft.collectOps(function)) {
    auto hadamard = dyn_cast<HadamardOp>(op);
    if (!hadamard ||
        llvm::none_of(op->getUsers(), llvm::IsaPred<AmaxOp, QuantizeOp>))
      continue;
    if (std::optional<FusionObstacle> obstacle =
            findTransformObstacle(hadamard, draft.getOptions().transforms))
      draft.remark(op, "has a kernel of its own", *obstacle);
    else
      transforms.insert(op);
  }
  dropPartsOfGroups(transforms);
  return transforms;
}

/// A group computes the transforms of all members in registers, or of none.
void SiblingPlanner::dropPartsOfGroups(
    llvm::SmallPtrSet<Operation *, 8> &transforms) {
  auto isDropped = [&](QuantizeOp op) {
    Operation *source = op.getX().getDefiningOp<HadamardOp>();
    return source && !transforms.contains(source);
  };
  KernelGroups groups = findGroups(draft.collectOps(function));
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
        draft.remark(transform,
                     "has a kernel of its own (rht_c4): expected all members "
                     "of group \"" +
                         key.first.getValue() +
                         "\" to have theirs in registers, but number " +
                         Twine(dropped - members.begin()) + " has not");
      }
    }
}

void SiblingPlanner::plan() {
  llvm::SmallPtrSet<Operation *, 8> transforms = findTransforms();
  llvm::MapVector<std::pair<Value, Block *>, Siblings> groups;
  for (Operation *op : draft.collectOps(function)) {
    auto quantize = dyn_cast<QuantizeOp>(op);
    if (!quantize && !isa<AmaxOp>(op))
      continue;
    Value x = op->getOperand(0);
    Operation *transform = x.getDefiningOp();
    if (!transforms.contains(transform))
      transform = nullptr;
    else
      x = cast<HadamardOp>(transform).getX();
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
  for (auto &[key, siblings] : groups)
    if (!takePadding(key.first, siblings))
      splitPasses(siblings);
  planMembers();
  for (Operation *op : others) {
    auto amax = dyn_cast<AmaxOp>(op);
    if (!amax || !findOneReadObstacle(amax))
      planTogether(op);
  }
}

/// Moves those of `ops` that cannot share a kernel to `others`.
template <typename OpTy>
void SiblingPlanner::dropObstacles(SmallVector<OpTy> &ops) {
  llvm::erase_if(ops, [&](OpTy op) {
    std::optional<FusionObstacle> obstacle = findOneReadObstacle(op);
    if (obstacle) {
      draft.remark(op, "reads x in a kernel of its own", *obstacle);
      others.push_back(op);
    }
    return obstacle.has_value();
  });
}

/// Plans one kernel of quantizations and of what pads their x, if it can be
/// one:
///
///   %p, %e = blockscale.pad_groups %x offsets(%o)
///   %q, %s = blockscale.quantize %p offsets(%e)
/// becomes
///   %q, %s, %e = blockscale.kernel ins(%x, %o) { .. }
bool SiblingPlanner::takePadding(Value x, const Siblings &siblings) {
  auto padding = x.getDefiningOp<PadGroupsOp>();
  if (!padding)
    return false;
  if (std::optional<FusionObstacle> obstacle = findPaddingObstacle(padding)) {
    draft.remark(padding, "has a kernel of its own", *obstacle);
    return false;
  }
  SmallVector<Operation *> ops = siblings.getOps();
  // A transform with a kernel of its own reads the padded rows from memory.
  if (llvm::any_of(padding.getPadded().getUsers(), [&](Operation *user) {
        return isa<HadamardOp>(user) && !siblings.transforms.contains(user);
      }))
    return false;
  ops.push_back(padding);
  FusionDraft::Place place = draft.findPlace(ops);
  if (!place) {
    draft.remark(padding,
                 "has a kernel of its own: expected the operands of what "
                 "quantizes the padded rows to come before, or its results to "
                 "be used after it");
    return false;
  }
  take(ops, place);
  return true;
}

//===----------------------------------------------------------------------===//
// One pass over x, or two
//===----------------------------------------------------------------------===//

/// Adds what becomes one kernel, or, where quantizations need amaxes of x, one
/// of the amaxes before one of the quantizations:
///
///   %a = blockscale.amax %x
///   %h = blockscale.hadamard %x dim 0
///   %b = blockscale.amax %h
///   %q, %s = blockscale.quantize %x global_amax(%a)
///   %p, %t = blockscale.quantize %h global_amax(%b)
/// becomes
///   %a, %b = blockscale.kernel ins(%x) { .. }
///   %q, %s, %p, %t = blockscale.kernel ins(%x, %a, %b) { .. }
void SiblingPlanner::splitPasses(Siblings &siblings) {
  bool isPair = siblings.quantizes.size() == 1 && siblings.amaxes.size() == 1 &&
                siblings.transforms.empty();
  if (!siblings.group &&
      (siblings.isAlone() || (isPair && siblings.findSecondPass()))) {
    if (isPair && !findOneReadObstacle(siblings.amaxes.front())) {
      Operation *amax = siblings.amaxes.front();
      Operation *quantize = siblings.quantizes.front();
      choosePasses(amax, quantize, {amax, quantize});
    }
    llvm::append_range(others, siblings.getOps());
    return;
  }
  dropObstacles(siblings.amaxes);
  dropObstacles(siblings.quantizes);
  if (siblings.amaxes.empty() || siblings.quantizes.empty()) {
    passes.push_back(siblings);
    return;
  }
  QuantizeOp second = siblings.findSecondPass();
  SmallVector<Operation *> all = siblings.getOps();
  if (!second && draft.findPlace(all)) {
    draft.remark(
        siblings.amaxes.front(),
        "takes one pass over x: the kernel that quantizes x has it as well");
    passes.push_back(siblings);
    return;
  }
  if (second)
    draft.remark(second, "takes a second pass over x",
                 *findOnePassObstacle(second, siblings.amaxes));
  else
    draft.remark(
        siblings.quantizes.front(),
        "takes a second pass over x: expected the kernel's operands to come "
        "before the first op of x, or its results to be used after the last");
  Siblings first = siblings.takeAmaxes(draft);
  // The kernels of a group do not compute the elementwise ops that make x.
  if (!siblings.group)
    choosePasses(first.getOps(), siblings.getOps(), all);
  passes.push_back(first);
  passes.push_back(siblings);
}

/// Chooses what the ops of two passes do about elementwise ops that make x, of
/// which the first one gets copies where both compute them. `all` are those
/// ops, each once.
void SiblingPlanner::choosePasses(Ops first, Ops second, Ops all) {
  llvm::SmallSetVector<Operation *, 8> both(first.begin(), first.end());
  both.insert_range(second);
  SmallVector<Operation *> ops = both.takeVector();
  size_t count = ops.size();
  addProducers(ops, /*isKept=*/false);
  SmallVector<Operation *> producers(llvm::drop_begin(ops, count));
  if (producers.empty())
    return;
  SmallVector<Operation *> apart(all);
  llvm::append_range(apart, producers);
  FusionChoice choice(draft.getModel(), draft.getOptions().recompute, producers,
                      first, second, apart);
  if (choice.isRecomputed()) {
    SmallVector<Operation *> readers(first);
    llvm::erase_if(
        readers, [&](Operation *op) { return llvm::is_contained(second, op); });
    for (Operation *op : producers)
      draft.copyFor(op, readers);
  }
  for (Ops pass : {first, second})
    for (Operation *op : pass)
      choices.try_emplace(op, choice);
}

/// Why a kernel of `ops` has to keep what `producer` makes, which a copy in it
/// and the op itself in another one read.
std::optional<FusionObstacle> SiblingPlanner::findOtherUse(Operation *producer,
                                                           Ops ops) {
  for (Operation *user : producer->getUsers())
    if (draft.isReadElsewhere(producer, user, ops))
      return FusionObstacle{"producer_c6", "all uses to be in one kernel",
                            "'" + user->getName().getStringRef().str() + "'"};
  return std::nullopt;
}

/// Why a kernel that takes blocks without the rows that they are parts of
/// cannot compute what `producer` makes.
static std::optional<FusionObstacle>
findRowObstacle(linalg::LinalgOp producer, ArrayRef<Operation *> ops) {
  bool hasRows = llvm::none_of(ops, [](Operation *op) {
    auto quantize = dyn_cast<QuantizeOp>(op);
    return quantize && takesBlocks(quantize);
  });
  if (hasRows)
    return std::nullopt;
  for (OpOperand *input : producer.getDpsInputOperands()) {
    AffineMap map = producer.getMatchingIndexingMap(input);
    if (isa<ShapedType>(input->get().getType()) &&
        getSpread(map) != Spread::Elements && !getUniformConstant(input->get()))
      return FusionObstacle{"producer_c7",
                            "inputs of each element for a quantization of rows "
                            "of a dynamic length",
                            llvm::to_string(map)};
  }
  return std::nullopt;
}

/// Adds to `ops`, those of one x, what lays x together of tensors side by side,
/// if their threads have fragments of x:
///
///   %x = tensor.concat dim(1) %a, %b
///   %q, %s = blockscale.quantize %x
///   %p, %t = blockscale.quantize %x
/// becomes
///   %q, %s, %p, %t = blockscale.kernel ins(%a, %b) { .. }
void SiblingPlanner::addJoin(SmallVectorImpl<Operation *> &ops) {
  if (chooseFamily(ops) != KernelFamily::Strips)
    return;
  for (size_t i = 0, count = ops.size(); i < count; ++i) {
    auto join = ops[i]->getOperand(0).getDefiningOp<tensor::ConcatOp>();
    if (!join || llvm::is_contained(ops, join))
      continue;
    if (std::optional<FusionObstacle> obstacle = findJoinObstacle(join, ops))
      draft.remark(join, "is not laid together where it is read", *obstacle);
    else
      ops.push_back(join);
  }
}

/// Adds to `ops` the elementwise ops of their block that make what they read,
/// those whose results others need, too, if the kernel may keep them. Returns
/// why others are not among them.
Obstacles SiblingPlanner::addProducers(SmallVectorImpl<Operation *> &ops,
                                       bool isKept) {
  Obstacles obstacles;
  bool hasAdded = true;
  while (std::exchange(hasAdded, false)) {
    obstacles.clear();
    for (size_t i = 0; i < ops.size(); ++i) {
      for (Value input : getInputs(ops[i])) {
        auto producer = input.getDefiningOp<linalg::LinalgOp>();
        if (!producer || llvm::is_contained(ops, producer) ||
            (draft.isTaken(producer) && !draft.isCopy(producer, ops)))
          continue;
        std::optional<FusionObstacle> obstacle =
            findProducerObstacle(producer, ops, isKept, [&](Operation *user) {
              return draft.isUse(producer, user, ops);
            });
        if (!obstacle && !isKept)
          obstacle = findOtherUse(producer, ops);
        if (!obstacle)
          obstacle = findRowObstacle(producer, ops);
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

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// Plans a kernel for each pass, or one for those of the members of a group
/// that fit each other.
void SiblingPlanner::planMembers() {
  llvm::MapVector<std::tuple<StringAttr, Block *, int>,
                  SmallVector<SmallVector<Operation *>>>
      members;
  for (const Siblings &pass : passes) {
    SmallVector<Operation *> ops = pass.getOps();
    if (ops.empty())
      continue;
    llvm::sort(
        ops, [](Operation *a, Operation *b) { return a->isBeforeInBlock(b); });
    if (pass.group)
      members[{pass.group, ops.front()->getBlock(), pass.pass}].push_back(ops);
    else
      planTogether(ops);
  }
  for (auto &[key, group] : members)
    planGroup(group);
}

/// Kernels of up to `kMostMembers` of those members that fit the first one.
void SiblingPlanner::planGroup(ArrayRef<SmallVector<Operation *>> members) {
  SmallVector<SmallVector<SmallVector<Operation *>>> kernels, apart;
  for (Ops ops : members) {
    if (std::optional<FusionObstacle> obstacle =
            findGroupObstacle(members.front(), ops)) {
      draft.remark(ops.front(), "has a kernel apart from its group", *obstacle);
      apart.emplace_back().emplace_back(ops);
      continue;
    }
    if (kernels.empty() || kernels.back().size() == kMostMembers)
      kernels.emplace_back();
    kernels.back().emplace_back(ops);
  }
  llvm::append_range(kernels, apart);
  for (const auto &together : kernels)
    planOneOrEach(together);
}

/// One kernel of all members, or one of each.
void SiblingPlanner::planOneOrEach(ArrayRef<SmallVector<Operation *>> members) {
  SmallVector<Operation *> all;
  for (Ops ops : members)
    llvm::append_range(all, ops);
  if (members.size() > 1) {
    if (FusionDraft::Place place = draft.findPlace(all))
      return take(all, place);
    draft.remark(all.back(), "has a kernel apart from its group: expected the "
                             "operands of members to "
                             "come before the first one, or their results to "
                             "be used after the last");
  }
  for (Ops ops : members)
    planTogether(ops);
}

/// Plans one kernel for `ops`, if they are several or elementwise ops make what
/// they read, with as many of these as have a place.
void SiblingPlanner::planTogether(Ops ops) {
  bool mayKeep = llvm::none_of(ops, [](Operation *op) {
    // Rows of no group are not computed.
    auto quantize = dyn_cast<QuantizeOp>(op);
    return quantize && quantize.getOffsets();
  });
  SmallVector<Operation *> joined(ops);
  addJoin(joined);
  SmallVector<Operation *> all(joined);
  Obstacles obstacles = addProducers(all, mayKeep);
  FusionDraft::Place place = draft.findPlace(all);
  if (!place && mayKeep) {
    all = joined;
    obstacles = addProducers(all, /*isKept=*/false);
    place = draft.findPlace(all);
  }
  if (!place && all.size() > ops.size()) {
    draft.remark(
        ops.back(),
        "reads what another kernel makes: expected its operands to come before "
        "the ops that make x, or these to be used after it");
    all.assign(ops.begin(), ops.end());
    place = draft.findPlace(all);
  }
  for (auto &[producer, obstacle] : obstacles)
    draft.remark(producer, "is not computed where it is read", obstacle);
  if (all.size() < 2)
    return;
  if (!place) {
    draft.remark(
        all.back(),
        "reads x in a kernel of its own: expected its operands to come before "
        "the first quantization of x, or the results of the others to be used "
        "after it");
    return;
  }
  take(all, place);
}

void SiblingPlanner::take(Ops ops, const FusionDraft::Place &place) {
  const auto *chosen =
      llvm::find_if(ops, [&](Operation *op) { return choices.contains(op); });
  draft.take(ops, place,
             chosen != ops.end()
                 ? choices.find(*chosen)->second
                 : FusionChoice(draft.getModel(), ops, draft.getResults(ops)));
}

void planSiblings(FunctionOpInterface function, FusionDraft &draft) {
  SiblingPlanner(function, draft).plan();
}

} // namespace blockscale

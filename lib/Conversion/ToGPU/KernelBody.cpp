//===- KernelBody.cpp - What kernels can have inside ----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "KernelBody.h"
#include "DeviceEmission/ElementSource.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/Fusion/PaddingLegality.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/IR/GlobalChain.h"

#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace blockscale {

LogicalResult verifyOperands(const KernelBody &body) {
  for (Operation *op : body.others)
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (definition && !isProduct(definition) &&
          !isa<linalg::LinalgOp, HadamardOp, PadGroupsOp>(definition) &&
          !llvm::is_contained(body.joins, definition) &&
          !llvm::is_contained(body.globals, definition))
        return op->emitOpError("expected operands that are inputs of the "
                               "kernel, or of other ops that compute, on this "
                               "target, but got one of '")
               << definition->getName() << "'";
    }
  return success();
}

/// The tensor that a quantization, amax or transform of a kernel reads,
/// directly or through a transform before it, or that a padding makes for
/// these; null for other ops.
static Value getSource(Operation *op) {
  if (auto padding = dyn_cast<PadGroupsOp>(op))
    return padding.getPadded();
  if (!isa<AmaxOp, AmaxPartsOp, HadamardOp, QuantizeOp>(op))
    return {};
  Value x = op->getOperand(0);
  auto hadamard = x.getDefiningOp<HadamardOp>();
  return hadamard && !isa<HadamardOp>(op) ? hadamard.getX() : x;
}

/// The values that `ops` read, some through transforms of them, each once.
static SmallVector<Value> getSources(ArrayRef<Operation *> ops) {
  llvm::SmallSetVector<Value, 2> sources;
  for (Operation *op : ops)
    sources.insert(getSource(op));
  return sources.takeVector();
}

/// Whether exactly `producers` make `values`, or the tensors that lie side by
/// side in these, from arguments of their kernel.
static bool areMadeBy(ArrayRef<Value> values, ArrayRef<Operation *> producers) {
  llvm::SmallPtrSet<Operation *, 4> ops;
  for (Value x : values) {
    // Only memory is padded.
    if (!x || x.getDefiningOp<PadGroupsOp>())
      continue;
    for (Value part : getSideBySide(x)) {
      ElementSource source(part);
      if (!source.readsArguments())
        return false;
      for (linalg::LinalgOp op : source.getOps())
        ops.insert(op);
    }
  }
  return ops.size() == producers.size() &&
         llvm::all_of(producers,
                      [&](Operation *op) { return ops.contains(op); });
}

LogicalResult verifyProducers(KernelOp kernel, const KernelBody &body) {
  if (failed(verifyOperands(body)))
    return failure();
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  SmallVector<Operation *> users(body.producers);
  llvm::append_range(users, body.others);
  llvm::append_range(users, body.joins);
  users.push_back(yield);
  for (Operation *producer : body.producers)
    if (std::optional<FusionObstacle> obstacle =
            findProducerObstacle(cast<linalg::LinalgOp>(producer), users,
                                 /*isKept=*/true))
      return producer->emitOpError()
             << "does not share its kernel " << *obstacle;
  if (body.producers.empty())
    return success();
  SmallVector<Value> made = getSources(body.others);
  if (body.others.empty() && yield.getNumOperands() == 1)
    made.push_back(yield.getOperand(0));
  if (!areMadeBy(made, body.producers))
    return body.producers.front()->emitOpError(
        "expected elementwise ops of a kernel to make what its other ops read, "
        "or its result, from inputs of the kernel");
  return success();
}

/// Emits an error where a kernel of strips cannot take x from the tensors that
/// `joins` lay side by side.
static LogicalResult verifyJoins(const KernelBody &body) {
  for (Operation *op : body.joins) {
    auto join = cast<tensor::ConcatOp>(op);
    if (std::optional<FusionObstacle> obstacle =
            findJoinObstacle(join, body.others))
      return join.emitOpError() << "does not share its kernel " << *obstacle;
    for (Value part : join.getInputs())
      if (Operation *definition = part.getDefiningOp();
          definition && !isa<linalg::LinalgOp>(definition))
        return join.emitOpError("expected tensors that are inputs of the "
                                "kernel, or that elementwise ops of it make, "
                                "but got one of '")
               << definition->getName() << "'";
  }
  return success();
}

/// Why `op`, one of `ops` of one x, cannot be in a strip kernel.
static std::optional<FusionObstacle>
findSharingObstacle(Operation *op, ArrayRef<Operation *> ops) {
  if (auto quantize = dyn_cast<QuantizeOp>(op)) {
    // Blocks of several rows have no other kernel.
    size_t paddings = llvm::count_if(ops, llvm::IsaPred<PadGroupsOp>);
    if (ops.size() == paddings + 1 && !quantize.hasRowBlocks())
      return std::nullopt;
    return findOneReadObstacle(quantize);
  }
  if (auto amax = dyn_cast<AmaxOp>(op))
    return findOneReadObstacle(amax);
  if (auto padding = dyn_cast<PadGroupsOp>(op))
    return findPaddingObstacle(padding);
  if (auto parts = dyn_cast<AmaxPartsOp>(op))
    return findOneReadObstacle(parts);
  return findTransformObstacle(cast<HadamardOp>(op));
}

static StripMember getMember(ArrayRef<Operation *> ops) {
  StripMember member;
  for (Operation *op : ops)
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      member.quantizes.push_back(quantize);
    else if (auto amax = dyn_cast<AmaxOp>(op))
      member.amaxes.push_back(amax);
    else if (auto parts = dyn_cast<AmaxPartsOp>(op))
      member.parts.push_back(parts);
  return member;
}

/// Whether a kernel has code for the x of `ops` alone: it pads, computes or
/// lays x together, computes a global operand, decodes what it quantizes, or
/// stores parts of amaxes.
static bool hasCodeOfItsOwn(Value x, ArrayRef<Operation *> ops) {
  return x.getDefiningOp() || llvm::any_of(ops, [](Operation *op) {
           auto quantize = dyn_cast<QuantizeOp>(op);
           return isa<AmaxPartsOp>(op) ||
                  (quantize && (findDecoder(quantize) ||
                                !GlobalChain::find(quantize).isEmpty()));
         });
}

/// Emits an error where `op`, of x that a kernel pads, has ends of groups that
/// the kernel computes for another x: other CTAs store these.
static LogicalResult verifyEnds(Operation *op) {
  auto quantize = dyn_cast<QuantizeOp>(op);
  Value offsets = quantize ? quantize.getOffsets() : Value();
  auto padding = offsets ? offsets.getDefiningOp<PadGroupsOp>() : PadGroupsOp();
  if (!padding || padding == getPadding(quantize.getX()))
    return success();
  return op->emitOpError("expected ends of groups that are an input of the "
                         "kernel, or those of the groups that it pads for x, "
                         "but got those of others");
}

FailureOr<SmallVector<StripMembers>> findStripMembers(KernelOp kernel) {
  KernelBody body(kernel);
  if (failed(verifyProducers(kernel, body)) || failed(verifyJoins(body)))
    return failure();
  llvm::MapVector<Value, SmallVector<Operation *>> opsOf;
  for (Operation *op : body.others) {
    Value source = getSource(op);
    auto padding = source ? source.getDefiningOp<PadGroupsOp>() : PadGroupsOp();
    bool isKnown =
        isa_and_present<BlockArgument>(padding ? padding.getX() : source) ||
        (source && isa_and_present<linalg::LinalgOp, tensor::ConcatOp>(
                       source.getDefiningOp()));
    if (!isKnown)
      return op->emitOpError("expected a kernel of several ops to be "
                             "quantizations and amaxes of inputs or of "
                             "transforms of them on this target");
    if (failed(verifyEnds(op)))
      return failure();
    opsOf[source].push_back(op);
  }
  SmallVector<StripMembers> sets;
  // The ops of the first member of each set.
  SmallVector<ArrayRef<Operation *>> firsts;
  for (const auto &[x, ops] : opsOf) {
    for (Operation *op : ops) {
      if (std::optional<FusionObstacle> obstacle = findSharingObstacle(op, ops))
        return op->emitOpError() << "does not share its kernel " << *obstacle;
    }
    StripMember member = getMember(ops);
    if (member.quantizes.empty() && member.amaxes.empty() &&
        member.parts.empty())
      return ops.front()->emitOpError(
          "expected a transform whose result is quantized, or reduced to an "
          "amax, in its kernel, but got one that nothing reads");
    auto *alike = llvm::find_if(
        firsts, [&, &x = x, &ops = ops](ArrayRef<Operation *> first) {
          return !hasCodeOfItsOwn(x, ops) &&
                 !hasCodeOfItsOwn(getSource(first.front()), first) &&
                 !findGroupObstacle(first, ops);
        });
    if (alike == firsts.end()) {
      firsts.push_back(ops);
      sets.push_back({member});
    } else {
      sets[alike - firsts.begin()].push_back(member);
    }
  }
  for (Operation *op : body.others)
    if (std::optional<FusionObstacle> obstacle = findBesideObstacle(op);
        obstacle && sets.size() > 1)
      return op->emitOpError() << "does not share its kernel " << *obstacle;
  return sets;
}

} // namespace blockscale

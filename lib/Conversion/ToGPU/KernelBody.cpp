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

using namespace mlir;

namespace blockscale {

LogicalResult verifyOperands(const KernelBody &body) {
  for (Operation *op : body.others)
    for (Value operand : op->getOperands()) {
      Operation *definition = operand.getDefiningOp();
      if (definition && !isProduct(definition) &&
          !isa<linalg::LinalgOp, HadamardOp, PadGroupsOp>(definition) &&
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
  if (!isa<AmaxOp, HadamardOp, QuantizeOp>(op))
    return {};
  Value x = op->getOperand(0);
  auto hadamard = x.getDefiningOp<HadamardOp>();
  return hadamard && !isa<HadamardOp>(op) ? hadamard.getX() : x;
}

/// The value that all of `ops` read, some through a transform of it; null if
/// they read several.
static Value getCommonSource(ArrayRef<Operation *> ops) {
  Value x = getSource(ops.front());
  return llvm::all_of(ops, [&](Operation *op) { return getSource(op) == x; })
             ? x
             : Value();
}

LogicalResult verifyProducers(KernelOp kernel, const KernelBody &body) {
  if (failed(verifyOperands(body)))
    return failure();
  auto yield = cast<YieldOp>(kernel.getBody().front().getTerminator());
  SmallVector<Operation *> users(body.producers);
  llvm::append_range(users, body.others);
  users.push_back(yield);
  for (Operation *producer : body.producers)
    if (std::optional<FusionObstacle> obstacle =
            findProducerObstacle(cast<linalg::LinalgOp>(producer), users,
                                 /*isKept=*/true))
      return producer->emitOpError()
             << "does not share its kernel " << *obstacle;
  if (body.producers.empty())
    return success();
  Value x = body.others.empty() ? Value() : getCommonSource(body.others);
  if (body.others.empty() && yield.getNumOperands() == 1)
    x = yield.getOperand(0);
  bool isMade = x && ElementSource(x).makes(body.producers);
  if (!isMade)
    return body.producers.front()->emitOpError(
        "expected elementwise ops of a kernel to make what its other ops read, "
        "or its result, from inputs of the kernel");
  return success();
}

/// Why `op` cannot be in a strip kernel.
static std::optional<FusionObstacle>
findSharingObstacle(Operation *op, const KernelBody &body) {
  if (auto quantize = dyn_cast<QuantizeOp>(op)) {
    // Blocks of several rows have no other kernel.
    size_t paddings = llvm::count_if(body.others, llvm::IsaPred<PadGroupsOp>);
    if (body.others.size() == paddings + 1 && !quantize.hasRowBlocks())
      return std::nullopt;
    return findOneReadObstacle(quantize);
  }
  if (auto amax = dyn_cast<AmaxOp>(op))
    return findOneReadObstacle(amax);
  if (auto padding = dyn_cast<PadGroupsOp>(op))
    return findPaddingObstacle(padding);
  return findTransformObstacle(cast<HadamardOp>(op));
}

static StripMember getMember(ArrayRef<Operation *> ops) {
  StripMember member;
  for (Operation *op : ops)
    if (auto quantize = dyn_cast<QuantizeOp>(op))
      member.quantizes.push_back(quantize);
    else if (auto amax = dyn_cast<AmaxOp>(op))
      member.amaxes.push_back(amax);
  return member;
}

FailureOr<SmallVector<StripMember>> findStripMembers(KernelOp kernel) {
  KernelBody body(kernel);
  if (failed(verifyProducers(kernel, body)))
    return failure();
  llvm::MapVector<Value, SmallVector<Operation *>> opsOf;
  for (Operation *op : body.others) {
    Value source = getSource(op);
    auto padding = source ? source.getDefiningOp<PadGroupsOp>() : PadGroupsOp();
    bool isKnown =
        isa_and_present<BlockArgument>(padding ? padding.getX() : source) ||
        (source && source.getDefiningOp<linalg::LinalgOp>());
    if (!isKnown)
      return op->emitOpError("expected a kernel of several ops to be "
                             "quantizations and amaxes of inputs or of "
                             "transforms of them on this target");
    opsOf[source].push_back(op);
  }
  SmallVector<StripMember> members;
  for (const auto &[x, ops] : opsOf) {
    std::optional<FusionObstacle> obstacle;
    if (opsOf.size() > 1)
      obstacle = findGroupObstacle(opsOf.front().second, ops);
    if (opsOf.size() > 1 && llvm::any_of(ops, llvm::IsaPred<PadGroupsOp>))
      obstacle = FusionObstacle{"pad_c2", "quantizations of one tensor",
                                "of " + std::to_string(opsOf.size())};
    for (Operation *op : ops) {
      if (!obstacle)
        obstacle = findSharingObstacle(op, body);
      if (obstacle)
        return op->emitOpError() << "does not share its kernel " << *obstacle;
    }
    const StripMember &member = members.emplace_back(getMember(ops));
    if (member.quantizes.empty() && member.amaxes.empty())
      return ops.front()->emitOpError(
          "expected a transform whose result is quantized, or reduced to an "
          "amax, in its kernel, but got one that nothing reads");
  }
  return members;
}

} // namespace blockscale

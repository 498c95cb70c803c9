//===- FormKernels.cpp - Make the kernels of a plan -----------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "FusionRecord.h"
#include "KernelWrapping.h"
#include "RowPrograms.h"
#include "blockscale/Analysis/Fusion/AmaxSplit.h"
#include "blockscale/Analysis/Fusion/FusionPlan.h"
#include "blockscale/Analysis/Fusion/KernelGroups.h"
#include "blockscale/Analysis/Fusion/PaddingLegality.h"
#include "blockscale/IR/PassOptions.h"
#include "blockscale/IR/TypeRules.h"
#include "blockscale/Transforms/Passes.h"

#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;

namespace blockscale {

#define GEN_PASS_DEF_FORMKERNELS
#include "blockscale/Transforms/Passes.h.inc"

/// Gives the readers of ops that two kernels compute copies of these.
static IRMapping makeCopies(FunctionOpInterface function,
                            const FusionPlan &plan) {
  SmallVector<Operation *> ops;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (plan.copies.contains(op))
      ops.push_back(op);
  });
  IRMapping copies;
  OpBuilder builder(function->getContext());
  for (Operation *op : ops) {
    builder.setInsertionPointAfter(op);
    builder.clone(*op, copies);
  }
  for (const auto &[op, readers] : plan.copies)
    for (Operation *reader : readers)
      for (OpOperand &operand : reader->getOpOperands())
        if (operand.get().getDefiningOp() == op)
          operand.set(copies.lookup(operand.get()));
  return copies;
}

/// Computes an amax in two ops, of which a kernel each has one:
///
///   %a = blockscale.amax %x
/// becomes
///   %p = blockscale.amax_parts %x
///   %a = blockscale.amax %p
static AmaxPartsOp splitAmax(AmaxOp amax) {
  OpBuilder builder(amax);
  auto type = RankedTensorType::get({1, kAmaxParts}, builder.getF32Type());
  auto parts = AmaxPartsOp::create(builder, amax.getLoc(), type, amax.getX());
  amax.getXMutable().assign(parts.getParts());
  return parts;
}

/// Splits the amaxes that `plan` has in parts. The kernel that quantizes has
/// the amax, and the one before it, which has no quantization, the parts.
static void splitAmaxes(FusionPlan &plan) {
  for (AmaxOp amax : plan.inParts) {
    Operation *parts = splitAmax(amax);
    auto replaceIn = [&](SmallVectorImpl<Operation *> &ops) {
      llvm::replace(ops, amax.getOperation(), parts);
    };
    for (PlannedKernel &kernel : plan.kernels) {
      if (llvm::any_of(kernel.ops, llvm::IsaPred<QuantizeOp>))
        continue;
      replaceIn(kernel.ops);
      llvm::replace(kernel.results, Value(amax.getAmax()),
                    Value(parts->getResult(0)));
      if (kernel.place == amax)
        kernel.place = parts;
    }
    for (auto &[op, readers] : plan.copies)
      replaceIn(readers);
  }
}

/// Lets a quantization of padded rows take the ends that their own padding
/// gives, where those that it has are the same, from the padding of other rows:
///
///   %p, %e = blockscale.pad_groups %x offsets(%o) unit 32
///   %r, %f = blockscale.pad_groups %y offsets(%o) unit 32
///   %q, %s = blockscale.quantize %r offsets(%e)
/// becomes
///   %q, %s = blockscale.quantize %r offsets(%f)
static void takeOwnEnds(QuantizeOp quantize) {
  Value offsets = quantize.getOffsets();
  auto others = offsets ? offsets.getDefiningOp<PadGroupsOp>() : PadGroupsOp();
  PadGroupsOp own = getPadding(quantize.getX());
  if (own && others && !quantize->getParentOfType<KernelOp>() &&
      own.getOffsets() == others.getOffsets() &&
      own.getUnit() == others.getUnit())
    quantize.getOffsetsMutable().assign(own.getEnds());
}

/// Wraps the ops of a kernel, or their copies.
static LogicalResult makeKernel(const PlannedKernel &planned,
                                const IRMapping &copies) {
  auto getOp = [&](Operation *op) {
    return planned.copied.contains(op) ? copies.lookup(op) : op;
  };
  auto ops = llvm::map_to_vector(planned.ops, getOp);
  auto results =
      llvm::map_to_vector(planned.results, [&](Value value) -> Value {
        auto result = cast<OpResult>(value);
        return getOp(result.getOwner())->getResult(result.getResultNumber());
      });
  FailureOr<KernelOp> kernel;
  if (planned.family == KernelFamily::Program)
    kernel = wrapRowProgram(ops, results);
  else
    kernel = wrapInKernel(ops, results, getOp(planned.place));
  if (failed(kernel))
    return failure();
  kernel->setFamily(planned.family);
  if (planned.choice)
    recordChoice(*kernel, *planned.choice);
  return success();
}

namespace {

struct FormKernelsPass : public impl::FormKernelsBase<FormKernelsPass> {
  using FormKernelsBase::FormKernelsBase;

  LogicalResult initialize(MLIRContext *context) override {
    return verifyDynamicSizesOption(context, dynamicSizes);
  }

  void runOnOperation() override {
    if (failed(verifyGroups(collectOps(getOperation()))))
      return signalPassFailure();
    FusionOptions options{target::findChip(chip), fuse, recompute, transforms,
                          llvm::to_vector(dynamicSizes)};
    auto emitError = [&] { return getOperation()->emitError(); };
    if (!chip.empty() && failed(verifyChip(emitError, chip)))
      return signalPassFailure();
    if (options.chip && fuse)
      getOperation()->walk(takeOwnEnds);
    for (AmaxOp amax : findSplitAmaxes(getOperation(), options))
      splitAmax(amax);
    FusionPlan plan = planFusion(getOperation(), options);
    splitAmaxes(plan);
    if (failed(apply(plan)))
      signalPassFailure();
  }

private:
  LogicalResult apply(const FusionPlan &plan) {
    for (const FusionRemark &remark : plan.remarks)
      if (remark.isPlain)
        remarkPlain(remark.op, remark.text);
      else
        remark.op->emitRemark(remark.text);
    IRMapping copies = makeCopies(getOperation(), plan);
    for (const PlannedKernel &kernel : plan.kernels)
      if (failed(makeKernel(kernel, copies)))
        return failure();
    for (Operation *op : plan.unneeded) {
      if (Value source = getUnchangedSource(op))
        op->replaceAllUsesWith(ValueRange(source));
      op->erase();
    }
    return success();
  }
};

} // namespace
} // namespace blockscale

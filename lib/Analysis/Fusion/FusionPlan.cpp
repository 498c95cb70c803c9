//===- FusionPlan.cpp - What runs as one kernel, and why ------------------===//
//
// Part of the BlockScale project, under the Apache License v2.0 with LLVM
// Exceptions. SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
//
//===----------------------------------------------------------------------===//

#include "blockscale/Analysis/Fusion/FusionPlan.h"
#include "BesidePlan.h"
#include "FusionDraft.h"
#include "GlobalChains.h"
#include "RowProgramPlan.h"
#include "Siblings.h"
#include "blockscale/Analysis/Epilogue.h"
#include "blockscale/Analysis/Fusion/KernelFamily.h"
#include "blockscale/Analysis/OnlyUser.h"
#include "blockscale/Analysis/PrepackedCodes.h"
#include "blockscale/Analysis/Producers.h"
#include "blockscale/Analysis/RoundTrip.h"
#include "blockscale/IR/TypeRules.h"

using namespace mlir;

namespace blockscale {

/// Whether a product has a kernel of its own rather than one of two products.
/// CTAs of plain products on Hopper share rows of A, but not where a kernel has
/// two of them (docs/Products.md). Where other ops read the results, too, these
/// are stored in any case, and an elementwise op of both reads them where it is
/// quantized.
static bool isAlone(Operation *op, const target::Chip &chip) {
  auto product = dyn_cast<ProductOpInterface>(op);
  return product && chip.hasWgmma() && !product.getScaleA() &&
         !product.getScaleB() && !getOnlyUser(op->getResult(0));
}

/// Plans kernels for products with what follows them:
///
///   %g = blockscale.scaled_mm %a, %w ..
///   %q, %s = blockscale.quantize %g ..
/// becomes
///   %q, %s = blockscale.kernel ins(%a, %w) { .. }
static void planEpilogues(FunctionOpInterface function,
                          const target::Chip &chip, FusionDraft &draft) {
  for (Operation *product : draft.collectOps(function)) {
    if (!isProduct(product) || draft.isTaken(product))
      continue;
    std::optional<FusionObstacle> obstacle;
    Epilogue epilogue = findEpilogue(product, obstacle, [&](Operation *op) {
      return draft.isTaken(op) || (op != product && isAlone(op, chip));
    });
    if (obstacle)
      draft.remark(product, "is not computed with what follows", *obstacle);
    if (epilogue.moveObstacle)
      draft.remark(product, "reads or writes copies whose rows are moved",
                   *epilogue.moveObstacle);
    if (epilogue.isEmpty() && !epilogue.hasMoves())
      continue;
    SmallVector<Operation *> ops = epilogue.getOps();
    FusionDraft::Place place = draft.findPlace(ops);
    if (!place) {
      draft.remark(
          product,
          "is not computed with what follows: expected its operands to come "
          "before the first product, or the results to be used after the last "
          "op");
      continue;
    }
    draft.take(ops, place);
  }
}

/// Plans kernels for elementwise ops that make what no kernel computes for
/// itself.
static void planElementwise(FunctionOpInterface function, FusionDraft &draft) {
  SmallVector<linalg::LinalgOp> ops;
  function->walk<WalkOrder::PreOrder>([&](Operation *op) {
    auto producer = dyn_cast<linalg::LinalgOp>(op);
    if (producer && !draft.isTaken(op))
      ops.push_back(producer);
    return isa<KernelOp, linalg::LinalgOp>(op) ? WalkResult::skip()
                                               : WalkResult::advance();
  });
  for (linalg::LinalgOp op : ops)
    if (std::optional<FusionObstacle> obstacle = findElementwiseObstacle(op))
      draft.remarkPlain(op, *obstacle);
    else
      draft.take(op.getOperation(), {op, {}});
}

/// Lets kernels that quantize decode what they quantize:
///
///   %q, %s = blockscale.quantize %x ..
///   %v = blockscale.dequantize %q, %s ..
/// becomes
///   %v = blockscale.kernel ins(%x) { .. }
static void planRoundTrips(FunctionOpInterface function, FusionDraft &draft) {
  for (Operation *op : draft.collectOps(function)) {
    auto dequantize = dyn_cast<DequantizeOp>(op);
    QuantizeOp quantize = dequantize ? dequantize.getQuantizer() : QuantizeOp();
    if (!quantize)
      continue;
    const PlannedKernel *kernel = draft.findKernel(quantize);
    KernelFamily family =
        kernel ? *kernel->family : chooseFamily(quantize.getOperation());
    SmallVector<Operation *> alone = {quantize};
    if (std::optional<FusionObstacle> obstacle = findRoundTripObstacle(
            quantize, dequantize, family, kernel ? kernel->ops : alone))
      draft.remark(op, "is not computed where x is quantized", *obstacle);
    else if (kernel)
      draft.extend(quantize, op);
    else
      draft.take({quantize, op}, {quantize, {}});
  }
}

/// Lets kernels that quantize store codes prepacked:
///
///   %q, %s = blockscale.quantize %x ..
///   %p = blockscale.prepack %q ..
/// becomes
///   %p, %s = blockscale.kernel ins(%x) { .. }
static void planPrepackedCodes(FunctionOpInterface function,
                               FusionDraft &draft) {
  for (Operation *op : draft.collectOps(function)) {
    auto prepack = dyn_cast<PrepackOp>(op);
    auto quantize = prepack ? prepack.getSource().getDefiningOp<QuantizeOp>()
                            : QuantizeOp();
    if (!quantize)
      continue;
    const PlannedKernel *kernel = draft.findKernel(quantize);
    SmallVector<Operation *> alone = {quantize};
    if (std::optional<FusionObstacle> obstacle = findPrepackObstacle(
            quantize, prepack, kernel ? kernel->ops : alone))
      draft.remark(op, "is not computed where x is quantized", *obstacle);
    else if (kernel)
      draft.extend(quantize, op);
    else
      draft.take({quantize, op}, {quantize, {}});
  }
}

FusionPlan planFusion(FunctionOpInterface function,
                      const FusionOptions &options) {
  FusionDraft draft(options);
  if (options.chip) {
    if (options.fuse && options.chip->hasProducts())
      planEpilogues(function, *options.chip, draft);
    planRowPrograms(function, draft);
    if (options.fuse)
      planSiblings(function, draft);
    planElementwise(function, draft);
    if (options.fuse) {
      planGlobalChains(function, draft);
      planRoundTrips(function, draft);
      planPrepackedCodes(function, draft);
    }
  }
  for (Operation *op : draft.collectOps(function)) {
    if (getUnchangedSource(op))
      draft.drop(op);
    else
      draft.take(op, {op, {}});
  }
  if (options.chip && options.fuse) {
    planBeside(draft);
    planAmaxParts(draft);
  }
  return draft.finish();
}

} // namespace blockscale
